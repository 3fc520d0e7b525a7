package raft

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// clones takes a copy of a node's folder at each named step, as kill -9 at that step would leave it.
type clones struct {
	t    *testing.T
	from string
	to   string

	mu    sync.Mutex
	steps []string
}

func (c *clones) step(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = append(c.steps, name)
	if err := copyTree(c.from, c.dir(len(c.steps)-1)); err != nil {
		c.t.Errorf("clone at %q: %v", name, err)
	}
	return nil
}

func (c *clones) dir(i int) string { return filepath.Join(c.to, fmt.Sprint(i)) }

// must fails the test unless each of the steps was passed.
func (c *clones) must(steps ...string) {
	c.t.Helper()
	for _, want := range steps {
		found := false
		for _, got := range c.steps {
			found = found || got == want
		}
		if !found {
			c.t.Errorf("step %q was not passed, only %q", want, c.steps)
		}
	}
}

// copyTree copies a folder that is in use. Files that go away meanwhile are left out.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		target := filepath.Join(to, path[len(from):])
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		if err := copySparse(path, target); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

func copySparse(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	buf, zero := make([]byte, 1<<16), make([]byte, 1<<16)
	for offset := int64(0); ; {
		n, err := io.ReadFull(in, buf)
		if n > 0 && !bytes.Equal(buf[:n], zero[:n]) {
			if _, err := out.WriteAt(buf[:n], offset); err != nil {
				return err
			}
		}
		offset += int64(n)
		if err != nil {
			return out.Truncate(offset)
		}
	}
}

// openAt opens a node on any folder.
func (c *cluster) openAt(dir string, id catalog.NodeID, step func(string) error) (*Node, error) {
	cfg := c.configOf(id)
	cfg.Dir = dir
	p := port{hub: c.hub, self: id}
	return open(cfg, disk.New(), p, p, quiet(), parts{machine: c.machine, timing: &c.timing, step: step})
}

// farBehind makes a cluster in which b has seen x=3, is stopped, and needs an install to see x=6.
func farBehind(t *testing.T) (c *cluster, a *running) {
	c = newCluster(t)
	c.config = func(cfg *Config) { cfg.TrailingMiB = 1 }
	a = c.found("a", "north")
	b := c.grow(a, "b", "south")
	for range 3 {
		c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
	}
	c.eventually("b knows x=3", func() bool { return count(t, b.Node, "x") == 3 })
	c.stop("b")
	for i := range 100 {
		c.propose(a, fillKind, tinyAdd{Key: fmt.Sprintf("fill/%d", i), N: 3, Pad: make([]byte, 20<<10)})
	}
	for range 3 {
		c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
	}
	if err := a.raft.now().Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	if first, err := a.storage.wal.FirstIndex(); err != nil || first < 20 {
		t.Fatalf("the log still begins at %d, %v", first, err)
	}
	return c, a
}

func TestCrashAtEveryStepOfAnInstall(t *testing.T) {
	t.Parallel()
	c, a := farBehind(t)
	dir := c.configOf("b").Dir
	taken := &clones{t: t, from: dir, to: t.TempDir()}
	n, err := c.openAt(dir, "b", taken.step)
	if err != nil {
		t.Fatal(err)
	}
	b := c.run(n)
	c.eventually("b knows x=6", func() bool { return count(t, b.Node, "x") == 6 })
	if b.Status().Replayed > 60 {
		t.Errorf("b applied %d entries after an install", b.Status().Replayed)
	}
	c.stop("b")
	taken.must("install begin", "install written", "install verified", "synced", "pointed", "install adopted")

	for i, name := range taken.steps {
		n, err := c.openAt(taken.dir(i), "b", nil)
		if err != nil {
			t.Errorf("after a crash at %q: %v", name, err)
			continue
		}
		if got := count(t, n, "x"); got != 3 && got != 6 {
			t.Errorf("after a crash at %q the state has x=%d: neither old nor new", name, got)
		}
		if folders, err := filepath.Glob(filepath.Join(taken.dir(i), "catalog", "[0-9]*")); err != nil || len(folders) != 1 {
			t.Errorf("after a crash at %q there are %q, %v", name, folders, err)
		}
		b := c.run(n)
		c.eventually("after a crash at "+name+" b catches up", func() bool { return count(t, b.Node, "x") == 6 })
		c.stop("b")
	}
	c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
}

