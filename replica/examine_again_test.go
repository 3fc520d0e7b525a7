package replica

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
	"holdfast/internal/disk"
)

// TestUnansweredChallengesAreAskedAgain has a node refuse, keep silent, or answer wrongly for a while. What is answered
// rightly later is settled, in the audit and in the catalog; what is not stays a finding, with its reason.
func TestUnansweredChallengesAreAskedAgain(t *testing.T) {
	t.Parallel()
	refuse := func(reason string) answering {
		return func(context.Context, Challenge, func(context.Context, Challenge) ([]byte, error)) ([]byte, error) {
			return nil, refusal{errors.New(reason), "no"}
		}
	}
	for what, tt := range map[string]struct {
		answer  answering
		down    bool
		first   Outcome
		restart bool          // of the examiner, while it is to be asked again
		heals   time.Duration // when the node answers as it should; 0: never
		after   time.Duration
		settled bool
		later   Outcome // when the node does something else in the end; empty: the same
	}{
		"its disk is away":       {answer: refuse("the disk is not mounted"), first: AnswerRefused, heals: 5 * time.Minute, after: time.Hour, settled: true},
		"and this node restarts": {answer: refuse("starting"), first: AnswerRefused, heals: 5 * time.Minute, restart: true, after: time.Hour, settled: true},
		"for hours":              {answer: refuse("starting"), first: AnswerRefused, heals: 7 * time.Hour, after: 7 * time.Hour, settled: true},
		"for ever":               {answer: refuse("never"), first: AnswerRefused, after: 12 * time.Hour},
		"not reached":            {down: true, first: AnswerUnreached, heals: 5 * time.Minute, after: time.Hour, settled: true},
		"busy for a while": {answer: func(context.Context, Challenge, func(context.Context, Challenge) ([]byte, error)) ([]byte, error) {
			return nil, ErrBusy
		}, first: AnswerLate, heals: 20 * time.Minute, after: 2 * time.Hour, settled: true},
		"refused and then wrong":   {answer: refuse("let me think"), first: AnswerRefused, heals: 5 * time.Minute, after: time.Hour, later: AnswerWrong},
		"wrong until it is mended": {first: AnswerWrong, after: 3 * time.Hour, settled: true},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := challengers(t, "north-1", "south-1", "sums-1")
				t.Cleanup(c.run("south-1", "sums-1"))
				stop := c.run("north-1")
				defer func() { stop() }()
				all := c.node("north-1").putSome(6, 1000)
				c.complete(all...)
				sleep(t.Context(), time.Minute)
				north, south := c.node("north-1"), c.node("south-1")
				south.mu.Lock()
				south.answer, south.down = tt.answer, tt.down
				south.mu.Unlock()
				if tt.first == AnswerWrong {
					flip(t, south.r.store.Path(all[2]))
				}
				a := north.challenge(AuditScope{})
				if len(a.Unanswered) == 0 || a.Unanswered[0].Outcome != tt.first || a.Unanswered[0].Why == "" && tt.first != AnswerWrong {
					t.Fatalf("first: %+v", a.Unanswered)
				}
				if tt.first == AnswerWrong {
					c.must(catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: all[2], Replica: "south", Bad: true, Votes: "2:1"}}})
				}
				found := len(a.Unanswered)
				if tt.restart {
					stop()
					north.open()
					stop = c.run("north-1")
				}
				if tt.heals > 0 {
					sleep(t.Context(), tt.heals)
					south.mu.Lock()
					south.answer, south.down = nil, false
					if tt.later == AnswerWrong {
						south.answer = func(context.Context, Challenge, func(context.Context, Challenge) ([]byte, error)) ([]byte, error) {
							return []byte("no"), nil
						}
					}
					south.mu.Unlock()
				}
				sleep(t.Context(), tt.after)
				a, err := north.r.Audit(a.ID)
				if err != nil {
					t.Fatal(err)
				}
				for _, u := range a.Unanswered {
					if u.Settled.IsZero() == tt.settled || u.Tries == 0 || u.Tries > againMost || u.Moot || tt.later != "" && u.Outcome != tt.later {
						t.Errorf("%+v", u)
					}
				}
				if len(a.Unanswered) != found || (a.Answered == found) != (tt.settled && tt.first != AnswerWrong) {
					t.Errorf("%d of %d were answered later", a.Answered, found)
				}
				var checks []files.Check
				c.View(func(v catalog.View) (err error) { checks, err = v.Checks("south", "challenge"); return err })
				if len(checks) != 1 || checks[0].Files+checks[0].Missed != 6 && tt.later == "" || (checks[0].Findings+checks[0].Missed == 0) != tt.settled {
					t.Errorf("recorded: %+v", checks)
				}
			})
		})
	}
}

