package replica

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// Challenge is the peers'. What a node answers may be twisted by the test.
func (n *node) Challenge(ctx context.Context, to catalog.NodeID, c Challenge) ([]byte, error) {
	if n.silent(to) {
		return nil, errDown
	}
	peer, _ := n.peer(to)
	n.mu.Lock()
	answer := n.nodes[to].answer
	n.mu.Unlock()
	honest := func(ctx context.Context, c Challenge) ([]byte, error) { return peer.Challenge(ctx, n.id, c) }
	if answer == nil {
		return honest(ctx, c)
	}
	return answer(ctx, c, honest)
}

// challenging returns a running cluster that challenges, with some complete files.
func challenging(t *testing.T, names ...string) (*cluster, []catalog.FileName) {
	c := challengers(t, names...)
	t.Cleanup(c.run(names...))
	all := c.node(names[0]).putSome(6, 1000)
	c.complete(all...)
	sleep(t.Context(), time.Minute)
	return c, all
}

// challengers is a cluster that challenges, of which nothing runs.
func challengers(t *testing.T, names ...string) *cluster {
	c := newCluster(t, names...)
	for _, name := range names {
		c.must(catalog.UpdateMember, map[string]any{"id": nodeID(name), "level": files.LevelOfChallenges})
	}
	c.must(catalog.RaiseLevel, catalog.LevelChange{Level: files.LevelOfChallenges})
	c.must(files.DrawLots, files.Drawing{Node: nodeID(names[0]), Number: 1})
	return c
}

// challenge lets the node challenge all it is to examine of the replica.
func (n *node) challenge(scope AuditScope) Audit {
	n.t.Helper()
	scope.Replica = "south"
	one, err := n.r.JoinAudit("g", AuditRequest{Kind: AuditChallenge, Draw: 1, Scope: scope})
	for range 1000 {
		if err != nil {
			n.t.Fatal(err)
		}
		if one.State.Ended() {
			return one
		}
		sleep(n.t.Context(), time.Second)
		one, err = n.r.Audit(one.ID)
	}
	n.t.Fatalf("the challenges do not end: %+v", one)
	return one
}

func (c *cluster) copyOf(name catalog.FileName, replica catalog.ReplicaName) (out catalog.Copy) {
	c.View(func(v catalog.View) error {
		f, err := v.File(name)
		if err == nil {
			out = *f.Copy(replica)
		}
		return err
	})
	return out
}

type answering = func(ctx context.Context, c Challenge, honest func(context.Context, Challenge) ([]byte, error)) ([]byte, error)

