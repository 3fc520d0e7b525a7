package raft

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// TestAVoterThatWasSetBackIsFoundOut puts an older copy of a voter's folder in its place, and lets it start beside a member that
// has seen it further. It must not vote: with the only other one that has an acknowledged decision gone, it would help to undo it.
func TestAVoterThatWasSetBackIsFoundOut(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	three(t, c)
	c.propose(c.leader(), addKind, tinyAdd{Key: "x", N: 1})
	old := c.leader()
	var back, witness catalog.NodeID
	for id := range c.nodes {
		switch {
		case id == old.cfg.Self:
		case back == "":
			back = id
		default:
			witness = id
		}
	}
	dir, backup := c.configOf(back).Dir, filepath.Join(t.TempDir(), "backup")
	c.stop(back)
	if err := copyTree(dir, backup); err != nil {
		t.Fatal(err)
	}
	again := c.start(back)
	c.eventually("the voter has caught up", func() bool { return count(t, again.Node, "x") == 1 })
	// The witness can reach neither, so that one of these two leads, also where a slow machine makes the leader lose its lease.
	c.hub.cut([]catalog.NodeID{witness}, []catalog.NodeID{old.cfg.Self, back})
	c.propose(again, addKind, tinyAdd{Key: "x", N: 10}) // acknowledged by these two
	standing, err := again.Standing()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.nodes[witness].Witness().Saw(back, standing); err != nil { // as gossip tells it
		t.Fatal(err)
	}
	c.stop(back)
	c.kill(old.cfg.Self)
	if err := errors.Join(os.RemoveAll(dir), copyTree(backup, dir)); err != nil {
		t.Fatal(err)
	}
	c.hub.heal()
	again = c.start(back)
	c.eventually("the voter that was set back ends", func() bool {
		select {
		case err = <-again.done:
			return true
		default:
			return false
		}
	})
	if !errors.Is(err, ErrSetBack) {
		t.Errorf("the voter that was set back ended with %v", err)
	}
	delete(c.nodes, back)
	c.hub.leave(back)
	if c.nodes[witness].IsLeader() {
		t.Error("a leader without the acknowledged decision was elected")
	}
}

// TestALateWitnessIsNoAccuser lets a witness answer after it has seen the node go on in its present start: with the votes of
// others the node may have become the leader. It stopped then, as though it had been set back.
func TestALateWitnessIsNoAccuser(t *testing.T) {
	t.Parallel()
	mine := Standing{Log: 1, Boot: 9, Term: 3, LastTerm: 3, LastIndex: 220} // when it started
	now := Standing{Log: 1, Boot: 9, Term: 4, LastTerm: 4, LastIndex: 378}
	older := Standing{Log: 1, Boot: 8, Term: 3, LastTerm: 3, LastIndex: 210}
	further := Standing{Log: 1, Boot: 8, Term: 3, LastTerm: 3, LastIndex: 230}
	for name, tt := range map[string]struct {
		saw  []Standing
		back bool
	}{
		"nothing":                            {nil, false},
		"this start only":                    {[]Standing{now}, false},
		"before as well, less far":           {[]Standing{older, mine, now}, false},
		"before as well, further":            {[]Standing{further, mine, now}, true},
		"before only, further":               {[]Standing{further}, true},
		"further, and this start's clock is": {[]Standing{{Log: 1, Boot: 10, Term: 4, LastTerm: 4, LastIndex: 1}}, true},
	} {
		var seen sighting
		for _, s := range tt.saw {
			seen = seen.with(s)
		}
		_, told, err := decodeSeen(encodeSeen(true, seen))
		if err != nil || told != seen {
			t.Errorf("%s: told %+v of %+v: %v", name, told, seen, err)
		}
		if got := mine.behind(told.before(mine.Boot)); got != tt.back {
			t.Errorf("%s: set back %v, want %v", name, got, tt.back)
		}
	}
}

// TestNobodyVotesUnasked starts one of three voters alone: it can ask nobody, and neither votes nor stands for election. With
// another it does.
func TestNobodyVotesUnasked(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	three(t, c)
	c.propose(c.leader(), addKind, tinyAdd{Key: "x", N: 1})
	for _, id := range []catalog.NodeID{"a", "b", "c"} {
		c.stop(id)
	}
	c.start("a")
	c.start("b")
	c.propose(c.leader(), addKind, tinyAdd{Key: "x", N: 1})
}

