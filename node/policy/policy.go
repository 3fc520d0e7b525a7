// Package policy keeps the access rules by which a node answers its readers: those that the catalog has, and how long
// ago it was known that these are the agreed ones. Without that, nobody is shown anything.
package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/access"
	"holdfast/catalog"
	"holdfast/catalog/rules"
	"holdfast/internal/disk"
)

// Agreement is the agreed state, as this node has it.
type Agreement interface {
	View(see func(catalog.View) error) error
	// Linear returns when View sees all that was committed before the call.
	Linear(ctx context.Context) error
}

// Config is what a Policy needs.
type Config struct {
	Agreement Agreement
	File      string // keeps when the rules were last confirmed, over a restart
	Disk      disk.Disk
	// Age is how long readers are answered by rules that nobody confirms.
	Age time.Duration
	Now func() time.Time
	Log *slog.Logger
}

// How often the rules are confirmed, and how long that may take. A rule is in force on each node that hears the others
// as soon as it is agreed; on one that does not, it is known after the sum of both that it may not be.
const (
	Every   = 2 * time.Second
	patient = 2 * time.Second
	again   = 200 * time.Millisecond // the pause after an attempt that failed, as those of a node that starts do
	noteAt  = 30 * time.Second       // the least time between two writes of the file
)

// Policy gives the rules in force. It may be used concurrently.
type Policy struct {
	Config
	now   atomic.Pointer[standing]
	noted time.Time
}

// standing is a policy and when it was confirmed.
type standing struct {
	rules     access.InForce
	state     rules.State
	confirmed time.Time // zero: never
	alone     bool      // the last attempt to confirm it failed
	err       error     // why the rules could not be read
}

// ErrUnknown reports that this node does not know the rules, or has not known for too long whether they are the agreed
// ones.
var ErrUnknown = errors.New("the access rules are not known here")

// New returns the policy as the node knew it when it was last running: until Run confirms it, it counts as unconfirmed.
func New(cfg Config) *Policy {
	p := &Policy{Config: cfg}
	first := &standing{alone: true, err: errors.New("they were not read yet")}
	if text, err := os.ReadFile(cfg.File); err == nil {
		if at, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text))); err == nil {
			first.confirmed = at
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		cfg.Log.Warn("it is not known when the access rules were last confirmed", "error", err)
	}
	p.now.Store(first)
	p.read()
	return p
}

// InForce returns the rules by which readers are to be answered now. The error wraps ErrUnknown.
func (p *Policy) InForce() (access.InForce, error) {
	s := p.now.Load()
	switch {
	case s.err != nil:
		return access.InForce{}, fmt.Errorf("%w: %w", ErrUnknown, s.err)
	case s.confirmed.IsZero():
		return access.InForce{}, fmt.Errorf("%w: this node has not heard yet which are agreed", ErrUnknown)
	}
	out, now := s.rules, p.Now()
	age := max(now.Sub(s.confirmed), now.Round(0).Sub(s.confirmed.Round(0))) // while a machine sleeps one of them stops
	if !s.alone && age <= 2*(Every+patient) {
		return out, nil
	}
	if age > p.Age || now.Round(0).Before(s.confirmed.Round(0).Add(-time.Minute)) {
		return access.InForce{}, fmt.Errorf("%w: they were last confirmed at %s", ErrUnknown,
			s.confirmed.UTC().Format(time.RFC3339))
	}
	out.Unconfirmed = s.confirmed
	return out, nil
}

// Run keeps the rules in step with the catalog until ctx ends. changed reports that rules may have changed.
func (p *Policy) Run(ctx context.Context, changed <-chan struct{}) error {
	for {
		p.confirm(ctx)
		pause := Every
		if p.now.Load().alone {
			pause = again
		}
		next := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			next.Stop()
			return ctx.Err()
		case <-changed:
			p.read() // at once, whatever a leader says
		case <-next.C:
		}
		next.Stop()
	}
}

// confirm asks whether this node has seen all that is agreed, reads the rules then, and notes the time.
func (p *Policy) confirm(ctx context.Context) {
	began := p.Now()
	asking, cancel := context.WithTimeout(ctx, patient)
	err := p.Agreement.Linear(asking)
	cancel()
	p.read()
	next := *p.now.Load()
	if err == nil && next.err == nil {
		next.confirmed, next.alone = began, false
	} else {
		next.alone = true
	}
	before := p.now.Swap(&next)
	switch {
	case ctx.Err() != nil:
	case next.alone && !before.alone:
		p.Log.Warn("nobody confirms the access rules: readers are answered by the last ones", "error",
			errors.Join(err, next.err), "for", p.Age)
	case !next.alone && before.alone:
		p.Log.Info("the access rules are confirmed", "rules", next.state.Count)
	}
	if !next.alone && (before.alone || began.Sub(p.noted) >= noteAt) {
		p.note(began)
	}
}

// note keeps over a restart when the rules were confirmed.
func (p *Policy) note(at time.Time) {
	text := at.UTC().Format(time.RFC3339) + "\n"
	err := p.Disk.WriteFile(p.File, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
	if err != nil {
		p.Log.Warn("it is not kept when the access rules were confirmed", "error", err)
		return
	}
	p.noted = at
}

// read reads the rules if they have changed since they were read.
func (p *Policy) read() {
	next := *p.now.Load()
	err := p.Agreement.View(func(v catalog.View) error {
		of := catalog.RulesIn(v)
		state, err := of.State()
		if err != nil || next.err == nil && state == next.state {
			return err
		}
		policy, all, err := of.Policy()
		if err != nil {
			return err
		}
		ready := access.InForce{Compiled: policy.Compile()}
		for i := range all {
			ready.Numbers = append(ready.Numbers, all[i].Number)
		}
		next.rules, next.state = ready, state
		return nil
	})
	if err != nil {
		p.Log.Error("the access rules cannot be read: readers are refused", "error", err)
	}
	next.err = err
	p.now.Store(&next)
}
