package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/catalog"
	"holdfast/node"
	"holdfast/node/config"
	"holdfast/node/membership"
	"holdfast/peer"
)

type initCmd struct {
	Another bool `help:"Found a cluster even if another one of that name runs at an address in the cluster.toml."`
}

func (initCmd) Help() string {
	return "Makes the node's key and founds the cluster that the cluster.toml describes. Do this on one node only; " +
		"the others\njoin. Then run: holdfast start\n\nFirst it asks the other addresses in the cluster.toml whether " +
		"a cluster of that name is already running there."
}

func (initCmd) exits() []string {
	return []string{"0   founded", "1   failed, or a cluster of that name runs already; stderr says where and how to " +
		"join it"}
}

func (c initCmd) Run(a *app) error {
	cfg, err := a.nodeConfig()
	if err != nil {
		return err
	}
	if err := c.ask(a, cfg); err != nil {
		return err
	}
	keepPrivate()
	cluster, err := node.Init(a.ctx, cfg, a.log)
	if err != nil {
		return err
	}
	return a.founded("founded", cluster, cfg)
}

// ask looks for a cluster of the name, before anything is made. A node that has founded one already says so itself.
func (c initCmd) ask(a *app, cfg config.Config) error {
	if c.Another || membership.Belongs(cfg) {
		return nil
	}
	found, err := membership.AskNeighbours(a.ctx, cfg)
	if errors.Is(err, membership.ErrRunsAlready) {
		return fmt.Errorf("%w. To found another cluster all the same, give --another", err)
	}
	if err == nil && len(found.Silent) > 0 && !a.JSON {
		fmt.Fprintf(a.stderr, "nothing answers at %s; if a cluster of that name runs there, join it instead\n",
			strings.Join(found.Silent, ", "))
	}
	return err
}

type joinCmd struct {
	With string `arg:"" name:"token" help:"The join token's text, from node invite; @FILE reads it from a file."`
}

func (joinCmd) Help() string {
	return "Makes the node's key and asks the members that the token names to accept this node. It can be repeated " +
		"safely.\nThen run: holdfast start"
}

func (c joinCmd) Run(a *app) error {
	cfg, err := a.nodeConfig()
	if err != nil {
		return err
	}
	text, err := readText(c.With)
	if err != nil {
		return err
	}
	keepPrivate()
	cluster, err := node.Join(a.ctx, cfg, strings.TrimSpace(text), a.log)
	if err != nil {
		return err
	}
	return a.founded("joined", cluster, cfg)
}

func (a *app) founded(act string, cluster catalog.Cluster, cfg config.Config) error {
	return a.answer(map[string]any{"cluster": cluster.ID, "name": cluster.Name, "node": cfg.Name, "data": cfg.Data},
		func() error {
			_, err := fmt.Fprintf(a.stdout, "%s: %s cluster %s (%s); its data is in %s\n", cfg.Name, act, cluster.Name,
				short2(cluster.ID), cfg.Data)
			return err
		})
}

type startCmd struct{}

func (startCmd) Help() string {
	return "Runs until it is interrupted (SIGINT or SIGTERM); then it stops its parts in order and exits."
}

func (startCmd) exits() []string {
	return []string{"0   stopped in order", "77  the node is no longer a member of the cluster, or has lost its part " +
		"of the agreed state; starting it again does not help"}
}

func (startCmd) Run(a *app) error {
	cfg, err := a.nodeConfig()
	if err != nil {
		return err
	}
	keepPrivate()
	log, err := a.nodeLog(cfg)
	if err != nil {
		return err
	}
	n, err := node.New(cfg, log)
	if err != nil {
		return err
	}
	return a.run(n, func() error {
		server, err := urlOf(cfg.Listen.API)
		if err != nil {
			return err
		}
		access, err := urlOf(cfg.Listen.Access)
		if err != nil {
			return err
		}
		return a.answer(map[string]string{"node": cfg.Name, "api": server, "access": access}, func() error {
			_, err := fmt.Fprintf(a.stdout, "%s is up: API %s, browse %s\n", cfg.Name, server, access)
			return err
		})
	})
}

// nodeLog is the log of a node: to stderr, at the level and in the form of its settings, or all with --verbose.
func (a *app) nodeLog(cfg config.Config) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Limits.LogLevel)); err != nil {
		return nil, exitError{exitConfig, fmt.Errorf("log-level %q: %w", cfg.Limits.LogLevel, err)}
	}
	if a.Verbose {
		level = slog.LevelDebug
	}
	how := &slog.HandlerOptions{Level: level}
	if cfg.Limits.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(a.stderr, how)), nil
	}
	return slog.New(slog.NewTextHandler(a.stderr, how)), nil
}

// run runs the node until the command is interrupted, and calls ready once it is ready. An interruption is no error.
func (a *app) run(n *node.Node, ready func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- n.Run(a.ctx) }()
	select {
	case err := <-ended:
		return calm(err, a)
	case <-n.Ready():
	}
	err := ready()
	return errors.Join(err, calm(<-ended, a))
}

