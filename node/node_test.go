package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast/api"
	"holdfast/catalog"
)

const threeNodes = `
cluster = "test"
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

// eventually waits until check returns nil, and fails the test when it does not in time.
func eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
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

// startNodes founds a cluster of the three nodes and starts them; they stop with the test.
func startNodes(t testing.TB, f *File) []*Node {
	t.Helper()
	log := slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelInfo}))
	ctx, cancel := context.WithCancel(context.Background())
	var nodes []*Node
	var ends []chan error
	t.Cleanup(func() {
		cancel()
		for i, end := range ends {
			if err := <-end; err != nil {
				t.Errorf("%s: %v", nodes[i].cfg.Name, err)
			}
		}
	})
	for i, name := range f.NodeNames() {
		cfg, err := f.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			_, err = Init(ctx, cfg, log)
		} else {
			var text string
			eventually(t, "make a token", func() (err error) {
				text, _, err = invites{nodes[0]}.Create(ctx, catalog.ReplicaName(cfg.Replica.Name), time.Hour, "test")
				return err
			})
			_, err = Join(ctx, cfg, text, log)
		}
		if err != nil {
			t.Fatal(err)
		}
		n, err := New(cfg, log)
		if err != nil {
			t.Fatal(err)
		}
		end := make(chan error, 1)
		go func() { end <- n.Run(ctx) }()
		nodes, ends = append(nodes, n), append(ends, end)
		<-n.Ready()
	}
	return nodes
}

type testLog struct{ t testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	if os.Getenv("HOLDFAST_TEST_LOG") != "" {
		_, _ = os.Stderr.Write(b)
	}
	return len(b), nil
}

func TestThreeNodesKeepAFileAndRepairIt(t *testing.T) {
	dir := t.TempDir()
	ports := freeUDP(t, 3)
	f, err := ParseConfig("cluster.toml", fmt.Sprintf(threeNodes, dir, ports[0], ports[1], ports[2]))
	if err != nil {
		t.Fatal(err)
	}
	nodes := startNodes(t, f)
	ctx := t.Context()
	body := bytes.Repeat([]byte("what libraries keep "), 50_000)
	var file catalog.File
	eventually(t, "put a file", func() (err error) {
		file, err = archive{nodes[1]}.Put(ctx, api.PutRequest{Name: "first.warc", Size: int64(len(body)), Body: bytes.NewReader(body), Actor: "test"})
		return err
	})
	complete := func() error {
		for _, n := range nodes {
			var got catalog.File
			err := n.raft.View(func(v catalog.View) (err error) { got, err = v.File(file.Name); return err })
			if err != nil || !got.Complete() {
				return fmt.Errorf("%s: %v %+v", n.cfg.Name, err, got.Copies)
			}
		}
		return nil
	}
	eventually(t, "three good copies", complete)
	for _, n := range nodes {
		r, err := archive{n}.Open(ctx, file.Name, 0, file.Size)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		_ = r.Close()
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: %d bytes, error %v", n.cfg.Name, len(got), err)
		}
	}

	// One bit of a copy flips; an audit finds it, the others outvote it, it is set aside and fetched again.
	path := filepath.Join(dir, "north-1", "files", file.Name.Shard().String(), string(file.Name))
	spoil(t, path)
	one, err := audits{nodes[2]}.Start(ctx, "", "test")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "audit ends", func() error {
		now, err := audits{nodes[1]}.Show(ctx, one.ID)
		if err != nil || now.State != "done" {
			return errors.Join(err, fmt.Errorf("%+v", now))
		}
		if now.Corrupt != 1 {
			t.Errorf("the audit found %d corrupt copies, want 1", now.Corrupt)
		}
		return nil
	})
	eventually(t, "repair", func() error {
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, body) {
			return fmt.Errorf("%d bytes: %v", len(got), err)
		}
		return complete()
	})
	aside, err := os.ReadDir(filepath.Join(dir, "north-1", "quarantine"))
	if err != nil || len(aside) != 2 {
		t.Errorf("quarantine: %v %v, want the bad copy and its reason", aside, err)
	}
}

func spoil(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, 1000); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 4
	if _, err := f.WriteAt(b, 1000); err != nil {
		t.Fatal(err)
	}
}

func TestTheMemberListFollowsTheConfiguration(t *testing.T) {
	f, err := ParseConfig("cluster.toml", fmt.Sprintf(threeNodes, t.TempDir(), 7001, 7002, 7003))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := f.Node("south-1")
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{cfg: cfg, id: "south"}
	same := catalog.Member{ID: "south", Name: "south-1", Addresses: []string{"127.0.0.1:7002"}, Weight: 50, Level: catalog.Level}
	if change, due := n.differs(same); due {
		t.Errorf("nothing differs, yet %+v", change)
	}
	moved := same
	moved.Addresses, moved.Level = []string{"old.example.org:7480"}, 0
	change, due := n.differs(moved)
	if !due || change.Level == nil || change.Weight != nil || change.Addresses == nil || (*change.Addresses)[0] != "127.0.0.1:7002" {
		t.Errorf("change %+v, due %v", change, due)
	}
}
