package replica

import (
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// TestAnAuditCountsWhatIsOwed audits a node that has one file and could not fetch another one yet. The catalog itself says that
// the second is not here: it is no fault, but it was not read either.
func TestAnAuditCountsWhatIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1", "sums-1")
		north := c.node("north-1")
		north.put(fileName(1), 1, 1000)
		c.complete(fileName(1))
		sleep(t.Context(), time.Minute)
		north.mu.Lock()
		north.wrap = func(catalog.FileName, int64, io.ReadCloser) (io.ReadCloser, error) { return nil, errors.New("cut off") }
		north.mu.Unlock()
		north.put(fileName(2), 2, 500)
		sleep(t.Context(), time.Minute)
		a := c.node("south-1").audited()
		if a.State != AuditDone || a.Files != 1 || a.Bytes != 1000 || a.Owed != 1 || a.OwedBytes != 500 || a.Excepted != 0 || a.TotalFiles != 2 {
			t.Errorf("audit: %+v", a)
		}
		north.mu.Lock()
		north.wrap = nil
		north.mu.Unlock()
		c.complete(fileName(2))
		if a = c.node("south-1").audited(); a.Files != 2 || a.Owed != 0 || a.OwedBytes != 0 {
			t.Errorf("audit after the copy came: %+v", a)
		}
	})
}

// TestAnAuditCountsMoreThanItLists spoils more files than an audit lists, some of each kind.
func TestAnAuditCountsMoreThanItLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const files, missing, corrupt = listed + 60, listed + 20, 30
		c := runCluster(t, "north-1", "south-1")
		south := c.node("south-1")
		names := c.node("north-1").putSome(files, 10)
		c.complete(names...)
		sleep(t.Context(), time.Minute)
		for i, name := range names[:missing+corrupt] {
			var err error
			if path := south.r.store.Path(name); i < missing {
				err = os.Remove(path)
			} else {
				err = errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte("other"), 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		a := south.audited()
		if a.State != AuditDone || a.Missing != missing || a.Corrupt != corrupt || a.Excepted != missing+corrupt || len(a.Exceptions) != listed {
			t.Errorf("%d missing, %d corrupt, %d exceptions, %d listed, %s", a.Missing, a.Corrupt, a.Excepted, len(a.Exceptions), a.State)
		}
	})
}

// TestUnknownFilesAreCountedOnce surveys a shard with more files that the catalog does not know than are listed, and again,
// as after an interruption.
func TestUnknownFilesAreCountedOnce(t *testing.T) {
	c := newCluster(t, "north-1", "south-1")
	south := c.node("south-1")
	one := &Audit{Pass: &Pass{}}
	p := &passing{auditor: south.r.auditor, audit: one}
	names := siblings(listed + 7)
	p.shard = catalog.FileName(names[0]).Shard()
	for _, name := range names {
		if err := keep(south.r.store, name, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := p.survey(); err != nil {
			t.Fatal(err)
		}
		if one.Unknowns != listed+7 || len(one.Extras) != listed {
			t.Errorf("%d unknown files, %d listed", one.Unknowns, len(one.Extras))
		}
	}
}

// TestAShardThatMovedAwayWasNotAudited has an audit begin, and the shards go to another node before it comes to them. Nobody
// has read what counts now, so the audit is not done.
func TestAShardThatMovedAwayWasNotAudited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1", "north-2")
		stop := c.run("north-1", "south-1")
		name, first := fileName(1), c.node("north-1")
		first.put(name, 1, 1000)
		c.complete(name)
		sleep(t.Context(), time.Minute)
		stop()
		started, err := first.r.StartAudit("", []catalog.Shard{name.Shard()})
		if err != nil {
			t.Fatal(err)
		}
		defer c.run("north-2")()
		c.must(catalog.AssignShards, catalog.Assignment{Replica: "north", Shards: []catalog.Shard{name.Shard()}, Node: nodeID("north-2")})
		c.until("the shard is north-2's", func(v catalog.View) bool {
			p, err := v.Placement("north", name.Shard())
			return err == nil && p.Holder == nodeID("north-2")
		})
		defer c.run("north-1")()
		sleep(t.Context(), time.Minute)
		a, err := first.r.Audit(started.ID)
		if err != nil || a.State != AuditIncomplete || a.Faulty != 1 || a.Excepted != 0 {
			t.Errorf("audit: %+v, %v", a, err)
		}
	})
}