// calm is the error, unless it only says that the command was interrupted.
func calm(err error, a *app) error {
	if a.ctx.Err() != nil && errors.Is(err, a.ctx.Err()) {
		return nil
	}
	return err
}

type peerCmd struct {
	Check peerCheckCmd `cmd:"" help:"Test the path to every other node, and say what is wrong with it."`
}

type peerCheckCmd struct{}

func (peerCheckCmd) exits() []string {
	return []string{"0   every path works", "1   a path does not work well; the answer says why, and what to do"}
}

// path is a path as JSON.
type path struct {
	Node      string  `json:"node"`
	Name      string  `json:"name"`
	Address   string  `json:"address"`
	Answers   bool    `json:"answers"`
	Trusted   bool    `json:"trusted"`
	Handshake float64 `json:"handshakeMs"`
	RTT       float64 `json:"rttMs"`
	Clock     float64 `json:"clockMs"`
	Packet    int     `json:"packet"`
	Problem   string  `json:"problem,omitempty"`
	Advice    string  `json:"advice,omitempty"`
}

func (peerCheckCmd) Run(a *app) error {
	cfg, err := a.nodeConfig()
	if err != nil {
		return err
	}
	report, err := membership.CheckPeers(a.ctx, cfg)
	if err != nil {
		return err
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	paths := make([]path, len(report.Paths))
	for i, p := range report.Paths {
		paths[i] = path{string(p.Node), p.Name, p.Address, p.Answers, p.Trusted, ms(p.Handshake), ms(p.RTT),
			ms(p.Clock), p.Packet, p.Problem, p.Advice}
	}
	if err := a.answer(items[path]{paths}, func() error { return showPaths(a, report) }); err != nil {
		return err
	}
	if !report.OK() {
		return errNo
	}
	return nil
}

func showPaths(a *app, report peer.Report) error {
	rows := make([]table.Row, len(report.Paths))
	for i, p := range report.Paths {
		state := "good"
		if p.Problem != "" {
			state = p.Problem
		}
		rows[i] = table.Row{p.Name, p.Address, yes(p.Answers), yes(p.Trusted), p.RTT.Round(10 * time.Microsecond),
			p.Clock.Round(time.Millisecond), p.Packet, state}
	}
	if err := a.table(table.Row{"Node", "Address", "Answers", "Trusted", "RTT", "Clock", "Packet", "State"},
		rows); err != nil {
		return err
	}
	for _, p := range report.Paths {
		if p.Advice != "" {
			fmt.Fprintf(a.stdout, "%s %s: %s\n", p.Name, p.Address, p.Advice)
		}
	}
	return nil
}

type configCmd struct {
	Check configCheckCmd `cmd:"" help:"Check a cluster.toml."`
	Show  configShowCmd  `cmd:"" help:"Show the settings that hold for a node; with --server, the ones that the node is running with."`
}

type configCheckCmd struct {
	File string `arg:"" optional:"" help:"The cluster.toml to check. Default: the one of --config."`
}

func (configCheckCmd) exits() []string {
	return []string{"0   the file can be used", "78  it cannot be used; stderr names the line"}
}

func (c configCheckCmd) Run(a *app) error {
	name := c.File
	if name == "" {
		name = a.Config
	}
	if name == "" {
		return usage("which file? give it as an argument or with --config")
	}
	file, err := config.Load(name)
	if err != nil {
		return exitError{exitConfig, err}
	}
	names := file.NodeNames()
	return a.answer(map[string]any{"valid": true, "cluster": file.Cluster, "nodes": names}, func() error {
		_, err := fmt.Fprintf(a.stdout, "%s: cluster %s, %d replicas, nodes %s\n", name, file.Cluster,
			len(file.Replicas), strings.Join(names, ", "))
		return err
	})
}

type configShowCmd struct{}

func (configShowCmd) Run(a *app) error {
	if a.Server != "" {
		c, err := a.client()
		if err != nil {
			return err
		}
		defer c.Close()
		text, err := c.Config(a.ctx)
		if err != nil {
			return err
		}
		out := json.NewEncoder(a.stdout)
		out.SetIndent("", "  ")
		return out.Encode(text)
	}
	cfg, err := a.nodeConfig()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := cfg.Write(&text); err != nil {
		return err
	}
	var shown map[string]any
	if _, err := toml.Decode(text.String(), &shown); err != nil {
		return err
	}
	return a.answer(shown, func() error {
		_, err := text.WriteTo(a.stdout)
		return err
	})
}

// workDir makes a folder for a command's files: the one given, or a temporary one that the returned function removes.
func workDir(given, pattern string) (dir string, clean func() error, err error) {
	if given != "" {
		return given, func() error { return nil }, os.MkdirAll(given, 0o755)
	}
	dir, err = os.MkdirTemp("", pattern)
	return dir, func() error { return os.RemoveAll(dir) }, err
}

// keepPrivate makes the files of this process readable by its user only, unless a mode is given explicitly; this
// includes files that libraries make.
func keepPrivate() { syscall.Umask(0o077) }
