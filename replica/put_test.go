package replica

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/internal/kv/memory"
)

// lagging is a node's catalog whose own state stays behind until catchUp. Of additions, those to a collection that
// there is not take a second.
type lagging struct {
	*cluster
	mu  sync.Mutex
	old *memory.Tx
}

func (c *cluster) lag() *lagging {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &lagging{cluster: c, old: c.state.Clone()}
}

func (l *lagging) View(see func(catalog.View) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.old != nil {
		return see(catalog.NewView(l.old))
	}
	return l.cluster.View(see)
}

func (l *lagging) Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	if a, ok := body.(catalog.Additions); ok && a.Files[0].Collection == "none" {
		if err := sleep(ctx, time.Second); err != nil {
			return catalog.Result{}, err
		}
	}
	return l.cluster.Propose(ctx, kind, body, actor)
}

func (l *lagging) catchUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.old = nil
}

// putInto puts the file at path into a collection; into "none" it must be refused.
func (n *node) putInto(collection catalog.CollectionName, name catalog.FileName, path string) {
	n.t.Helper()
	_, err := n.r.Put(context.Background(), path, catalog.Addition{Name: name, Collection: collection}, Owned)
	var refusal *catalog.Refusal
	if refused := errors.As(err, &refusal); refused != (collection == "none") || err != nil && !refused {
		n.t.Errorf("put into %s: %v", collection, err)
	}
}

func (n *node) inOutbox(name catalog.FileName) bool { return isFile(n.r.store.outboxPath(name)) }

// TestARefusedPutLeavesNothing puts a file that the catalog refuses and does not know.
func TestARefusedPutLeavesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		north := c.node("north-1")
		path, _ := sourceFile(t, 1, 1000)
		north.putInto("none", fileName(1), path)
		if names, err := os.ReadDir(filepath.Join(north.dir, "outbox")); err != nil || len(names) > 0 {
			t.Fatalf("outbox: %v, %v", names, err)
		}
	})
}

// TestARefusedPutKeepsPendingBytes puts a file while nothing can be agreed, and the same again where it is refused.
func TestARefusedPutKeepsPendingBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		north := c.node("north-1")
		c.cut = true
		path, _ := sourceFile(t, 1, 1000)
		_, err := north.r.Put(t.Context(), path, catalog.Addition{Name: fileName(1), Collection: "web"}, Owned)
		if !errors.Is(err, ErrPending) {
			t.Fatalf("Put: %v", err)
		}
		c.cut = false
		north.putInto("none", fileName(1), path)
		if !north.inOutbox(fileName(1)) {
			t.Fatal("the bytes that Put has called safe are gone")
		}
		defer c.run("north-1", "south-1")()
		c.complete(fileName(1))
	})
}

// TestARefusedPutKeepsAcceptedBytes lets two puts of a file run side by side, of which one is refused, while the
// state here shows neither.
func TestARefusedPutKeepsAcceptedBytes(t *testing.T) {
	t.Parallel()
	for _, order := range [][]catalog.CollectionName{{"web", "none"}, {"none", "web"}} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, "north-1", "south-1")
			north := c.node("north-1")
			l := c.lag()
			north.r.catalog = l
			path, _ := sourceFile(t, 1, 1000)
			var puts sync.WaitGroup
			for _, collection := range order {
				puts.Go(func() { north.putInto(collection, fileName(1), path) })
				synctest.Wait()
			}
			puts.Wait()
			if !north.inOutbox(fileName(1)) {
				t.Fatalf("order %v: the bytes that were accepted are gone", order)
			}
			l.catchUp()
			defer c.run("north-1", "south-1")()
			c.complete(fileName(1))
		})
	}
}

// TestASecondSourceIsNotKept puts a file that the archive has from another node, on a node that holds a copy, on
// one that does not, and on one that holds its checksum.
func TestASecondSourceIsNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "north-2", "south-1", "sums-1")
		c.node("south-1").put(fileName(1), 1, 1000)
		c.complete(fileName(1))
		for _, name := range []string{"north-1", "north-2", "sums-1"} {
			c.node(name).put(fileName(1), 1, 1000)
		}
		sleep(t.Context(), 5*time.Minute)
		for _, name := range []string{"north-1", "north-2", "sums-1"} {
			n := c.node(name)
			if n.inOutbox(fileName(1)) || len(n.r.entries.pending.list()) > 0 {
				t.Errorf("%s: the second copy is still in the outbox", name)
			}
			if len(n.get(fileName(1))) != 1000 {
				t.Errorf("%s cannot read the file", name)
			}
		}
	})
}