// TestAskingAgainComesToAnEnd removes a file whose challenge was refused, and draws again twice: nobody asks for it any more.
func TestAskingAgainComesToAnEnd(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"removed", "drawn again", "stopped"} {
		synctest.Test(t, func(t *testing.T) {
			c, all := challenging(t, "north-1", "south-1")
			asked := 0
			c.node("south-1").answer = func(context.Context, Challenge, func(context.Context, Challenge) ([]byte, error)) ([]byte, error) {
				asked++
				return nil, refusal{errors.New("no"), "no"}
			}
			a := c.node("north-1").challenge(AuditScope{})
			switch what {
			case "removed":
				c.must(files.SetRemovals, files.RemovalSetting{Days: 0, Reason: "test"})
				for _, name := range all {
					f, err := c.node("north-1").r.entry(name)
					if err != nil {
						t.Fatal(err)
					}
					c.must(catalog.RemoveFile, catalog.FileRemoval{Name: f.Name, SHA256: f.SHA256, Reason: "test", Version: f.Version})
				}
			case "drawn again":
				for draw := range 2 {
					c.mu.Lock()
					c.now += files.DrawLeast
					c.mu.Unlock()
					c.must(files.DrawLots, files.Drawing{Node: nodeID("north-1"), Number: uint64(draw + 2)})
				}
			case "stopped":
				if err := c.node("north-1").r.audits.stopped(a.ID); err != nil {
					t.Fatal(err)
				}
			}
			asked = 0
			sleep(t.Context(), 3*time.Hour)
			a, err := c.node("north-1").r.Audit(a.ID)
			if err != nil || asked != 0 {
				t.Errorf("%s: asked again %d times, %v", what, asked, err)
			}
			for _, u := range a.Unanswered {
				if u.Moot != (what == "removed") || what == "drawn again" && !u.Next.IsZero() {
					t.Errorf("%s: %+v", what, u)
				}
			}
		})
	}
}

// TestAskingAgainIsBounded: pauses grow, up to a bound, and so does the number of tries.
func TestAskingAgainIsBounded(t *testing.T) {
	one := &Audit{Challenges: Challenges{Unanswered: []Unanswered{{Replica: "south", Outcome: AnswerRefused, Next: time.Unix(1e9, 0)}}}}
	one.count(AnswerRefused, "south", 5, 1)
	now := time.Unix(1e9, 0)
	pauses := []time.Duration{}
	for u := &one.Unanswered[0]; !u.Next.IsZero(); {
		if !u.due(u.Next) || u.due(u.Next.Add(-time.Second)) || !u.due(now.Add(-10*againLongest)) {
			t.Fatalf("after %d tries: %+v", u.Tries, u)
		}
		pauses = append(pauses, u.Next.Sub(now))
		now = u.Next
		one.settle(0, examined{outcome: AnswerRefused, why: "no"}, now)
	}
	if n := len(pauses); n != againMost || pauses[1] != 2*againFirst || pauses[n-1] != againLongest {
		t.Errorf("%v", pauses)
	}
	if one.Refused != 1 || one.Asked["south"] != (Asked{0, 1, 1}) || one.Answered != 0 {
		t.Errorf("%+v", one)
	}
	one.settle(0, examined{outcome: AnswerWrong}, now)
	if one.Refused != 0 || one.Wrong != 1 || one.Asked["south"] != (Asked{1, 1, 0}) {
		t.Errorf("wrong in the end: %+v", one)
	}
	one.settle(0, examined{}, now)
	if one.Wrong != 1 || one.Answered != 0 || one.Asked["south"] != (Asked{1, 0, 0}) || one.Unanswered[0].Settled != now {
		t.Errorf("right in the end: %+v", one)
	}
}

