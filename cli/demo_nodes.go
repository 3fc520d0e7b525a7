package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/demo"
	"holdfast/node/config"
)

// trial is the demo while it runs.
type trial struct {
	app    *app
	dir    string
	site   *demo.Site
	began  time.Time
	config string // the cluster.toml
	nodes  []*child
	browse string
	job    uint64
}

// child is a node in a process of its own.
type child struct {
	name, replica string
	cfg           config.Config
	client        *client.Client
	log           string

	process *exec.Cmd
	out     *os.File
	ended   chan struct{}
	err     error // valid once ended is closed
}

// form writes the cluster.toml, founds the cluster with the first node and lets the others join.
func (t *trial) form(ctx context.Context) (string, error) {
	t.nodes = []*child{{name: "north-1", replica: "north"}, {name: "south-1", replica: "south"},
		{name: "third-1", replica: "third"}}
	if err := t.configure(); err != nil {
		return "", err
	}
	first := t.nodes[0]
	if err := t.command(ctx, first, "init"); err != nil {
		return "", err
	}
	if err := t.start(ctx, first); err != nil {
		return "", err
	}
	for _, n := range t.nodes[1:] {
		token, err := first.client.Invites().Create(ctx, wire.JoinTokenRequest{Replica: n.replica, Lifetime: "10m"})
		if err != nil {
			return "", err
		}
		if err := t.command(ctx, n, "join", token.Text); err != nil {
			return "", err
		}
		if err := t.start(ctx, n); err != nil {
			return "", err
		}
	}
	st := wire.Status{}
	err := t.until(ctx, first, func(archive *client.Client) (done bool, err error) {
		if st, err = archive.Status(ctx); err != nil {
			return false, err
		}
		voters, alive := 0, 0
		for _, n := range st.Nodes {
			if n.Presence.Voter {
				voters++
			}
			if n.Presence.State == "alive" {
				alive++
			}
		}
		held := true
		for _, r := range st.Replicas {
			held = held && r.Held == wire.Shards
		}
		return st.Cluster.Quorum && voters == 3 && alive == 3 && held, nil
	})
	if err != nil {
		return "", fmt.Errorf("wait for three voters: %w; the cluster says: %s", err, strings.Join(st.Problems, "; "))
	}
	return "led by " + st.Cluster.LeaderName + "; north and south keep bytes, third keeps checksums and votes", nil
}

// configure gives each node free ports on loopback and writes the cluster.toml.
func (t *trial) configure() error {
	var text strings.Builder
	fmt.Fprintf(&text, "cluster = \"demo\"\nprofile = \"local\"\ndata = %q\nreserve = \"192MiB\"\nmemory = "+
		"\"384MiB\"\nraft-log = \"64MiB\"\naudit-pace = \"0\"\nlog-level = \"info\"\n", filepath.Join(t.dir, "<node>"))
	for _, r := range [][2]string{{"north", "bitarchive"}, {"south", "bitarchive"}, {"third", "checksum"}} {
		fmt.Fprintf(&text, "\n[[replica]]\nname = %q\nkind = %q\n", r[0], r[1])
	}
	free, err := freePorts(3*len(t.nodes), lowestPort, highestPort)
	if err != nil {
		return err
	}
	for i, n := range t.nodes {
		ports := free[3*i:]
		fmt.Fprintf(&text, "\n[[node]]\nname = %q\nreplica = %q\naddresses = [%q]\npeer = %q\napi = %q\naccess = %q\n",
			n.name, n.replica, ports[0], ports[0], ports[1], ports[2])
	}
	t.config = filepath.Join(t.dir, "cluster.toml")
	if err := os.WriteFile(t.config, []byte(text.String()), 0o644); err != nil {
		return err
	}
	file, err := config.Load(t.config)
	if err != nil {
		return err
	}
	for _, n := range t.nodes {
		if n.cfg, err = file.Node(n.name); err != nil {
			return err
		}
		n.log = filepath.Join(t.dir, n.name+".log")
	}
	return nil
}

// Ports are taken from well below those that the operating system gives to outgoing connections; otherwise one of
// these might have the port before the node does.
const lowestPort, highestPort = 10_240, 21_503