// TestAReleasedFileIsPendingNoMore looks after a pending file whose bytes were released meanwhile.
func TestAReleasedFileIsPendingNoMore(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "north-1", "south-1")
	r := c.node("north-1").r
	var said bytes.Buffer
	r.log = slog.New(slog.NewTextHandler(&said, nil))
	r.entries.pending.add(fileName(1), false)
	if left := r.settlePending(t.Context()); left > 0 || len(r.entries.pending.list()) > 0 || strings.Contains(said.String(), "WARN") {
		t.Errorf("%d left\n%s", left, said.String())
	}
}

// TestAMissingFileIsReportedOnceItIsKnown loses a copy, and restarts its node with a state from before there was
// the file. Another file lost its line, not its bytes.
func TestAMissingFileIsReportedOnceItIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		l := c.lag()
		stop := c.run("north-1", "south-1")
		north := c.node("north-1")
		north.put(fileName(1), 1, 1000)
		north.put(fileName(2), 2, 1000)
		c.complete(fileName(1), fileName(2))
		sleep(t.Context(), time.Minute)
		stop()
		if err := os.Remove(north.r.store.Path(fileName(1))); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(filepath.Dir(north.r.store.Path(fileName(2))), ManifestName)); err != nil {
			t.Fatal(err)
		}
		north.open()
		if n := len(north.r.store.Missing()) + len(north.r.store.Loose()); n != 2 {
			t.Fatalf("%d files are missing or loose", n)
		}
		north.r.catalog = l
		stop = c.run("north-1", "south-1")
		defer stop()
		sleep(t.Context(), 10*time.Minute)
		l.catchUp()
		c.node("south-1").put(fileName(3), 3, 1000)
		c.until("the loss is reported", func(v catalog.View) bool {
			f, err := v.File(fileName(1))
			return err == nil && f.Copy("north").FileList == catalog.FileListMissing && f.Copy("north").Disputed
		})
		c.must(catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: fileName(1), Replica: "north", Bad: true, Votes: "2:1"}}})
		sleep(t.Context(), 10*time.Minute)
		if left := append(north.r.store.Missing(), north.r.store.Loose()...); len(left) > 0 {
			t.Errorf("still missing or loose: %v", left)
		}
		for i := 1; i <= 2; i++ {
			if !north.r.store.Has(fileName(i)) {
				t.Errorf("the copy of %s was not mended", fileName(i))
			}
		}
	})
}

// TestAReleaseSparesWhatIsPutMeanwhile puts a file again while its release is not seen here yet. Its other copy has
// gone bad by then, so that the archive counts on what the second put brings.
func TestAReleaseSparesWhatIsPutMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "north-2", "south-1")
		defer c.run("north-1", "south-1")()
		source, name := c.node("north-2"), fileName(1)
		path, _ := sourceFile(t, 1, 1000)
		source.putInto("web", name, path)
		c.until("complete", func(v catalog.View) bool { f, err := v.File(name); return err == nil && f.Complete() })
		l := c.lag()
		source.r.catalog = l
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := source.r.release(t.Context(), []catalog.FileName{name}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // the release is agreed, and does not show here
		released := c.lag()
		c.must(catalog.FindCopies, catalog.Findings{Node: nodeID("south-1"), Files: []catalog.Finding{missingFinding(name)}})
		c.must(catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: name, Replica: "south", Bad: true, Votes: "2:1"}}})
		both.Go(func() { source.putInto("web", name, path) })
		synctest.Wait()
		l.mu.Lock()
		l.old = released.old
		l.mu.Unlock()
		both.Wait()
		if f, err := source.r.entry(name); err != nil || !f.Released {
			t.Fatalf("the release does not show: %+v, %v", f, err)
		}
		if !source.inOutbox(name) {
			t.Error("the bytes that a put was told are safe are gone")
		}
	})
}