// TestOneFileDoesNotHoldUpTheOthers: that this node cannot look at a file of its own now keeps nothing else from being asked
// for, and the file is asked for when it can.
func TestOneFileDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, all := challenging(t, "north-1", "south-1")
		north, south := c.node("north-1"), c.node("south-1")
		south.answer = func(context.Context, Challenge, func(context.Context, Challenge) ([]byte, error)) ([]byte, error) {
			return nil, refusal{errors.New("starting"), "no"}
		}
		a := north.challenge(AuditScope{})
		if len(a.Unanswered) != len(all) || len(all) < 2 {
			t.Fatalf("%+v", a.Unanswered)
		}
		var busy atomic.Bool
		busy.Store(true)
		open, first := north.r.store.media.open, a.Unanswered[0].Name
		north.r.store.media.open = func(path string) (*Bytes, error) {
			if busy.Load() && filepath.Base(path) == string(first) {
				return nil, syscall.EMFILE
			}
			return open(path)
		}
		south.mu.Lock()
		south.answer = nil
		south.mu.Unlock()
		sleep(t.Context(), 3*time.Hour)
		a, err := north.r.Audit(a.ID)
		if err != nil || a.Answered != len(all)-1 || !a.Unanswered[0].Settled.IsZero() {
			t.Errorf("%d of %d are answered: %+v, %v", a.Answered, len(all), a.Unanswered, err)
		}
		busy.Store(false)
		sleep(t.Context(), time.Hour)
		if a, err := north.r.Audit(a.ID); err != nil || a.Answered != len(all) {
			t.Errorf("%d of %d are answered in the end, %v", a.Answered, len(all), err)
		}
	})
}

// TestAWrongAnswerStaysOne: that a node refuses, is silent or cannot be reached when it is asked again takes nothing back.
func TestAWrongAnswerStaysOne(t *testing.T) {
	now := time.Unix(1e9, 0)
	for _, later := range []Outcome{AnswerRefused, AnswerLate, AnswerUnreached, AnswerUnread} {
		one := &Audit{Challenges: Challenges{Unanswered: []Unanswered{{Replica: "south", Node: "south-1", Outcome: AnswerWrong, Why: "other bytes", Next: now}}}}
		one.count(AnswerWrong, "south", 5, 1)
		one.settle(0, examined{outcome: later, why: "no"}, now)
		u := one.Unanswered[0]
		if u.Outcome != AnswerWrong || u.Why != "other bytes" || u.Node != "south-1" || u.Tries != 1 || !u.Next.After(now) || one.Wrong != 1 || one.Unreached+one.Late+one.Refused != 0 ||
			one.Asked["south"] != (Asked{1, 1, 0}) {
			t.Errorf("%s: %+v", later, one.Challenges)
		}
		if one.settle(0, examined{}, now); one.Answered != 0 || one.Unanswered[0].Settled.IsZero() {
			t.Errorf("%s, and right in the end: %+v", later, one.Challenges)
		}
	}
}

