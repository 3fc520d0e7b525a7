package chain

import (
	"context"
	"time"

	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/pace"
	"holdfast/crawler/plan"
	"holdfast/harvest"
)

// Pacer lets crawls take turns at a host, those on other machines among them.
type Pacer interface {
	// Admit tells whether the host may be asked now, or when to try again. If it may, it counts as being asked until
	// Done.
	Admit(host string) pace.Grant
	// Done ends one request; nobody may ask the host for that time after it.
	Done(host string, rest time.Duration)
}

// Turn is the stage that has a URI wait for its turn at its host: for a slot of it within this crawl, and for this
// crawl's turn among others.
type Turn struct {
	frontier *frontier.Frontier
	slots    *hosts.Turns
	pacer    Pacer // nil: the crawl is alone
	servers  *hosts.Servers
}

// held are the turns that a visit has.
type held struct {
	factor int      // by which its host's rests are longer; 0: its host was not asked for
	names  []string // in this crawl
	at     string   // the host that it has a turn at among crawls
}

// run waits, as the URI's queue, for the URI's turn at the host.
func (t *Turn) run(_ context.Context, v *Visit) (Step, error) {
	if v.Host != "" {
		return Next, nil
	}
	if ok, wait := t.Take(v); !ok {
		t.frontier.Return(v.URI, wait)
		return Again, nil
	}
	return Next, nil
}

// Take asks for the host once, and tells how long to wait where it may not be asked now. A crawl whose politeness is
// off takes no turns with others.
func (t *Turn) Take(v *Visit) (ok bool, wait time.Duration) {
	names := turnNames(v)
	if wait := t.slots.Admit(names, v.Set.HostValence, time.Now()); wait > 0 {
		return false, wait
	}
	v.turn.names, v.turn.factor = names, 1
	if t.pacer == nil || !Polite(v) {
		return true, 0
	}
	host := plan.AuthorityOf(v.Target)
	g := t.pacer.Admit(host)
	if g.Wait > 0 {
		v.turn.factor = 0
		t.End(v)
		return false, g.Wait
	}
	v.turn.factor, v.turn.at = max(g.Factor, 1), host
	return true, 0
}

// await waits until the visit has its turn; false if ctx ended first.
func (t *Turn) await(ctx context.Context, v *Visit) bool {
	for {
		ok, wait := t.Take(v)
		if ok {
			return true
		}
		if !Pause(ctx, wait) {
			return false
		}
	}
}

// Polite tells whether the settings ask for pauses.
func Polite(v *Visit) bool { return v.Set.MinDelay > 0 || v.Set.DelayFactor > 0 }

// End gives the host back, which then rests as the settings demand. A second call does nothing.
func (t *Turn) End(v *Visit) {
	if len(v.turn.names) == 0 {
		return
	}
	rest := t.Politeness(v)
	if v.turn.at != "" {
		t.pacer.Done(v.turn.at, rest)
	}
	t.slots.Done(v.turn.names, rest, time.Now())
	v.turn.names, v.turn.at = nil, ""
}

// Release gives back all that a visit holds.
func (t *Turn) Release(v *Visit) {
	t.End(v)
	if v.Page.Leave != nil {
		v.Page.Leave()
	}
	if v.Exchange != nil {
		v.Exchange.Release()
	}
}

// Politeness is how long the queue has to rest after the visit.
func (t *Turn) Politeness(v *Visit) time.Duration {
	if v.Exchange == nil {
		return 0
	}
	s := v.Set
	wait := time.Duration(float64(v.Exchange.Duration) * s.DelayFactor)
	wait = min(max(wait, s.MinDelay.Std()), s.MaxDelay.Std())
	if s.Robots == harvest.RobotsObey || s.Robots == harvest.RobotsSome {
		wait = max(wait, min(t.servers.Delay(v.Target, s.RobotsAgent()), s.MaxCrawlDelay.Std()))
	}
	if after := v.Exchange.RetryAfter; after > 0 && (v.Status == 429 || v.Status == 503) {
		wait = max(wait, min(after, s.MaxRetryAfter.Std()))
	}
	return wait * time.Duration(max(v.turn.factor, 1))
}

// turnNames returns the names at which a request takes its turn: its host, whichever queue it is in, and the queue's
// own name.
func turnNames(v *Visit) []string {
	names := []string{plan.AuthorityOf(v.Target)}
	if queue := plan.QueueOf(v.Target, v.Set); queue != names[0] {
		names = append(names, "queue "+queue)
	}
	if v.Set.QueueBy == plan.QueueByIP && len(v.Addrs) > 0 {
		names = append(names, "address "+v.Addrs[0].String())
	}
	return names
}

// Pause waits, and reports false if ctx ended first.
func Pause(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
