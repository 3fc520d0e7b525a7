package replica

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// audited runs an audit of all that the node holds and returns it when it has ended.
func (n *node) audited() Audit {
	n.t.Helper()
	a, err := n.r.StartAudit("", nil)
	for range 100 {
		if err != nil {
			n.t.Fatal(err)
		}
		if a.State.Ended() {
			return a
		}
		sleep(n.t.Context(), time.Second)
		a, err = n.r.Audit(a.ID)
	}
	n.t.Fatalf("the audit does not end: %+v", a)
	return a
}

// rewrite changes a shard's manifest.
func rewrite(t *testing.T, path string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(change(string(text))), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestAnAuditReadsManifests damages manifests while the node runs. An audit counts what was wrong with them, and puts it
// right; no copy is disputed for it, as the bytes are good.
func TestAnAuditReadsManifests(t *testing.T) {
	names := siblings(4)
	for what, tt := range map[string]struct {
		change     func(string) string // nil: the manifest is removed
		exceptions int
	}{
		"a digit flipped": {func(text string) string {
			i := strings.Index(text, "  "+names[1]) - 1
			return text[:i] + string('0'+('9'-text[i])%10) + text[i+1:]
		}, 1},
		"a line gone": {func(text string) string {
			var rest string
			for line := range strings.Lines(text) {
				if !strings.Contains(line, names[1]) {
					rest += line
				}
			}
			return rest
		}, 1},
		"a line twice":                     {func(text string) string { return text + text[:strings.Index(text, "\n")+1] }, 1},
		"a garbled line":                   {func(text string) string { return text + "what is this\n" }, 1},
		"a line of a file there never was": {func(text string) string { return text[:66] + names[3] + "\n" + text }, 1},
		"a manifest gone":                  {nil, 3},
		"nothing":                          {func(text string) string { return text }, 0},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := runCluster(t, "north-1", "south-1")
				south := c.node("south-1")
				for i, name := range names[:3] {
					c.node("north-1").put(catalog.FileName(name), uint64(i), 2000)
					c.complete(catalog.FileName(name))
				}
				sleep(t.Context(), time.Minute)
				path := filepath.Join(filepath.Dir(south.r.store.Path(catalog.FileName(names[0]))), ManifestName)
				if tt.change == nil {
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
				} else {
					rewrite(t, path, tt.change)
				}
				a := south.audited()
				if a.State != AuditDone || a.Relisted != tt.exceptions || a.Excepted != tt.exceptions || a.Files != 3 {
					t.Errorf("%d lines put right, %d exceptions, %d files, %s", a.Relisted, a.Excepted, a.Files, a.State)
				}
				checkManifests(t, south.r.store)
				for _, name := range names[:3] {
					if f, err := south.r.entry(catalog.FileName(name)); err != nil || !f.Complete() || !south.r.store.Has(f.Name) {
						t.Errorf("%s is disputed or loose: %v", name, err)
					}
				}
				if a = south.audited(); a.Excepted != 0 {
					t.Errorf("the next audit has %d exceptions", a.Excepted)
				}
			})
		})
	}
}

// TestAMoveKeepsAGoodCopyWithAWrongLine moves a shard to a node that has a right copy whose line says otherwise.
func TestAMoveKeepsAGoodCopyWithAWrongLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1", "north-2")
		name, second := fileName(1), c.node("north-2")
		b := c.node("north-1").put(name, 1, 2000)
		c.complete(name)
		if err := keep(second.r.store, string(name), b); err != nil {
			t.Fatal(err)
		}
		path := second.r.store.Path(name)
		rewrite(t, filepath.Join(filepath.Dir(path), ManifestName), func(text string) string { return strings.Repeat("0", 64) + text[64:] })
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		c.assign("north", "north-2", 0, catalog.Shards)
		c.until("the shard is north-2's", func(v catalog.View) bool {
			p, err := v.Placement("north", name.Shard())
			return err == nil && p.Holder == nodeID("north-2")
		})
		after, err := os.Stat(path)
		if err != nil || !os.SameFile(before, after) || !bytes.Equal(read(t, second.r.store, string(name)), b) {
			t.Errorf("the good copy was replaced: %v", err)
		}
		checkManifests(t, second.r.store)
	})
}