// TestChallenges has a node be challenged for its six copies and cheat, fail, or keep silent in many ways.
func TestChallenges(t *testing.T) {
	t.Parallel()
	var old []byte
	for what, tt := range map[string]struct {
		answer   answering
		before   func(c *cluster, all []catalog.FileName)
		want     Tally // Files, Wrong, Refused, Late, Unreached
		state    AuditState
		disputed int
		minutes  float64 // at most
	}{
		"honest": {want: Tally{Files: 6}, state: AuditDone},
		"a flipped bit, which its own record does not know": {before: func(c *cluster, all []catalog.FileName) {
			flip(c.t, c.node("south-1").r.store.Path(all[2]))
		}, want: Tally{Files: 6, Wrong: 1}, state: AuditDone, disputed: 1},
		"a file that is gone": {before: func(c *cluster, all []catalog.FileName) {
			if err := os.Remove(c.node("south-1").r.store.Path(all[2])); err != nil {
				c.t.Fatal(err)
			}
		}, want: Tally{Files: 6, Wrong: 1}, state: AuditDone, disputed: 1},
		"the checksum, which it has": {answer: func(_ context.Context, c Challenge, _ func(context.Context, Challenge) ([]byte, error)) ([]byte, error) {
			return hex.DecodeString("0000000000000000000000000000000000000000000000000000000000000000")
		}, want: Tally{Files: 6, Wrong: 6}, state: AuditDone, disputed: 6},
		"its first answer each time": {answer: func(ctx context.Context, c Challenge, honest func(context.Context, Challenge) ([]byte, error)) ([]byte, error) {
			if old == nil {
				var err error
				if old, err = honest(ctx, c); err != nil {
					return nil, err
				}
			}
			return old, nil
		}, want: Tally{Files: 6, Wrong: 5}, state: AuditDone, disputed: 5},
		"a word of refusal": {answer: func(context.Context, Challenge, func(context.Context, Challenge) ([]byte, error)) ([]byte, error) {
			return nil, refusal{errors.New("not today\n" + strings.Repeat("x", 1<<20)), "no"}
		}, want: Tally{Refused: 6}, state: AuditDone},
		"always busy": {answer: func(context.Context, Challenge, func(context.Context, Challenge) ([]byte, error)) ([]byte, error) {
			return nil, ErrBusy
		}, want: Tally{Late: 3, Unreached: 3}, state: AuditIncomplete, minutes: 8},
		"nothing, for ever": {answer: func(ctx context.Context, _ Challenge, _ func(context.Context, Challenge) ([]byte, error)) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, want: Tally{Late: 3, Unreached: 3}, state: AuditIncomplete, minutes: 8},
		"the right answer, too late": {answer: func(ctx context.Context, c Challenge, honest func(context.Context, Challenge) ([]byte, error)) ([]byte, error) {
			if err := sleep(ctx, time.Hour); err != nil {
				return nil, context.DeadlineExceeded
			}
			return honest(ctx, c)
		}, want: Tally{Late: 3, Unreached: 3}, state: AuditIncomplete, minutes: 8},
		"no answer to an empty one": {answer: func(context.Context, Challenge, func(context.Context, Challenge) ([]byte, error)) ([]byte, error) {
			return nil, nil
		}, want: Tally{Files: 6, Wrong: 6}, state: AuditDone, disputed: 6},
		"not reached": {before: func(c *cluster, _ []catalog.FileName) { c.node("south-1").setDown(true) },
			want: Tally{Unreached: 6}, state: AuditIncomplete, minutes: 1},
		"the examiner's own copy is wrong": {before: func(c *cluster, all []catalog.FileName) {
			flip(c.t, c.node("north-1").r.store.Path(all[2]))
		}, want: Tally{Files: 5, Unreached: 1}, state: AuditIncomplete},
		"both are wrong in the same way": {before: func(c *cluster, all []catalog.FileName) {
			for _, name := range []string{"north-1", "south-1"} {
				flip(c.t, c.node(name).r.store.Path(all[2]))
			}
		}, want: Tally{Files: 5, Unreached: 1}, state: AuditIncomplete, disputed: 1}, // it reports its own copy
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				old = nil
				c, all := challenging(t, "north-1", "south-1", "sums-1")
				if c.node("south-1").answer = tt.answer; tt.before != nil {
					tt.before(c, all)
				}
				began := time.Now()
				a := c.node("north-1").challenge(AuditScope{})
				got := Tally{Files: a.Files, Wrong: a.Wrong, Refused: a.Refused, Late: a.Late, Unreached: a.Unreached}
				if got != tt.want || a.State != tt.state || a.TotalFiles != 6 ||
					len(a.Unanswered) != a.Wrong+a.Refused+a.Late+a.Unreached {
					t.Errorf("%+v", a)
				}
				if m := time.Since(began).Minutes(); tt.minutes > 0 && m > tt.minutes {
					t.Errorf("it took %.0f minutes", m)
				}
				disputed := 0
				for _, name := range all {
					if c.copyOf(name, "south").Disputed {
						disputed++
					}
				}
				if disputed != tt.disputed {
					t.Errorf("%d copies are disputed, want %d", disputed, tt.disputed)
				}
				for _, u := range a.Unanswered {
					if len(u.Why) > 500 {
						t.Errorf("a reason of %d bytes is kept", len(u.Why))
					}
				}
				own := slices.ContainsFunc(a.Unanswered, func(u Unanswered) bool { return u.Outcome == AnswerUnread })
				if own != c.copyOf(all[2], "north").Disputed {
					t.Errorf("the examiner's own copy: %+v", a.Unanswered)
				}
				if n := c.passes("south") + c.passes("north"); n != 0 {
					t.Errorf("%d shards count as read", n)
				}
			})
		})
	}
}

// TestAProxyDoesNotPass hands challenges on to a third node that has the bytes, which refuses to answer another one than
// its examiner; and what it would answer would be another answer.
func TestAProxyDoesNotPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, all := challenging(t, "north-1", "south-1", "east-1")
		refused := 0
		c.node("south-1").answer = func(ctx context.Context, ch Challenge, _ func(context.Context, Challenge) ([]byte, error)) ([]byte, error) {
			for _, as := range []string{"south-1", "north-1"} { // it can only ask as itself; and if it could as another
				mac, err := c.node("east-1").r.Challenge(ctx, nodeID(as), ch)
				if errors.Is(err, ErrNotExaminer) {
					refused++
				} else if err == nil {
					return mac, nil
				}
			}
			return nil, ErrNotExaminer
		}
		asked := 0
		for _, name := range []string{"north-1", "east-1"} {
			a := c.node(name).challenge(AuditScope{})
			asked += int(a.TotalFiles)
			if int64(a.Wrong+a.Refused) != a.TotalFiles || a.State != AuditDone {
				t.Errorf("%s: %+v", name, a)
			}
		}
		if asked != len(all) || refused == 0 {
			t.Errorf("%d challenges, %d refused by the third", asked, refused)
		}
	})
}

