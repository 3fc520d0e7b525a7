package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// When challenges that were not answered rightly are asked again: how often it is looked for them, the first pause and
// the longest, that of one which this node could not ask for, how often each, and how many of one audit.
const (
	againEvery   = 30 * time.Second
	againFirst   = time.Minute
	againLongest = 6 * time.Hour
	againFailed  = 10 * time.Minute
	againMost    = 40
	askedAgain   = 1000
)

// UnansweredFor is how long a challenge may be refused or late before somebody should know: until then it is asked
// again a few times, as a node that starts or stops refuses what it would answer a minute later.
const UnansweredFor = 15 * time.Minute

// again asks once more for what was not answered rightly by audits that have ended, until it is, or a later audit has
// asked for all copies, not for a part or a sample of them.
type again struct{ *auditor }

func (a *again) run(ctx context.Context) error {
	if a.sums != nil {
		return nil
	}
	for {
		if err := sleep(ctx, againEvery); err != nil {
			return err
		}
		for _, one := range a.due(time.Now()) {
			if err := a.round(ctx, one); err != nil && ctx.Err() == nil {
				a.log.Warn("challenges could not be asked again", "audit", one.ID, "err", err)
			}
		}
	}
}

// due returns the audits with challenges that are to be asked again now.
func (a *again) due(now time.Time) (out []*Audit) {
	open := a.cfg.AuditHours == nil || a.cfg.AuditHours(now)
	a.audits.mu.Lock()
	defer a.audits.mu.Unlock()
	for _, one := range slices.Backward(a.audits.all) {
		if one.kind() != AuditChallenge || !one.State.Ended() || one.State == AuditStopped {
			continue
		}
		if (open || !one.Scheduled) && slices.ContainsFunc(one.Unanswered, func(u Unanswered) bool {
			return u.due(now)
		}) {
			out = append(out, one)
		}
		if one.AskedAll() {
			break
		}
	}
	return out
}

// AskedAll reports whether challenges of all copies that this node examines have ended: what earlier ones did not find
// out is not to be found out any more. Those of a part or of a sample say nothing about the rest.
func (one *Audit) AskedAll() bool {
	return one.kind() == AuditChallenge && one.State.Ended() && one.State != AuditStopped && one.Scope.All() &&
		one.Scope.Replica == "" && (one.Share <= 0 || one.Share >= 1)
}

// due reports whether the challenge is to be asked again now. A clock that was set back does not put it off.
func (u *Unanswered) due(now time.Time) bool {
	return u.Settled.IsZero() && !u.Next.IsZero() && (!now.Before(u.Next) || u.Next.Sub(now) > againLongest)
}

// round asks for what is due of one audit, and keeps what became of it.
func (a *again) round(ctx context.Context, one *Audit) error {
	var draw files.Draw
	err := a.catalog.View(func(v catalog.View) (err error) { draw, err = drawOf(v, one.Draw); return err })
	if errors.Is(err, errDraw) { // the next draw has been made, and the one after: nobody would answer
		a.audits.update(func() {
			for i := range one.Unanswered {
				one.Unanswered[i].Next = time.Time{}
			}
		})
		return a.audits.keepKnown(one)
	}
	if err != nil {
		return err
	}
	e := &examining{auditor: a.auditor, audit: &Audit{ID: one.ID, Challenges: Challenges{Draw: one.Draw}}, draw: draw,
		silent: map[catalog.NodeID]error{}}
	changed := false
	var failed error                // the first that there is
	for i := range one.Unanswered { // of an audit that has ended, nobody else changes them
		u := one.Unanswered[i]
		if !u.due(time.Now()) {
			continue
		}
		is, err := e.find(ctx, target{file: catalog.File{Name: u.Name}, replica: u.Replica})
		switch {
		case ctx.Err() != nil:
			return errors.Join(err, a.audits.keepKnown(one))
		case err != nil: // of this file nothing is known now; the others do not wait for it
			failed = cmp.Or(failed, fmt.Errorf("%s: %w", u.Name, err))
			a.audits.update(func() { one.Unanswered[i].Next = time.Now().Add(againFailed) })
		default:
			a.audits.update(func() { changed = one.settle(i, is, time.Now()) || changed })
		}
	}
	if err := a.audits.keepKnown(one); err != nil {
		return err
	}
	if changed {
		a.noteChecks(ctx, one.ID)
	}
	return failed
}

// keepKnown is keep for an audit that may have been forgotten meanwhile: its state is not written again.
func (a *audits) keepKnown(one *Audit) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.all, one) {
		return nil
	}
	return a.save(one)
}

// settle notes how a challenge ended that was asked again, and reports whether what is known of the copy has changed.
// The caller holds the lock of the audits.
func (one *Audit) settle(i int, is examined, now time.Time) (changed bool) {
	u := &one.Unanswered[i]
	u.Tries++
	u.Next = now.Add(backoff(u.Tries+1, againFirst, againLongest))
	if u.Tries >= againMost {
		u.Next = time.Time{}
	}
	size := is.file.Size
	switch {
	case is.gone, is.outcome == "" && !is.owed:
		u.Settled, u.Moot, u.Next = now, is.gone, time.Time{}
		if !is.gone && u.Outcome != AnswerWrong {
			one.Answered++
		}
		of := one.Asked[u.Replica]
		one.count(u.Outcome, u.Replica, 0, -1) // of what the catalog is told; the audit itself keeps what it found
		is := one.Asked[u.Replica]
		one.count(u.Outcome, u.Replica, 0, 1)
		if one.Asked[u.Replica] = is; !u.Moot {
			one.asked(u.Replica, 1, 0, 0)
		}
		return one.Asked[u.Replica] != of
	case is.owed: // the node has found out itself, and it is repaired; then it is asked again
		return false
	case u.Outcome == AnswerWrong && is.outcome != AnswerWrong: // that nobody answers now takes nothing back
		return false
	case is.outcome != u.Outcome:
		one.count(u.Outcome, u.Replica, size, -1)
		one.count(is.outcome, u.Replica, size, 1)
		changed = true
	}
	u.Outcome, u.Why, u.Node = is.outcome, is.why, is.node
	return changed
}