func TestStandings(t *testing.T) {
	t.Parallel()
	at := Standing{Log: 1, Boot: 5, Term: 3, LastTerm: 2, LastIndex: 10}
	for name, tt := range map[string]struct {
		now    Standing
		behind bool
	}{
		"the same":                    {at, false},
		"further":                     {Standing{Log: 1, Boot: 6, Term: 3, LastTerm: 2, LastIndex: 11}, false},
		"shorter log of a later term": {Standing{Log: 1, Boot: 6, Term: 3, LastTerm: 3, LastIndex: 9}, false},
		"older term":                  {Standing{Log: 1, Boot: 6, Term: 2, LastTerm: 2, LastIndex: 10}, true},
		"fewer entries":               {Standing{Log: 1, Boot: 6, Term: 3, LastTerm: 2, LastIndex: 9}, true},
		"entry of an older term":      {Standing{Log: 1, Boot: 6, Term: 3, LastTerm: 1, LastIndex: 50}, true},
		"a new log":                   {Standing{Log: 2, Boot: 6}, false},
	} {
		if got := tt.now.behind(at); got != tt.behind {
			t.Errorf("%s: behind is %v", name, got)
		}
	}
	w, err := openWitness(t.TempDir(), disk.New(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	fresh := Standing{Log: 2, Boot: 6, Term: 3}
	for _, s := range []Standing{at, {Log: 1, Boot: 5, Term: 3, LastTerm: 2, LastIndex: 9}, fresh, at} {
		if err := w.Saw("a", s); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.of("a"); got.Standing != fresh {
		t.Errorf("of a node with a new log is remembered %+v", got)
	}
	if err := w.Saw("b", at); err != nil {
		t.Fatal(err)
	}
	if err := w.Saw("b", Standing{Log: 1, Boot: 5, Term: 3, LastTerm: 2, LastIndex: 12}); err != nil {
		t.Fatal(err)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	if w, err = openWitness(filepath.Dir(w.path), disk.New(), quiet()); err != nil || w.of("b").LastIndex != 12 || w.of("a").Standing != fresh {
		t.Errorf("after a restart it remembers %+v %v", w.seen, err)
	}
	votes, back, err := decodeSeen(encodeSeen(true, sighting{Standing: at}))
	if err != nil || !votes || back.Standing != at {
		t.Errorf("%+v %v %v", back, votes, err)
	}
}

// TestADamagedMemoryOfOthersStopsNobody damages what a voter remembers of the others: it starts, and remembers again.
func TestADamagedMemoryOfOthersStopsNobody(t *testing.T) {
	t.Parallel()
	dir, at := t.TempDir(), Standing{Log: 1, Boot: 5, Term: 3, LastTerm: 2, LastIndex: 10}
	for _, text := range []string{"", "{\"a\":", "null", "[]"} {
		if err := os.WriteFile(filepath.Join(dir, "seen.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := openWitness(dir, disk.New(), quiet())
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if err := errors.Join(w.Saw("a", at), w.close()); err != nil {
			t.Fatal(err)
		}
		if w, err = openWitness(dir, disk.New(), quiet()); err != nil || w.of("a").Standing != at {
			t.Errorf("%q: it remembers %+v, %v", text, w.seen, err)
		}
	}
}

// TestAShortenedLogIsNotSetBack ends a node between the removal of entries that its leader replaces and their replacement. The others have seen it
// further, and yet it was not set back.
func TestAShortenedLogIsNotSetBack(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	three(t, c)
	c.propose(c.leader(), addKind, tinyAdd{Key: "x", N: 1})
	var id catalog.NodeID
	for other := range c.nodes {
		if !c.nodes[other].IsLeader() {
			id = other
		}
	}
	n := c.nodes[id]
	c.eventually("it has it, too", func() bool { return count(t, n.Node, "x") == 1 })
	before, err := n.Standing()
	if err != nil {
		t.Fatal(err)
	}
	c.stop(id)
	log, ledger := openLogOf(t, c.configOf(id).Dir)
	last, err := log.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	seen := Standing{Log: ledger.now().Log, Boot: before.Boot, Term: before.Term, LastTerm: before.Term, LastIndex: last + 3}
	for i := last + 1; i <= last+3; i++ { // of a leader that nobody else heard
		if err := log.StoreLog(&hraft.Log{Index: i, Term: before.Term, Type: hraft.LogNoop}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.DeleteRange(last+1, last+3); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for other := range c.nodes {
		if err := c.nodes[other].Witness().Saw(id, seen); err != nil {
			t.Fatal(err)
		}
	}
	again := c.start(id)
	c.propose(c.leader(), addKind, tinyAdd{Key: "x", N: 1})
	c.eventually("it takes part", func() bool { return count(t, again.Node, "x") == 2 })
}

func openLogOf(t *testing.T, dir string) (*logStore, *ledger) {
	t.Helper()
	ledger, err := openLedger(filepath.Join(dir, "catalog"), disk.New(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	log, err := openLog(filepath.Join(dir, "raft"), 1<<20, ledger, roomy(), quiet(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	return log, ledger
}
