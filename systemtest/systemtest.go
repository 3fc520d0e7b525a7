// Package systemtest runs clusters of real processes: the built program, its configuration file, its commands.
// Its tests (build tag e2e) kill nodes, cut networks, fill disks, flip bits, and check what an archive must keep.
package systemtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"holdfast/internal/ports"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Spec describes one node of a cluster under test.
type Spec struct {
	Name    string
	Replica string
	Kind    string   // of its replica: bitarchive or checksum
	IP      string   // the address its ports are on
	Local   string   // the address of its TCP ports; IP if empty
	Program string   // the program it runs; the cluster's if empty
	Prefix  []string // words before the program, such as: ip netns exec NAME
	Extra   string   // further lines of its [[node]] table
	Runner  []string // words in place of the program when the node is started
}

// Cluster is a set of nodes that one test owns. Close ends every process and removes the folder.
type Cluster struct {
	Dir     string
	Program string
	Config  string

	mu    sync.Mutex
	nodes map[string]*running
	specs []Spec
}

type running struct {
	cmd   *exec.Cmd
	began time.Time
	err   error // how it ended, when done is closed
	done  chan struct{}
}

// Three returns the valid minimum: two bitarchive replicas and a checksum replica, one node each.
func Three(ip func(i int) string) []Spec {
	return []Spec{
		{Name: "north-1", Replica: "north", Kind: "bitarchive", IP: ip(1)},
		{Name: "south-1", Replica: "south", Kind: "bitarchive", IP: ip(2)},
		{Name: "third-1", Replica: "third", Kind: "checksum", IP: ip(3)},
	}
}

// NewCluster writes a cluster.toml for the nodes into dir. top holds further lines of the file's top.
func NewCluster(program, dir, top string, specs []Spec) (*Cluster, error) {
	c := &Cluster{Dir: dir, Program: program, Config: filepath.Join(dir, "cluster.toml"), nodes: map[string]*running{},
		specs: specs}
	var text strings.Builder
	fmt.Fprintf(&text, "cluster = \"test\"\ndata = %q\naudit-pace = \"0\"\nreserve = \"1MiB\"\n%s\n",
		filepath.Join(dir, "<node>"), top)
	text.WriteString(trusting(specs))
	seen := map[string]bool{}
	for _, s := range specs {
		if !seen[s.Replica] {
			fmt.Fprintf(&text, "[[replica]]\nname = %q\nkind = %q\nplace = %q\n\n", s.Replica, s.Kind, s.Replica+
				"-place")
		}
		seen[s.Replica] = true
	}
	for _, s := range specs {
		table, err := c.nodeTable(s)
		if err != nil {
			return nil, err
		}
		text.WriteString(table)
	}
	return c, os.WriteFile(c.Config, []byte(text.String()), 0o644)
}

// trusting returns the line that lets nodes on other than loopback addresses speak plain HTTP in the networks that
// tests make.
func trusting(specs []Spec) string {
	var from []string
	for _, s := range specs {
		if ip := net.ParseIP(s.IP); ip != nil && !ip.IsLoopback() {
			from = append(from, strconv.Quote(s.IP+"/24"))
		}
	}
	if len(from) == 0 {
		return ""
	}
	return "trusted-proxies = [" + strings.Join(from, ", ") + "]\n"
}

// nodeTable returns a node's [[node]] table, with free ports on its address.
func (c *Cluster) nodeTable(s Spec) (string, error) {
	at, err := freePorts(s.IP, 3)
	if err != nil {
		return "", err
	}
	local := cmp.Or(s.Local, s.IP)
	return fmt.Sprintf("[[node]]\nname = %q\nreplica = %q\npeer = \"%s:%d\"\napi = \"%s:%d\"\naccess = "+
		"\"%s:%d\"\n%s\n\n",
		s.Name, s.Replica, s.IP, at[0], local, at[1], local, at[2], s.Extra), nil
}

