package node

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/node/archive"
	"holdfast/node/config"
	"holdfast/node/membership"
)

const threeNodes = `
cluster = "test"
profile = "local"
data = "%[1]s/<node>"
peer = "127.0.0.1:0"
api = "127.0.0.1:0"
access = "127.0.0.1:0"
reserve = "1MiB"
audit-pace = "0"

[[replica]]
name = "north"
kind = "bitarchive"
[[replica]]
name = "south"
kind = "bitarchive"
[[replica]]
name = "third"
kind = "checksum"

[[node]]
name = "north-1"
replica = "north"
peer = "127.0.0.1:%[2]d"
[[node]]
name = "south-1"
replica = "south"
peer = "127.0.0.1:%[3]d"
[[node]]
name = "third-1"
replica = "third"
peer = "127.0.0.1:%[4]d"
`

// threeConfigs returns the configurations of north-1, south-1 and third-1, and of the nodes that more adds to the file.
func threeConfigs(t testing.TB, more string) []config.Config {
	t.Helper()
	ports := freeUDP(t, 3)
	f, err := config.Parse("cluster.toml", fmt.Sprintf(threeNodes, t.TempDir(), ports[0], ports[1], ports[2])+more)
	if err != nil {
		t.Fatal(err)
	}
	var all []config.Config
	for _, name := range f.NodeNames() {
		cfg, err := f.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, cfg)
	}
	return all
}

// startNodes founds a cluster of the nodes and starts them; they stop with the test.
func startNodes(t testing.TB, cfgs []config.Config) []running {
	t.Helper()
	var nodes []running
	for i, cfg := range cfgs {
		var err error
		if i == 0 {
			_, err = Init(t.Context(), cfg, slogOf(t))
		} else {
			err = joinBy(t, nodes[0], cfg)
		}
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, start(t, cfg))
	}
	return nodes
}

// running is a node of a test that can be stopped.
type running struct {
	*Node
	stop context.CancelFunc
	end  chan error
}

func slogOf(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(testLog{t}, nil)) }

// start runs the founded or joined node; it stops with the test at the latest.
func start(t testing.TB, cfg config.Config) running {
	t.Helper()
	n, err := New(cfg, slogOf(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r := running{Node: n, stop: stop, end: make(chan error, 1)}
	done := make(chan struct{})
	go func() { r.end <- n.Run(ctx); close(done) }()
	t.Cleanup(func() {
		stop()
		<-done
		select {
		case err := <-r.end:
			if err != nil {
				t.Errorf("%s: %v", cfg.Name, err)
			}
		default: // halt has heard it
		}
	})
	select {
	case <-n.Ready():
	case <-done:
		t.Fatalf("%s ended before it was ready", cfg.Name)
	}
	return r
}

// halt stops the node in order.
func (r running) halt(t testing.TB) {
	t.Helper()
	r.stop()
	if err := <-r.end; err != nil {
		t.Errorf("%s: %v", r.cfg.Name, err)
	}
}

// invites makes join tokens.
func (r running) invites() membership.Invites {
	return membership.Invites{Member: r.member(), Propose: r.agreed.Propose}
}

// audits runs audits over all nodes.
func (r running) audits() archive.Audits {
	return archive.Audits{Cluster: r.cluster(), Name: r.cfg.Name}
}

// archived reports whether the catalog here knows the name.
func (r running) archived(name catalog.FileName) bool {
	return r.raft.View(func(v catalog.View) error { _, err := v.File(name); return err }) == nil
}

// joinBy lets a member make a token and the configured node join with it.
func joinBy(t testing.TB, member running, cfg config.Config) error {
	t.Helper()
	var text string
	eventually(t, "make a token", func() (err error) {
		text, _, err = member.invites().Create(t.Context(), catalog.ReplicaName(cfg.Replica.Name), time.Hour, catalog.Local(member.id))
		return err
	})
	_, err := Join(t.Context(), cfg, text, slogOf(t))
	return err
}

// eventually waits until check returns nil, and fails the test when it does not in time.
func eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		<-tick.C
	}
}

type testLog struct{ t testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	if os.Getenv("HOLDFAST_TEST_LOG") != "" {
		_, _ = os.Stderr.Write(b)
	}
	return len(b), nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