// TestPutRefusesBytesThatAreNotThosePromised flips a bit of a file between its writer, who knows its digest, and the
// outbox. What the disk has now must not become the archive's truth.
func TestPutRefusesBytesThatAreNotThosePromised(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "north-1", "south-1")
	north := c.node("north-1")
	for _, own := range []Ownership{Foreign, Owned} {
		for what, promise := range map[string]func([]byte) catalog.Addition{
			"digest": func(b []byte) catalog.Addition { return catalog.Addition{SHA256: heldOf("", b).SHA256} },
			"size":   func(b []byte) catalog.Addition { return catalog.Addition{Size: int64(len(b)) + 1} },
		} {
			path, b := sourceFile(t, 1, 1000)
			as := promise(b)
			as.Name, as.Collection = fileName(1), "web"
			flip(t, path)
			if _, err := north.r.Put(t.Context(), path, as, own); !errors.Is(err, ErrDamaged) {
				t.Errorf("ownership %d: a wrong %s was accepted: %v", own, what, err)
			}
			if names, err := os.ReadDir(filepath.Join(north.dir, "outbox")); err != nil || len(names) > 0 {
				t.Errorf("ownership %d: the outbox keeps %v, %v", own, names, err)
			}
			if _, err := north.r.entry(fileName(1)); !errors.Is(err, catalog.ErrNotFound) {
				t.Errorf("ownership %d: the catalog knows the wrong bytes: %v", own, err)
			}
		}
	}
}

// TestAFilePutAgainIsStored loses a file's source before there is a copy, or the bytes that the source keeps, and puts
// the file again. The name must not be used up.
func TestAFilePutAgainIsStored(t *testing.T) {
	t.Parallel()
	name := fileName(1)
	for what, lose := range map[string]func(c *cluster){
		"its source is lost": func(c *cluster) {
			c.must(catalog.RemoveMember, catalog.MemberRemoval{ID: nodeID("sums-1"), Lost: true})
		},
		"the bytes at its source are spoilt": func(c *cluster) { flip(c.t, c.node("sums-1").r.store.outboxPath(name)) },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, "north-1", "south-1", "sums-1")
				path, b := sourceFile(t, 1, 1000)
				again := "north-1"
				c.node("sums-1").putInto("web", name, path)
				lose(c)
				if what != "its source is lost" {
					again = "sums-1"
				}
				running := []string{"north-1", "south-1"}
				if again == "sums-1" {
					running = append(running, again)
				}
				defer c.run(running...)()
				fresh := filepath.Join(t.TempDir(), "again")
				if err := os.WriteFile(fresh, b, 0o644); err != nil {
					t.Fatal(err)
				}
				c.node(again).putInto("web", name, fresh)
				c.until("both replicas have copies", func(v catalog.View) bool {
					f, err := v.File(name)
					return err == nil && f.Copy("north").Good() && f.Copy("south").Good()
				})
			})
		})
	}
}

// TestBytesPutAgainAreNotSetAside has somebody find wrong bytes in the outbox, and the file put again before the finding
// is acted on. The bytes that are there now are right, and stay.
func TestBytesPutAgainAreNotSetAside(t *testing.T) {
	t.Parallel()
	name := fileName(1)
	c := newCluster(t, "north-1")
	north := c.node("north-1")
	path, b := sourceFile(t, 1, 1000)
	north.putInto("web", name, path)
	outbox := north.r.store.outboxPath(name)
	flip(t, outbox)
	fresh := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(fresh, b, 0o644); err != nil {
		t.Fatal(err)
	}
	north.putInto("web", name, fresh)
	north.r.server.entries.denounceSoon(t.Context(), name)
	if f, err := north.r.entry(name); err != nil || f.Released || f.Source != nodeID("north-1") || f.Lost != 0 {
		t.Errorf("the catalog counts on the bytes no more: %+v %v", f, err)
	}
	if got, err := os.ReadFile(outbox); err != nil || !bytes.Equal(got, b) {
		t.Errorf("the outbox has %d bytes, %v", len(got), err)
	}
	flip(t, outbox)
	north.r.server.entries.denounceSoon(t.Context(), name)
	if isFile(outbox) {
		t.Error("wrong bytes stay in the outbox")
	}
}