// TestOneFaultDoesNotEndAnAudit audits a node of which one shard cannot be read, and one file. All else is audited, what
// could not be is named, and the audit is not done.
func TestOneFaultDoesNotEndAnAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		defer c.run("north-1")()
		stop := c.run("south-1")
		south := c.node("south-1")
		names := c.node("north-1").putSome(5, 2000)
		c.complete(names...)
		sleep(t.Context(), time.Minute)
		stop()
		spoil(t, south.r.store, south.r.store.Path(names[1]), syscall.EUCLEAN)
		away := names[3].Shard()
		south.r.store.shards[away].root = &root{path: filepath.Join(south.dir, "unplugged"), mark: "gone"}
		south.due = []catalog.Shard{away}
		defer c.run("south-1")()
		synctest.Wait()
		for what, a := range map[string]Audit{"asked for": south.audited(), "due": south.r.Audits()[0]} {
			files := map[string]int64{"asked for": 4, "due": 0}[what]
			if a.State != AuditIncomplete || a.Files != files || a.Faulty != 1 || a.Faults[0].Shard != away || a.Pass != nil {
				t.Errorf("the audit %s: %+v", what, a)
			}
		}
		c.until("the copy that cannot be read is disputed", func(v catalog.View) bool {
			f, err := v.File(names[1])
			return err == nil && f.Copy("south").Disputed
		})
		south.mu.Lock()
		south.due = []catalog.Shard{away, names[4].Shard()}
		south.mu.Unlock()
		sleep(t.Context(), 3*time.Minute)
		if all := south.r.Audits(); len(all) != 3 || all[2].State != AuditDone || len(all[2].Shards) != 1 {
			t.Errorf("the next audit due: %+v", all[len(all)-1])
		}
		c.View(func(v catalog.View) error {
			if passes, err := v.Passes("south"); err != nil || slices.ContainsFunc(passes, func(p catalog.ShardPass) bool { return p.Shard == away }) {
				t.Errorf("the shard that was not read counts as passed: %v", err)
			}
			return nil
		})
	})
}

// TestANodeStartsWithWhatItCanRead starts a node of which a manifest cannot be read and the state of an audit is damaged.
func TestANodeStartsWithWhatItCanRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		defer c.run("north-1")()
		stop := c.run("south-1")
		south := c.node("south-1")
		names := c.node("north-1").putSome(2, 2000)
		c.complete(names...)
		sleep(t.Context(), time.Minute)
		if a := south.audited(); a.State != AuditDone {
			t.Fatalf("audit: %+v", a)
		}
		stop()
		path := filepath.Join(filepath.Dir(south.r.store.Path(names[0])), ManifestName)
		if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil { // reading it is an error of the disk
			t.Fatal(err)
		}
		id := south.r.Audits()[0].ID
		if err := os.WriteFile(filepath.Join(south.dir, "audits", id+".json"), []byte("{\"id\":"), 0o644); err != nil {
			t.Fatal(err)
		}
		south.open()
		if all := south.r.Audits(); len(all) != 0 {
			t.Errorf("a damaged audit is listed: %+v", all)
		}
		if b := read(t, south.r.store, string(names[1])); !bytes.Equal(b, content(1, 2000)) {
			t.Error("a file of another shard cannot be read")
		}
		defer c.run("south-1")()
		sleep(t.Context(), 2*time.Minute)
		if !south.r.store.Has(names[0]) {
			t.Error("the file whose manifest was lost is not listed again")
		}
		checkManifests(t, south.r.store)
		if a := south.audited(); a.State != AuditDone || a.Excepted != 0 {
			t.Errorf("audit: %+v", a)
		}
	})
}