func TestCrashAtEveryStepOfAStart(t *testing.T) {
	t.Parallel()
	c := lone(t)
	dir := c.configOf("a").Dir
	founding := &clones{t: t, from: dir, to: t.TempDir()}
	n, err := c.openAt(dir, "a", founding.step)
	if err != nil {
		t.Fatal(err)
	}
	found := catalog.Command{Kind: catalog.Found, Body: member("a", "north")}
	if err := n.Bootstrap(context.Background(), found); err != nil {
		t.Fatal(err)
	}
	a := c.run(n)
	for range 5 {
		c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
	}
	founding.step("running")
	killed := founding.dir(len(founding.steps) - 1)
	c.stop("a")
	founding.must("boot", "log opened", "begin", "synced", "pointed", "term written", "imposed", "start")
	for i, name := range founding.steps {
		n, err := c.openAt(founding.dir(i), "a", nil)
		if err != nil {
			t.Errorf("after a crash at %q: %v", name, err)
			continue
		}
		if err := n.Bootstrap(context.Background(), found); err != nil && !errors.Is(err, ErrFounded) {
			t.Errorf("founding after a crash at %q: %v", name, err)
		}
		a := c.run(n)
		c.propose(a, addKind, tinyAdd{Key: "y", N: 1})
		c.stop("a")
	}

	// A node killed while it ran, and killed again at each step of the start after that.
	again := &clones{t: t, from: killed, to: t.TempDir()}
	if n, err = c.openAt(killed, "a", again.step); err != nil {
		t.Fatal(err)
	}
	a = c.run(n)
	if err := a.Linear(context.Background()); err != nil {
		t.Fatal(err)
	}
	c.stop("a")
	again.must("boot", "log opened", "start")
	for i, name := range again.steps {
		n, err := c.openAt(again.dir(i), "a", nil)
		if err != nil {
			t.Errorf("after a second crash at %q: %v", name, err)
			continue
		}
		a := c.run(n)
		if err := a.Linear(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := count(t, a.Node, "x"); got != 5 {
			t.Errorf("after a second crash at %q the state has x=%d, want 5", name, got)
		}
		c.stop("a")
	}
}

// lostBatch makes a folder as a power cut can leave it: batches after the third are gone, a later one is there.
func lostBatch(t *testing.T, c *cluster) string {
	a := c.found("a", "north")
	for range 6 {
		c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
	}
	c.stop("a")
	dir := c.configOf("a").Dir
	n, err := c.openAt(dir, "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	st := n.storage.state.store()
	at := st.position
	txn := st.db.NewTransactionAt(at.Index, false)
	defer txn.Discard()
	w := newOverlay(txn)
	if err := w.Set([]byte("count/x"), []byte("999")); err != nil {
		t.Fatal(err)
	}
	if err := st.commit(w, position{Index: at.Index + 9, Term: at.Term, Previous: at.Index + 8}, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestLostBatchIsNoticedAndUndone(t *testing.T) {
	t.Parallel()
	c := lone(t)
	dir := lostBatch(t, c)
	taken := &clones{t: t, from: dir, to: t.TempDir()}
	n, err := c.openAt(dir, "a", taken.step)
	if err != nil {
		t.Fatal(err)
	}
	taken.must("gap", "install begin", "install verified", "pointed")
	if got := count(t, n, "x"); got != 6 {
		t.Errorf("x=%d, want 6 as before the gap", got)
	}
	a := c.run(n)
	c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
	c.stop("a")
	for i, name := range taken.steps {
		n, err := c.openAt(taken.dir(i), "a", nil)
		if err != nil {
			t.Errorf("after a crash at %q: %v", name, err)
			continue
		}
		if got := count(t, n, "x"); got != 6 {
			t.Errorf("after a crash at %q x=%d, want 6", name, got)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestObsoleteLogIsRemoved(t *testing.T) {
	t.Parallel()
	c := lone(t)
	a := c.found("a", "north")
	c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
	c.stop("a")
	n := c.open("a")
	st := n.storage.state.store()
	at := st.position
	// The state goes on without the log, as when a node dies between an install and the cutting of its log.
	txn := st.db.NewTransactionAt(at.Index, false)
	if err := st.commit(newOverlay(txn), position{Index: at.Index + 50, Term: at.Term + 1, Previous: at.Index}, nil); err != nil {
		t.Fatal(err)
	}
	txn.Discard()
	installed := marker{Index: at.Index + 50, Term: at.Term + 1, Synced: at.Index + 50, Whole: new(at.Index + 50)}
	if err := errors.Join(n.storage.wal.SetUint64([]byte(termKey), at.Term+1), st.writeMarker(installed), n.Close()); err != nil {
		t.Fatal(err)
	}
	n = c.open("a")
	if last, err := n.storage.wal.LastIndex(); err != nil || last != 0 {
		t.Errorf("the log before the state is there up to %d, %v", last, err)
	}
	a = c.run(n)
	c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
	if got := count(t, a.Node, "x"); got != 2 {
		t.Errorf("x=%d", got)
	}
}

func TestMissingStateIsAnError(t *testing.T) {
	t.Parallel()
	c := lone(t)
	c.found("a", "north")
	c.stop("a")
	dir := c.configOf("a").Dir
	if err := os.Remove(filepath.Join(dir, "catalog", pointerName)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.openAt(dir, "a", nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("a state without its pointer: %v", err)
	}
}

func TestFailingDiskStopsTheNode(t *testing.T) {
	t.Parallel()
	c := lone(t)
	faulty := failing{tiny{}}
	c.machine = faulty
	c.timing.quorum = time.Second
	a := c.found("a", "north")
	for ended := false; !ended; { // a command may also be refused for want of a leader: then it is tried again
		if _, err := a.Propose(t.Context(), addKind, tinyAdd{Key: "fail", N: 1}, ""); err == nil {
			t.Error("a command was acknowledged that could not be written")
		}
		select {
		case err := <-a.done:
			if ended = true; !errors.Is(err, errDisk) {
				t.Errorf("the node ended with %v", err)
			}
		case <-time.After(100 * time.Millisecond):
		}
	}
	delete(c.nodes, "a")
	c.hub.leave("a")
}

var errDisk = errors.New("the disk fails")

// failing is a machine whose transaction fails on one key.
type failing struct{ tiny }

func (f failing) Apply(tx catalog.Tx, index uint64, data []byte) (catalog.Result, error) {
	if bytes.Contains(data, []byte(`"fail"`)) {
		return catalog.Result{}, errDisk
	}
	return f.tiny.Apply(tx, index, data)
}

var _ hraft.BatchingFSM = (*fsm)(nil)
var _ hraft.ConfigurationStore = (*fsm)(nil)
