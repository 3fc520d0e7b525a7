package policy

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/access"
	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/rules"
	"holdfast/internal/disk"
	"holdfast/internal/kv/memory"
)

// agreement is a catalog with rules alone, and a leader that may be away.
type agreement struct {
	mu      sync.Mutex
	state   memory.Tx
	last    uint64
	away    bool
	broken  bool
	changed chan struct{}
}

func (a *agreement) View(see func(catalog.View) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken {
		return errors.New("the catalog cannot be read")
	}
	return see(catalog.NewView(&a.state))
}

func (a *agreement) Linear(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away {
		return errors.New("no quorum")
	}
	return nil
}

func (a *agreement) set(away, broken bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away, a.broken = away, broken
}

// block adds a rule, as the catalog does.
func (a *agreement) block(t *testing.T, prefix string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	rule := rules.Rule{Number: a.last, Version: 1, Asked: rules.Asked{Rule: access.Rule{Prefix: prefix, Access: access.Block}}}
	for key, value := range map[string]any{rules.KeyOf(a.last): &rule,
		"rulestate": rules.State{Last: a.last, Count: int(a.last), Version: a.last}} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.state.Set([]byte(key), append([]byte{agree.ValueVersion}, text...)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// run lets the policy run for a while.
func run(t *testing.T, p *Policy, a *agreement, lasts time.Duration, meanwhile func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { _ = p.Run(ctx, a.changed); close(done) }()
	synctest.Wait()
	meanwhile()
	time.Sleep(lasts)
	synctest.Wait()
	cancel()
	<-done
}

// says is what the policy is, in a word.
func says(p *Policy) string {
	now, err := p.InForce()
	switch {
	case errors.Is(err, ErrUnknown):
		return "unknown"
	case err != nil:
		return err.Error()
	}
	out := string(now.For(access.Who{At: time.Now()}).Decide("com,example)/", "20260101000000").Access)
	if !now.Unconfirmed.IsZero() {
		out += ", unconfirmed"
	}
	return out
}

// TestAPolicyIsNeverOlderThanItSays takes a node through its life: nothing is shown before the rules are confirmed for
// the first time, a rule is in force at once, and without a quorum it is said, and after a time nothing is shown again.
func TestAPolicyIsNeverOlderThanItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agreement{away: true, changed: make(chan struct{}, 1)}
		file := filepath.Join(t.TempDir(), "confirmed")
		start := func() *Policy {
			return New(Config{Agreement: a, File: file, Disk: disk.New(), Age: time.Hour, Now: time.Now,
				Log: slog.New(slog.DiscardHandler)})
		}
		expect := func(p *Policy, what, want string) {
			t.Helper()
			if got := says(p); got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		p := start()
		expect(p, "before anything was heard", "unknown")
		run(t, p, a, time.Minute, func() {})
		expect(p, "without a leader", "unknown")
		run(t, p, a, 5*time.Second, func() { a.set(false, false) })
		expect(p, "with a leader", "allow")
		run(t, p, a, time.Millisecond, func() { a.block(t, "com,") })
		expect(p, "a rule, at once", "block")
		run(t, p, a, 5*time.Second, func() { a.set(true, false) })
		expect(p, "alone for five seconds", "block, unconfirmed")
		run(t, p, a, 5*time.Second, func() { a.set(false, true) })
		expect(p, "a catalog that cannot be read", "unknown")
		run(t, p, a, 5*time.Second, func() { a.set(false, false) })
		expect(p, "which can be read again", "block")
		a.set(true, false)
		p = start()
		expect(p, "after a restart", "block, unconfirmed")
		run(t, p, a, 50*time.Minute, func() {})
		expect(p, "alone for less than an hour", "block, unconfirmed")
		run(t, p, a, 11*time.Minute, func() {})
		expect(p, "alone for more than an hour", "unknown")
		p = start()
		expect(p, "after another restart", "unknown")
		run(t, p, a, 5*time.Second, func() { a.set(false, false) })
		expect(p, "with a leader again", "block")
		time.Sleep(10 * time.Second)
		expect(p, "when nothing runs that confirms it", "block, unconfirmed")
	})
}

// TestAClockThatWasSetBack: what was confirmed in the future is not known to be of now.
func TestAClockThatWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &agreement{changed: make(chan struct{}, 1)}
		cfg := Config{Agreement: a, File: filepath.Join(t.TempDir(), "confirmed"), Disk: disk.New(), Age: time.Hour, Now: time.Now,
			Log: slog.New(slog.DiscardHandler)}
		run(t, New(cfg), a, time.Second, func() {})
		a.set(true, false)
		cfg.Now = func() time.Time { return time.Now().Add(-48 * time.Hour) }
		if got := says(New(cfg)); got != "unknown" {
			t.Error(got)
		}
	})
}