// freePorts returns n ports that are free on the address for both TCP and UDP, and that no other test was given, or
// fixed ones where the address is not this machine's (a namespace of its own).
func freePorts(ip string, n int) ([]int, error) {
	var out []int
	for len(out) < n {
		// From below the ports of connections on their way out: one of these might have it before the node does, or
		// while the node is down.
		port := 10_240 + rand.IntN(32_768-10_240)
		at := net.JoinHostPort(ip, fmt.Sprint(port))
		l, err := net.Listen("tcp", at)
		switch {
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			return []int{7480, 7481, 7482}, nil
		case errors.Is(err, syscall.EADDRINUSE):
			continue
		case err != nil:
			return nil, fmt.Errorf("find a free port on %s: %w", ip, err)
		}
		defer func() { _ = l.Close() }()
		u, err := net.ListenPacket("udp", at)
		if err != nil {
			continue
		}
		_ = u.Close()
		held, err := ports.Hold(port) // until this process ends: nodes come back
		if err != nil {
			return nil, err
		}
		if held != nil {
			out = append(out, port)
		}
	}
	return out, nil
}

// Program returns the program under test: $HOLDFAST_PROGRAM, or what make built.
func Program() (string, error) {
	path := os.Getenv("HOLDFAST_PROGRAM")
	if path == "" {
		path = filepath.Join("..", "bin", "holdfast")
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("no program to test, run make build: %w", err)
	}
	return filepath.Abs(path)
}

// Found runs init on the first node, starts it, and lets the others join and start.
func (c *Cluster) Found(ctx context.Context) error {
	first := c.specs[0].Name
	if _, err := c.Do(ctx, first, "init"); err != nil {
		return err
	}
	if err := c.Start(first); err != nil {
		return err
	}
	for _, s := range c.specs[1:] {
		if err := c.Join(ctx, first, s.Name); err != nil {
			return err
		}
	}
	return nil
}

// Add writes one more node into the cluster.toml; Join makes it a member.
func (c *Cluster) Add(s Spec) error {
	text, err := os.ReadFile(c.Config)
	if err != nil {
		return err
	}
	table, err := c.nodeTable(s)
	if err != nil {
		return err
	}
	c.specs = append(c.specs, s)
	return os.WriteFile(c.Config, append(text, table...), 0o644)
}

// Join makes a node a member with a token from another node, and starts it.
func (c *Cluster) Join(ctx context.Context, by, node string) error {
	text, err := c.Token(ctx, by, node)
	if err != nil {
		return err
	}
	if _, err := c.Do(ctx, node, "join", text); err != nil {
		return err
	}
	return c.Start(node)
}

