package replica

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// audit asks the node for an audit and returns it when it has ended.
func (n *node) audit(kind AuditKind, scope AuditScope) Audit {
	n.t.Helper()
	a, err := n.r.JoinAudit("g", AuditRequest{Kind: kind, Scope: scope})
	for range 200 {
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

// passes returns how many passes over shards of the replica the catalog has.
func (c *cluster) passes(replica catalog.ReplicaName) (n int) {
	c.View(func(v catalog.View) error {
		all, err := v.Passes(replica)
		n = len(all)
		return err
	})
	return n
}

// TestPresenceReadsWhatIsOddAlone looks at copies of which one is gone, one is cut off, one has a line of the manifest
// too few, and one has a flipped bit. It sees all but the last, of which it says nothing: no byte was read, and no pass
// is recorded that would say so.
func TestPresenceReadsWhatIsOddAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1", "sums-1")
		south := c.node("south-1")
		names := c.node("north-1").putSome(5, 1000)
		c.complete(names...)
		sleep(t.Context(), time.Minute)
		at := func(i int) string { return south.r.store.Path(names[i]) }
		if err := os.Remove(at(0)); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(at(1), 900); err != nil {
			t.Fatal(err)
		}
		rewrite(t, filepath.Join(filepath.Dir(at(2)), ManifestName), func(string) string { return "" })
		flip(t, at(3))
		a := south.audit(AuditPresence, AuditScope{})
		if a.State != AuditDone || a.Files != 5 || a.Missing != 1 || a.Corrupt != 1 || a.Relisted != 1 || a.Bytes > 3000 {
			t.Errorf("presence: %+v", a)
		}
		if n := c.passes("south"); n != 0 {
			t.Errorf("%d shards count as read", n)
		}
		// Of a checksum replica, the records are compared as they are in any audit.
		if a := c.node("sums-1").audit(AuditPresence, AuditScope{}); a.State != AuditDone || a.Files != 5 || a.Excepted != 0 {
			t.Errorf("presence of records: %+v", a)
		}
		if a := south.audit(AuditChecksum, AuditScope{}); a.Corrupt != 2 || c.passes("south") == 0 {
			t.Errorf("checksum: %+v, %d passes", a, c.passes("south"))
		}
	})
}

// TestAScopeLeavesTheRestAlone audits by file, prefix and shard. Only a whole shard counts as passed, and what is out
// of the scope is neither read nor struck from the manifest.
func TestAScopeLeavesTheRestAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1")
		south := c.node("south-1")
		var names []catalog.FileName
		for i, name := range siblings(4) { // of one shard
			names = append(names, catalog.FileName(name))
			c.node("north-1").put(names[i], uint64(i), 1000)
		}
		c.node("north-1").put("other.warc.gz", 9, 1000)
		c.complete(append(names, "other.warc.gz")...)
		sleep(t.Context(), time.Minute)
		for _, name := range names[:2] {
			flip(t, south.r.store.Path(name))
		}
		manifest := filepath.Join(filepath.Dir(south.r.store.Path(names[0])), ManifestName)
		before, err := os.ReadFile(manifest)
		if err != nil {
			t.Fatal(err)
		}
		shard := names[0].Shard()
		for _, tt := range []struct {
			what                  string
			scope                 AuditScope
			files, total, corrupt int64
			passes                int
		}{
			{"a file", AuditScope{Files: names[1:2]}, 1, 1, 1, 0},
			{"two files", AuditScope{Files: []catalog.FileName{names[0], "other.warc.gz"}}, 2, 2, 1, 0},
			{"a prefix", AuditScope{Prefix: "s-"}, 4, 4, 2, 0},
			{"a prefix without files", AuditScope{Prefix: "nothing"}, 0, 0, 0, 0},
			{"a shard", AuditScope{Shard: &shard}, 4, 4, 2, 1},
		} {
			a := south.audit(AuditChecksum, tt.scope)
			if a.State != AuditDone || a.Files != tt.files || a.TotalFiles != tt.total || int64(a.Corrupt) != tt.corrupt ||
				c.passes("south") != tt.passes {
				t.Errorf("%s: %+v, %d passes", tt.what, a, c.passes("south"))
			}
		}
		if after, err := os.ReadFile(manifest); err != nil || string(after) != string(before) {
			t.Errorf("the manifest was\n%snow\n%s%v", before, after, err)
		}
	})
}