// TestWhoMayChallenge asks a node for answers as many others.
func TestWhoMayChallenge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, all := challenging(t, "north-1", "south-1", "sums-1")
		nonce := bytes.Repeat([]byte{1}, nonceSize)
		for what, tt := range map[string]struct {
			from string
			c    Challenge
			err  error
		}{
			"the examiner":          {"north-1", Challenge{all[0], 1, nonce}, nil},
			"itself":                {"south-1", Challenge{all[0], 1, nonce}, ErrNotExaminer},
			"one without bytes":     {"sums-1", Challenge{all[0], 1, nonce}, ErrNotExaminer},
			"a stranger":            {"gone", Challenge{all[0], 1, nonce}, ErrNotExaminer},
			"by a draw to come":     {"north-1", Challenge{all[0], 2, nonce}, ErrNotExaminer},
			"by no draw":            {"north-1", Challenge{all[0], 0, nonce}, ErrNotExaminer},
			"for what is not known": {"north-1", Challenge{"no.warc.gz", 1, nonce}, ErrNotReady},
		} {
			mac, err := c.node("south-1").r.Challenge(t.Context(), nodeID(tt.from), tt.c)
			if !errors.Is(err, tt.err) || (err == nil) != (len(mac) == 32) || (err == nil) != (tt.err == nil) {
				t.Errorf("%s: %x, %v", what, mac, err)
			}
		}
		if _, err := c.node("south-1").r.Challenge(t.Context(), nodeID("north-1"), Challenge{all[0], 1, nil}); err == nil {
			t.Error("a challenge without a nonce is answered")
		}
		if _, err := c.node("sums-1").r.Challenge(t.Context(), nodeID("north-1"), Challenge{all[0], 1, nonce}); !errors.Is(err, ErrNotExaminer) {
			t.Errorf("a node without bytes: %v", err)
		}
		for range challengesAtOnce {
			_, _ = c.node("south-1").r.answers.take()
		}
		if _, err := c.node("south-1").r.Challenge(t.Context(), nodeID("north-1"), Challenge{all[0], 1, nonce}); !errors.Is(err, ErrBusy) {
			t.Errorf("more at once than it admits: %v", err)
		}
	})
}

// TestAnswersDiffer in each thing that they are about.
func TestAnswersDiffer(t *testing.T) {
	t.Parallel()
	sum := func(nonce byte, name string, draw uint64, asker, asked catalog.NodeID, size int64, text string) string {
		h := Challenge{catalog.FileName(name), draw, bytes.Repeat([]byte{nonce}, nonceSize)}.answerTo(asker, asked, size)
		h.Write([]byte(text))
		return string(h.Sum(nil))
	}
	seen := map[string]int{}
	for i, one := range []string{
		sum(1, "f", 1, "a", "b", 3, "xyz"), sum(2, "f", 1, "a", "b", 3, "xyz"), sum(1, "g", 1, "a", "b", 3, "xyz"),
		sum(1, "f", 2, "a", "b", 3, "xyz"), sum(1, "f", 1, "b", "a", 3, "xyz"), sum(1, "f", 1, "a", "b", 2, "xyz"),
		sum(1, "f", 1, "a", "b", 3, "xyy"), sum(1, "f", 1, "ab", "", 3, "xyz"), sum(1, "", 1, "a", "bf", 3, "xyz"),
	} {
		if at, there := seen[one]; there {
			t.Errorf("answers %d and %d are the same", at, i)
		}
		seen[one] = i
	}
}