// freePorts are n addresses on loopback, with ports from lowest to highest, that were free just now, for TCP and UDP.
func freePorts(n, lowest, highest int) ([]string, error) {
	var out []string
	for len(out) < n { // each is kept until all are found, so that none is found twice
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+rand.IntN(highest-lowest+1)))
		packets, err := net.ListenPacket("udp", at)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, err
		}
		defer packets.Close()
		l, err := net.Listen("tcp", at)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, err
		}
		defer l.Close()
		out = append(out, at)
	}
	return out, nil
}

// arguments are a command of this program for the node.
func (t *trial) arguments(ctx context.Context, n *child, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, append(args, "--json", "--config", t.config, "--node", n.name)...)
	cmd.SysProcAttr = childAttributes()
	return cmd, nil
}

// command runs a command to its end.
func (t *trial) command(ctx context.Context, n *child, args ...string) error {
	cmd, err := t.arguments(ctx, n, args...)
	if err != nil {
		return err
	}
	var problem bytes.Buffer
	cmd.Stderr = &problem
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("holdfast %s for %s: %w: %s", args[0], n.name, err, strings.TrimSpace(problem.String()))
	}
	return nil
}

// start starts the node's process, its log in a file, and waits until its API answers.
func (t *trial) start(ctx context.Context, n *child) (err error) {
	if n.process, err = t.arguments(context.WithoutCancel(ctx), n, "start"); err != nil {
		return err
	}
	if n.out, err = os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		return err
	}
	n.process.Stdout, n.process.Stderr = n.out, n.out
	if err := n.process.Start(); err != nil {
		return errors.Join(err, n.out.Close())
	}
	n.ended = make(chan struct{})
	go func() {
		n.err = n.process.Wait()
		close(n.ended)
	}()
	token, err := localToken(n.cfg)
	if err != nil {
		return err
	}
	if n.client, err = client.New(n.cfg.Listen.API, token); err != nil {
		return err
	}
	return t.until(ctx, n, func(archive *client.Client) (bool, error) {
		st, err := archive.Status(ctx)
		return st.Node.Ready && st.Cluster.Quorum, err
	})
}

// until looks every 100 ms until it is done. A node that does not answer is asked again, one that has ended is an
// error.
func (t *trial) until(ctx context.Context, n *child, look func(*client.Client) (bool, error)) error {
	var last error
	err := every(ctx, 100*time.Millisecond, func() (bool, error) {
		select {
		case <-n.ended:
			return false, fmt.Errorf("node %s ended by itself: %w; see %s", n.name, n.err, n.log)
		default:
		}
		var done bool
		done, last = look(n.client)
		if errors.Is(last, wire.ErrUnavailable) || errors.Is(last, wire.ErrNoQuorum) {
			return false, nil
		}
		return done, last
	})
	if err != nil && last != nil && !errors.Is(err, last) {
		return fmt.Errorf("%w: %w", err, last)
	}
	return err
}

// kill ends a node as a power cut would.
func (n *child) kill() error {
	if err := n.process.Process.Kill(); err != nil {
		return fmt.Errorf("kill %s: %w", n.name, err)
	}
	<-n.ended
	return nil
}

// stop ends all nodes, in order when they listen, and waits for them.
func (t *trial) stop() error {
	var errs []error
	for _, n := range t.nodes {
		if n.ended != nil {
			_ = n.process.Process.Signal(os.Interrupt) // it may have ended
		}
	}
	for _, n := range t.nodes {
		if n.ended == nil {
			continue
		}
		patience := time.NewTimer(15 * time.Second)
		select {
		case <-n.ended:
		case <-patience.C:
			errs = append(errs, fmt.Errorf("node %s did not stop within 15 s", n.name), n.kill())
		}
		patience.Stop()
		if n.client != nil {
			n.client.Close()
		}
		errs = append(errs, n.out.Close())
	}
	return errors.Join(errs...)
}

// page gets an archived page from a node's replay.
func (n *child) page(ctx context.Context, path string) (int, []byte, error) {
	base, err := urlOf(n.cfg.Listen.Access)
	if err != nil {
		return 0, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	if err != nil {
		return 0, nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	var body bytes.Buffer
	_, err = body.ReadFrom(answer.Body)
	return answer.StatusCode, body.Bytes(), err
}
