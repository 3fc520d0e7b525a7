package crawler

import (
	"context"
	"time"

	"holdfast/crawler/pace"
)

// Pacer lets crawls take turns at a host, those on other machines among them.
type Pacer interface {
	// Admit tells whether the host may be asked now, or when to try again. If it may, it counts as being asked until Done.
	Admit(host string) pace.Grant
	// Done ends one asking; nobody is to ask the host for so long after it.
	Done(host string, rest time.Duration)
}

// takeTurn waits, as the URI's queue, for this crawl's turn at the host.
func (w *worker) takeTurn(_ context.Context, v *visit) (step, error) {
	if v.host != "" {
		return next, nil
	}
	if ok, wait := w.turn(v); !ok {
		w.frontier.Return(v.uri, wait)
		return again, nil
	}
	return next, nil
}

// turn asks for the host once. A crawl whose politeness is off does not take part.
func (w *worker) turn(v *visit) (ok bool, wait time.Duration) {
	if w.cfg.Pacer == nil || v.set.MinDelay == 0 && v.set.DelayFactor == 0 {
		return true, 0
	}
	g := w.cfg.Pacer.Admit(v.target.Authority)
	if g.Wait > 0 {
		return false, g.Wait
	}
	v.factor = max(g.Factor, 1)
	return true, 0
}

// endTurn gives the host back, to rest as the settings ask for.
func (w *worker) endTurn(v *visit) {
	if v.factor > 0 {
		w.cfg.Pacer.Done(v.target.Authority, w.politeness(v))
		v.factor = 0
	}
}