// TestChallengesAfterADraw are made by themselves, of a sample, once; and again after the next draw, whatever clocks do.
func TestChallengesAfterADraw(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		for _, name := range []string{"north-1", "south-1"} {
			c.must(catalog.UpdateMember, map[string]any{"id": nodeID(name), "level": files.LevelOfChallenges})
			c.node(name).config.Challenges = 0.34
			c.node(name).open()
		}
		c.must(catalog.RaiseLevel, catalog.LevelChange{Level: files.LevelOfChallenges})
		t.Cleanup(c.run("north-1", "south-1"))
		var all []catalog.FileName
		for i, name := range siblings(6) { // of one shard
			all = append(all, catalog.FileName(name))
			c.node("north-1").put(all[i], uint64(i), 100)
		}
		c.complete(all...)
		sleep(t.Context(), time.Hour)
		made := func() (n int, of int64) {
			for _, a := range c.node("north-1").r.Audits() {
				if a.Kind == AuditChallenge && a.State == AuditDone {
					n, of = n+1, of+a.Files
				}
			}
			return n, of
		}
		if n, _ := made(); n != 0 {
			t.Fatalf("%d before the first draw", n)
		}
		for draw := range 2 {
			c.must(files.DrawLots, files.Drawing{Node: nodeID("north-1"), Number: uint64(draw + 1)})
			sleep(t.Context(), 5*time.Hour)
			if n, of := made(); n != draw+1 || of != int64(3*n) {
				t.Errorf("after draw %d: %d, of %d copies", draw+1, n, of)
			}
			c.mu.Lock()
			c.now += files.DrawLeast
			c.mu.Unlock()
		}
		var checks []files.Check
		c.View(func(v catalog.View) (err error) { checks, err = v.Checks("south", "challenge"); return err })
		if len(checks) != 1 || checks[0].Node != nodeID("north-1") || checks[0].Files != 3 || checks[0].Missed != 0 {
			t.Errorf("recorded: %+v", checks)
		}
	})
}

// TestChallengesOfWhatChanges looks at copies that are owed, and files that are removed, while they are to be challenged.
func TestChallengesOfWhatChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, all := challenging(t, "north-1", "south-1")
		c.must(catalog.FindCopies, catalog.Findings{Node: nodeID("south-1"), Files: []catalog.Finding{missingFinding(all[0])}})
		c.node("south-1").answer = func(ctx context.Context, ch Challenge, honest func(context.Context, Challenge) ([]byte, error)) ([]byte, error) {
			if ch.Name == all[1] { // removed while it is challenged
				f, err := c.node("north-1").r.entry(ch.Name)
				if err != nil {
					return nil, err
				}
				c.must(files.SetRemovals, files.RemovalSetting{Days: 0, Reason: "test"})
				c.must(catalog.RemoveFile, catalog.FileRemoval{Name: f.Name, SHA256: f.SHA256, Reason: "test", Version: f.Version})
				return nil, ErrNotHere
			}
			return honest(ctx, ch)
		}
		a := c.node("north-1").challenge(AuditScope{})
		if a.State != AuditDone || a.Files != 4 || a.Owed != 1 || a.Wrong+a.Refused+a.Late+a.Unreached != 0 {
			t.Errorf("all: %+v", a)
		}
		a = c.node("north-1").challenge(AuditScope{Files: all[2:3]})
		if a.State != AuditDone || a.Files != 1 || a.TotalFiles != 1 {
			t.Errorf("a file: %+v", a)
		}
		if _, err := c.node("north-1").r.JoinAudit("g", AuditRequest{Kind: AuditChallenge, Draw: 7}); err == nil {
			t.Error("challenges by a draw that does not hold")
		}
	})
}

// TestADiskThatIsAwayIsNoWrongAnswer challenges copies, and has copies read again, while the disk of the node that is asked
// is away, and then that of the one that asks: no copy is said to be missing or wrong, and none is said to be right.
func TestADiskThatIsAwayIsNoWrongAnswer(t *testing.T) {
	for _, whose := range []string{"south-1", "north-1"} {
		synctest.Test(t, func(t *testing.T) {
			c, all := challenging(t, "north-1", "south-1")
			defer unmount(t, filepath.Join(c.node(whose).dir, "files"))()
			got := c.node("north-1").challenge(AuditScope{})
			if got.Wrong+got.Late > 0 || got.Excepted > 0 || got.Files > 0 || got.Refused+got.Unreached != len(all) {
				t.Errorf("%s: %+v", whose, got)
			}
			if _, err := c.node(whose).r.Again.Verify(t.Context(), all[0]); !errors.Is(err, ErrNotMounted) {
				t.Errorf("%s: read again: %v", whose, err)
			}
			for _, name := range all {
				for _, replica := range []catalog.ReplicaName{"north", "south"} {
					if one := c.copyOf(name, replica); !one.Good() {
						t.Errorf("%s: %s in %s: %+v", whose, name, replica, one)
					}
				}
			}
			if missing := c.node(whose).r.store.Missing(); len(missing) > 0 {
				t.Errorf("%s: noted as missing: %v", whose, missing)
			}
		})
	}
}