// TestASampleDoesNotEndAskingAgain: a later audit of a few copies, one that was stopped or one that is not at its end says
// nothing about what an earlier one was not told.
func TestASampleDoesNotEndAskingAgain(t *testing.T) {
	now := time.Unix(1e9, 0)
	for what, tt := range map[string]struct {
		later Audit
		due   bool
	}{
		"all":          {Audit{State: AuditDone}, false},
		"all by share": {Audit{State: AuditIncomplete, Challenges: Challenges{Share: 1}}, false},
		"a sample":     {Audit{State: AuditDone, Challenges: Challenges{Share: 0.5}}, true},
		"stopped":      {Audit{State: AuditStopped}, true},
		"paused":       {Audit{State: AuditPaused}, true},
		"one replica":  {Audit{State: AuditDone, Scope: AuditScope{Replica: "east"}}, true},
	} {
		first := &Audit{ID: "first", Kind: AuditChallenge, State: AuditDone, Challenges: Challenges{Unanswered: []Unanswered{{Next: now}}}}
		tt.later.Kind = AuditChallenge
		a := &again{&auditor{findings: &findings{holdings: &holdings{}, agreed: &agreed{}}, audits: &audits{all: []*Audit{first, &tt.later}}}}
		if due := a.due(now); (len(due) == 1) != tt.due {
			t.Errorf("%s: %d audits are due", what, len(due))
		}
	}
}

// TestAForgottenAuditIsNotWrittenAgain: one that was asked again while it was forgotten stays forgotten after a restart.
func TestAForgottenAuditIsNotWrittenAgain(t *testing.T) {
	dir := t.TempDir()
	a, err := openAudits(dir, disk.New(), discard())
	if err != nil {
		t.Fatal(err)
	}
	one := &Audit{Kind: AuditChallenge, State: AuditDone}
	if _, err := a.add(one); err != nil {
		t.Fatal(err)
	}
	if err := a.keepKnown(one); err != nil {
		t.Fatal(err)
	}
	for range kept {
		if _, err := a.add(&Audit{State: AuditDone}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.keepKnown(one); err != nil {
		t.Fatal(err)
	}
	again, err := openAudits(dir, disk.New(), discard())
	if err != nil || len(again.all) != kept || again.all[0].ID == one.ID {
		t.Errorf("%d audits, %v", len(again.all), err)
	}
}

// stopped makes an audit one that was stopped.
func (a *audits) stopped(id string) error {
	_, err := a.change(id, func(one *Audit) error { one.State = AuditStopped; return nil })
	return err
}

// TestACatalogThatIsBehindIsNoWrongAnswer challenges a node whose catalog does not know the file yet, or cannot be read as
// the node stops: it is asked again and no copy is disputed.
func TestACatalogThatIsBehindIsNoWrongAnswer(t *testing.T) {
	t.Parallel()
	for what, honestAfter := range map[string]int{"soon ready": 3, "later": 12} {
		synctest.Test(t, func(t *testing.T) {
			c, all := challenging(t, "north-1", "south-1")
			south, asked := c.node("south-1"), 0
			config := south.config
			config.Audits = t.TempDir()
			behind, err := New(config, south.r.store, nil, south, unread{c}, south, discard())
			if err != nil {
				t.Fatal(err)
			}
			south.answer = func(ctx context.Context, ch Challenge, honest func(context.Context, Challenge) ([]byte, error)) ([]byte, error) {
				if asked++; asked <= honestAfter {
					return behind.Challenge(ctx, nodeID("north-1"), ch)
				}
				return honest(ctx, ch)
			}
			a := c.node("north-1").challenge(AuditScope{})
			if refused := a.Refused > 0; refused != (what == "later") || a.Wrong+a.Unreached > 0 {
				t.Errorf("%s: %+v", what, a)
			}
			sleep(t.Context(), time.Hour)
			if a, err := c.node("north-1").r.Audit(a.ID); err != nil || a.Answered != a.Refused {
				t.Errorf("%s: later: %+v, %v", what, a, err)
			}
			for _, name := range all {
				if c.copyOf(name, "south").Disputed {
					t.Errorf("%s: %s is disputed", what, name)
				}
			}
		})
	}
	for _, err := range []error{fmt.Errorf("x: %w", ErrNotReady), ErrNotExaminer, ErrBusy} {
		if got := Understood(reasoned(err)); !errors.Is(got, err) && !errors.Is(got, errors.Unwrap(err)) {
			t.Errorf("%v arrives as %v", err, got)
		}
	}
}

// unread is a catalog that does not have the files yet.
type unread struct{ *cluster }

func (unread) View(func(catalog.View) error) error { return os.ErrClosed }