// TestANamedFileThatGoesIsNotRead removes a file between the request for its audit and the audit.
func TestANamedFileThatGoesIsNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		stop := c.run("north-1", "south-1")
		south, names := c.node("south-1"), c.node("north-1").putSome(2, 1000)
		c.complete(names...)
		sleep(t.Context(), time.Minute)
		stop()
		one, err := south.r.JoinAudit("g", AuditRequest{Scope: AuditScope{Files: names}})
		if err == nil {
			err = south.r.plan(t.Context(), south.r.audits.runnable()[0])
		}
		if err != nil {
			t.Fatal(err)
		}
		f, err := c.node("north-1").r.entry(names[0])
		if err != nil {
			t.Fatal(err)
		}
		c.must(catalog.RemoveFile, catalog.FileRemoval{Name: f.Name, SHA256: f.SHA256, Reason: "test"})
		t.Cleanup(c.run("south-1"))
		sleep(t.Context(), time.Minute)
		if one, err = south.r.Audit(one.ID); err != nil || one.State != AuditIncomplete || one.Files != 1 || one.Faulty != 1 {
			t.Errorf("audit: %+v, %v", one, err)
		}
	})
}

// TestWhatSomebodyWaitsForGoesFirst has an audit that is due read a shard slowly. One by hand begins later and ends
// earlier, another by hand goes on beside it, and the first continues behind them, but only in its hours.
func TestWhatSomebodyWaitsForGoesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		south := c.node("south-1")
		south.config.AuditRate = 1000
		open := true
		south.config.AuditHours = func(time.Time) bool { south.mu.Lock(); defer south.mu.Unlock(); return open }
		south.open()
		stop := c.run("north-1", "south-1")
		names := c.node("north-1").putSome(3, 60_000)
		c.complete(names...)
		t.Cleanup(stop)
		south.mu.Lock()
		for _, name := range names {
			south.due = append(south.due, name.Shard())
		}
		south.mu.Unlock()
		sleep(t.Context(), 70*time.Second)
		due := south.r.Audits()[0]
		if !due.Scheduled || due.State != AuditRunning || len(due.Shards) != 3 {
			t.Fatalf("due: %+v", due)
		}
		by := make([]Audit, 2)
		for i := range by {
			var err error
			if by[i], err = south.r.JoinAudit("g", AuditRequest{Scope: AuditScope{Files: names[i : i+1]}}); err != nil {
				t.Fatal(err)
			}
		}
		south.mu.Lock()
		open = false
		south.mu.Unlock()
		sleep(t.Context(), 200*time.Second) // at the pace, with what the first one had begun to read
		for _, one := range by {
			if a, _ := south.r.Audit(one.ID); a.State != AuditDone || a.Files != 1 || a.Worked < 30*time.Second {
				t.Errorf("by hand: %+v", a)
			}
		}
		sleep(t.Context(), time.Hour)
		a, _ := south.r.Audit(due.ID)
		if a.State != AuditRunning || a.Passed == 3 {
			t.Errorf("outside its hours: %+v", a)
		}
		south.mu.Lock()
		open = true
		south.mu.Unlock()
		sleep(t.Context(), time.Hour)
		if a, _ = south.r.Audit(due.ID); a.State != AuditDone || a.Files != 3 || c.passes("south") != 3 {
			t.Errorf("in its hours: %+v", a)
		}
	})
}

// TestPresenceIsDueDaily has a node look at its copies once a day by itself, whatever its clock does.
func TestPresenceIsDueDaily(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		south := c.node("south-1")
		south.config.PresenceEvery = 24 * time.Hour
		south.open()
		t.Cleanup(c.run("north-1", "south-1"))
		c.complete(c.node("north-1").putSome(2, 100)...)
		looks := func() (n int) {
			for _, a := range south.r.Audits() {
				if a.Kind == AuditPresence && a.Scheduled && a.State == AuditDone && a.Files == 2 {
					n++
				}
			}
			return n
		}
		sleep(t.Context(), time.Hour)
		if looks() != 1 {
			t.Fatalf("after an hour: %+v", south.r.Audits())
		}
		sleep(t.Context(), 50*time.Hour)
		if looks() != 3 {
			t.Errorf("%d looks in two days and three hours", looks())
		}
		synctest.Wait()
		south.r.audits.mu.Lock()
		last := south.r.audits.all[len(south.r.audits.all)-1]
		last.Ended = time.Now().Add(1000 * time.Hour) // its clock was wrong
		south.r.audits.mu.Unlock()
		sleep(t.Context(), time.Hour)
		if looks() != 4 {
			t.Errorf("%d looks: one that ended in the future counts", looks())
		}
	})
}