// Token makes a join token for the replica of a node, with further flags of node invite.
func (c *Cluster) Token(ctx context.Context, by, node string, flags ...string) (string, error) {
	var replica string
	for _, s := range c.specs {
		if s.Name == node {
			replica = s.Replica
		}
	}
	var made struct {
		Text string `json:"text"`
	}
	err := Eventually(ctx, 30*time.Second, func() error {
		err := c.JSON(ctx, &made, by, append([]string{"node", "invite", "--replica", replica}, flags...)...)
		if err != nil { // a program of the last release calls it so
			err = errors.Join(err, c.JSON(ctx, &made, by,
				append([]string{"token", "create", "--replica", replica}, flags...)...))
		}
		if made.Text != "" {
			return nil
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("token for %s: %w", node, err)
	}
	return made.Text, nil
}

// command returns the program's command line for a node.
func (c *Cluster) command(ctx context.Context, node string, args ...string) *exec.Cmd {
	var words []string
	for _, s := range c.specs {
		if s.Name != node {
			continue
		}
		words = slices.Clone(s.Prefix)
		if args[0] == "start" && s.Runner != nil {
			words = append(words, s.Runner...)
		} else {
			words = append(words, cmp.Or(s.Program, c.Program))
		}
	}
	words = append(words, args...)
	words = append(words, "--config", c.Config, "--node", node)
	return exec.CommandContext(ctx, words[0], words[1:]...)
}

// Do runs one command against a node and returns what it answered.
func (c *Cluster) Do(ctx context.Context, node string, args ...string) ([]byte, error) {
	cmd := c.command(ctx, node, args...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s on %s: %w: %s", strings.Join(args, " "), node, err,
			bytes.TrimSpace(problems.Bytes()))
	}
	return out.Bytes(), nil
}

// JSON runs one command with --json and reads its answer into v.
func (c *Cluster) JSON(ctx context.Context, v any, node string, args ...string) error {
	out, err := c.Do(ctx, node, append(args, "--json")...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, v); err != nil {
		return fmt.Errorf("%s on %s: answer %q: %w", strings.Join(args, " "), node, out, err)
	}
	return nil
}

// Answer is JSON for commands whose exit code 1 is an answer too, such as status.
func (c *Cluster) Answer(ctx context.Context, v any, node string, args ...string) error {
	out, err := c.Do(ctx, node, append(args, "--json")...)
	if err != nil && (ExitCode(err) != 1 || json.Unmarshal(out, v) != nil) {
		return err
	}
	return json.Unmarshal(out, v)
}

// ExitCode returns the exit code of the command that failed with the error, -1 if that is not what the error tells.
func ExitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// Start starts a node's process; its log goes to <node>.log in the cluster's folder.
func (c *Cluster) Start(node string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes[node] != nil {
		return fmt.Errorf("%s runs already", node)
	}
	log, err := os.OpenFile(filepath.Join(c.Dir, node+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := c.command(context.Background(), node, "start")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", node, err)
	}
	r := &running{cmd: cmd, began: time.Now(), done: make(chan struct{})}
	go func() {
		r.err = cmd.Wait()
		close(r.done)
	}()
	c.nodes[node] = r
	return nil
}

// PID returns the process id of a node, 0 when it does not run.
func (c *Cluster) PID(node string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.nodes[node]; r != nil {
		return r.cmd.Process.Pid
	}
	return 0
}

// Age returns for how long the node's process has been there, 0 when there is none.
func (c *Cluster) Age(node string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.nodes[node]; r != nil {
		return time.Since(r.began)
	}
	return 0
}

// Running reports whether the node's process has not ended by itself.
func (c *Cluster) Running(node string) bool {
	c.mu.Lock()
	r := c.nodes[node]
	c.mu.Unlock()
	if r == nil {
		return false
	}
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

// SetProgram lets a node run another program from its next start on.
func (c *Cluster) SetProgram(node, program string) {
	for i := range c.specs {
		if c.specs[i].Name == node {
			c.specs[i].Program = program
		}
	}
}

// Halt ends a node in order and returns how its process ended; a process that has not ended within the limit is
// killed, and that is an error.
func (c *Cluster) Halt(node string, limit time.Duration) error {
	return c.finish(node, syscall.SIGTERM, limit)
}

// Kill ends a node at once, as a power failure of the process would.
func (c *Cluster) Kill(node string) { c.end(node, syscall.SIGKILL) }

// Stop ends a node in order.
func (c *Cluster) Stop(node string) { c.end(node, syscall.SIGTERM) }

func (c *Cluster) end(node string, signal syscall.Signal) {
	_ = c.finish(node, signal, 30*time.Second)
}

func (c *Cluster) finish(node string, signal syscall.Signal, limit time.Duration) error {
	c.mu.Lock()
	r := c.nodes[node]
	delete(c.nodes, node)
	c.mu.Unlock()
	if r == nil {
		return nil
	}
	_ = r.cmd.Process.Signal(signal)
	select {
	case <-r.done:
		return r.err
	case <-time.After(limit):
		_ = r.cmd.Process.Kill()
		<-r.done
		return fmt.Errorf("%s had not ended after %v", node, limit)
	}
}

// Close kills every node that still runs.
func (c *Cluster) Close() {
	for _, s := range c.specs {
		c.Kill(s.Name)
	}
}

// Address returns what the node's table gives for key: peer, api or access.
func (c *Cluster) Address(node, key string) string {
	text, err := os.ReadFile(c.Config)
	if err != nil {
		return ""
	}
	_, table, _ := strings.Cut(string(text), fmt.Sprintf("[[node]]\nname = %q", node))
	_, rest, _ := strings.Cut(table, key+" = \"")
	address, _, _ := strings.Cut(rest, "\"")
	return address
}

// Eventually calls check until it returns nil, at most for limit, and returns its last error.
func Eventually(ctx context.Context, limit time.Duration, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %v: %w", limit, err)
		case <-tick.C:
		}
	}
}
