package replica

import (
	"context"
	"slices"
	"time"
)

// How often it is asked whether an audit is due, and how many that somebody asked for are carried out at once.
const (
	auditEvery   = time.Minute
	auditsAtOnce = 4
)

// runAudits carries out the audits that should run, a few at once, and begins those that are due. One that is due by
// itself waits while somebody waits for another, and outside the hours.
func (r *auditor) runAudits(ctx context.Context) error {
	w := auditWork{auditor: r, ended: make(chan auditEnd), active: map[string]bool{}, waits: map[string]auditWait{}}
	defer func() { // ctx has ended, and with it all that is at work
		for len(w.active) > 0 {
			delete(w.active, (<-w.ended).id)
		}
	}()
	for {
		w.beginDue(time.Now())
		timer := time.NewTimer(w.begin(ctx, time.Now()))
		select {
		case <-r.audits.wake:
		case <-timer.C:
		case e := <-w.ended:
			w.end(ctx, e)
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// auditWork is what runAudits has under way.
type auditWork struct {
	*auditor
	ended  chan auditEnd
	active map[string]bool      // ids of audits that are carried out
	waits  map[string]auditWait // those that failed to go on
	asked  time.Time            // when it was last asked what is due
}

type auditEnd struct {
	id  string
	err error
}

type auditWait struct {
	tries int
	until time.Time
}

// beginDue begins the audits that are due by themselves, unless one of the kind has not ended.
func (w *auditWork) beginDue(now time.Time) {
	if !w.asked.IsZero() && now.Sub(w.asked) < auditEvery {
		return
	}
	w.asked = now
	if w.presenceDue(now) {
		if _, err := w.startAudit(nil, &Audit{Scheduled: true, Kind: AuditPresence}); err != nil {
			w.log.Error("the look at all copies that is due cannot be begun", "err", err)
		}
	}
	if draw, err := w.challengesDue(); err != nil {
		w.log.Error("challenges that are due cannot be begun", "err", err)
	} else if draw != 0 {
		_, err := w.startAudit(nil, &Audit{Scheduled: true, Kind: AuditChallenge,
			Challenges: Challenges{Draw: draw, Share: w.cfg.Challenges}})
		if err != nil {
			w.log.Error("challenges that are due cannot be begun", "err", err)
		}
	}
	for _, one := range w.Audits() {
		if !one.State.Ended() && one.State != AuditPaused && one.kind() == AuditChecksum &&
			(one.Scheduled || one.Scope.All()) {
			return
		}
	}
	due, err := w.duties.Audits()
	if due = w.audits.rested(due, now); err == nil && (len(due) > 0 || w.outboxDue(now)) {
		_, err = w.startAudit(due, &Audit{Scheduled: true, Outbox: w.outboxDue(now)})
	}
	if err != nil {
		w.log.Error("due audits cannot be begun", "err", err)
	}
}

// begin lets audits go to work whose turn it is, and takes those off whose turn it is no more. It returns when to look
// again.
func (w *auditWork) begin(ctx context.Context, now time.Time) time.Duration {
	pause := auditEvery
	byHand, busy := false, 0
	var scheduled []*Audit
	for _, one := range w.audits.runnable() {
		wait := w.waits[one.ID]
		switch left := wait.until.Sub(now); {
		case w.active[one.ID] && one.Scheduled:
			scheduled = append(scheduled, one)
		case w.active[one.ID]:
			byHand = true
			busy++
		case left > 0:
			pause = min(pause, left)
			byHand = byHand || !one.Scheduled
		case one.Scheduled:
			scheduled = append(scheduled, one)
		default:
			byHand = true
			if busy < auditsAtOnce {
				busy++
				w.start(ctx, one)
			}
		}
	}
	slices.SortStableFunc(scheduled, func(a, b *Audit) int { return a.haste() - b.haste() })
	open := !byHand && (w.cfg.AuditHours == nil || w.cfg.AuditHours(now))
	for i, one := range scheduled {
		if turn := open && i == 0; turn && !w.active[one.ID] {
			w.start(ctx, one)
		} else if !turn {
			w.audits.interrupt(one.ID)
		}
	}
	return pause
}

// haste orders the audits that are due by themselves: short ones do not wait for one that goes on for weeks.
func (one *Audit) haste() int {
	return slices.Index([]AuditKind{AuditPresence, AuditChallenge, AuditChecksum}, one.kind())
}

func (w *auditWork) start(ctx context.Context, one *Audit) {
	w.active[one.ID] = true
	go func() { w.ended <- auditEnd{one.ID, w.audit(ctx, one)} }()
}

// end notes that an audit is not at work any more: it has ended or rests, or it could not go on.
func (w *auditWork) end(ctx context.Context, e auditEnd) {
	delete(w.active, e.id)
	if e.err == nil || ctx.Err() != nil {
		delete(w.waits, e.id)
		return
	}
	tries := w.waits[e.id].tries + 1
	w.waits[e.id] = auditWait{tries, time.Now().Add(backoff(tries, time.Second, auditEvery))}
	w.log.Warn("audit waits", "audit", e.id, "err", e.err)
}

// runnable returns the audits that are to run, the oldest first.
func (a *audits) runnable() (all []*Audit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.all {
		if one.State == AuditRunning {
			all = append(all, one)
		}
	}
	return all
}

// interrupt lets an audit that is at work rest where it is.
func (a *audits) interrupt(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if stop := a.now[id]; stop != nil {
		stop()
	}
}
