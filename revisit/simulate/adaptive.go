package simulate

import (
	"container/heap"

	"holdfast/revisit"
)

// adaptive is the policy adaptive, with its queues in memory.
type adaptive struct {
	world  *World
	policy *revisit.Adaptive
	hosts  [hostCount]*hostQueues
	list   []*revisit.Host
	uris   []uri
	turn   revisit.Turn // that went last
}

type uri struct {
	state  revisit.State
	place  revisit.Place
	placed bool
	since  int // number of its place in a queue: entries of other numbers do not count
}

type hostQueues struct {
	*revisit.Host
	fresh   []timed
	classes map[revisit.Class][]timed
	dated   byTime
	price   float64 // at which the dated were planned
}

func newAdaptive(w *World, settings revisit.Settings) (*adaptive, error) {
	policy, err := revisit.NewAdaptive(settings)
	if err != nil {
		return nil, err
	}
	a := &adaptive{world: w, policy: policy, uris: make([]uri, len(w.items))}
	for h := range a.hosts {
		a.hosts[h] = &hostQueues{Host: revisit.NewHost(), classes: map[revisit.Class][]timed{}}
		a.list = append(a.list, a.hosts[h].Host)
	}
	return a, nil
}

func (a *adaptive) hostOf(id int) *hostQueues { return a.hosts[a.world.items[id].host] }

func (a *adaptive) found(id int, t float64) {
	it, u := &a.world.items[id], &a.uris[id]
	kinds := map[form]revisit.Kind{image: revisit.Image, hub: revisit.Hub, feed: revisit.Feed, sitemap: revisit.Sitemap}
	u.state = a.policy.NewState(kinds[it.form], millis(t), t > 0, 1)
	h := a.hostOf(id)
	h.fresh = append(h.fresh, timed{due: t, last: t, id: id, number: u.since})
	a.firstNew(h)
}

func (a *adaptive) firstNew(h *hostQueues) {
	if len(h.fresh) == 0 {
		h.SetNext(revisit.New, 0, 0, false)
		return
	}
	h.SetNext(revisit.New, millis(h.fresh[0].due), millis(h.fresh[0].due), true)
}

func (a *adaptive) firstDated(h *hostQueues) {
	for len(h.dated) > 0 && a.stale(h.dated[0]) {
		heap.Pop(&h.dated)
	}
	if len(h.dated) == 0 {
		h.SetNext(revisit.Dated, 0, 0, false)
		return
	}
	h.SetNext(revisit.Dated, millis(h.dated[0].due), millis(h.dated[0].last), true)
}

func (a *adaptive) firstOf(h *hostQueues, c revisit.Class) {
	q := h.classes[c]
	for len(q) > 0 && a.stale(q[0]) {
		q = q[1:]
	}
	if h.classes[c] = q; len(q) == 0 {
		delete(h.classes, c)
		a.policy.SetHead(h.Host, c, 0, false)
		return
	}
	a.policy.SetHead(h.Host, c, millis(q[0].last), true)
}

// stale reports whether the URI of an entry is in another place by now.
func (a *adaptive) stale(e timed) bool { return a.uris[e.id].since != e.number }

func (a *adaptive) next(t float64, free func(int) bool) (int, bool) {
	now := millis(t)
	var best *hostQueues
	var turn revisit.Turn
	least := 0.0
	for i, h := range a.hosts {
		if !free(i) {
			continue
		}
		turns, n := h.Turns(now)
		for _, candidate := range turns[:n] {
			if rank, ok := a.policy.Rank(now, candidate); ok && (best == nil || rank < least) {
				best, turn, least = h, candidate, rank
			}
		}
	}
	if best == nil {
		return 0, false
	}
	var taken timed
	switch turn.Queue {
	case revisit.New:
		taken = best.fresh[0]
		best.fresh = best.fresh[1:]
		a.firstNew(best)
	case revisit.Dated:
		taken = heap.Pop(&best.dated).(timed)
	default:
		q := best.classes[turn.Class]
		taken = q[0]
		best.classes[turn.Class] = q[1:]
	}
	u := &a.uris[taken.id]
	u.since++
	a.turn = turn
	if turn.Queue == revisit.Dated {
		a.firstDated(best)
	} else if turn.Queue == revisit.Classed {
		a.firstOf(best, turn.Class)
	}
	a.policy.Went(now, turn, u.state.Called())
	return taken.id, true
}

func (a *adaptive) visited(id int, t float64, seen visit) {
	u, h := &a.uris[id], a.hostOf(id)
	v := revisit.Visit{At: millis(t), Change: revisit.Unchanged, Similarity: seen.similarity,
		Links: seen.links, Hints: seen.hints}
	if seen.text || seen.first {
		v.Change = revisit.Changed
	}
	if seen.modified >= 0 {
		v.Modified = millis(seen.modified)
	}
	var from *revisit.Place
	if u.placed {
		from = &u.place
	}
	u.place, u.placed = a.policy.Visited(&u.state, h.Host, from, v), true
	u.since++
	e := timed{last: t, id: id, number: u.since}
	if u.place.Dated {
		e.due = days(u.place.Due)
		heap.Push(&h.dated, e)
		a.firstDated(h)
	} else {
		h.classes[u.place.Class] = append(h.classes[u.place.Class], e)
		a.firstOf(h, u.place.Class)
	}
}

func days(ms int64) float64 { return float64(ms-epoch) / 86_400_000 }

func (a *adaptive) hint(id int, date, t float64) {
	u, h := &a.uris[id], a.hostOf(id)
	if !u.placed || !a.policy.Hint(&u.state, h.Host, millis(date), millis(t)) {
		return
	}
	was := u.place
	now := a.policy.Place(u.state, h.Host)
	u.place.Dated, u.place.Due = true, now.Due
	u.since++
	heap.Push(&h.dated, timed{due: days(now.Due), last: days(u.state.Last), id: id, number: u.since})
	a.firstDated(h)
	if !was.Dated {
		a.firstOf(h, was.Class)
	}
}

// hour makes the price again. What is due at a time of its own is planned again where the price has moved by a seventh.
func (a *adaptive) hour(t float64) {
	for _, h := range a.hosts {
		h.Capacity = 86400 / 2.3
	}
	a.policy.Reprice(millis(t), a.list)
	for _, h := range a.hosts {
		price := a.policy.PriceOf(h.Host)
		if h.price > 0 && price < h.price*1.15 && price > h.price/1.15 {
			continue
		}
		h.price = price
		for i := range h.dated {
			u := &a.uris[h.dated[i].id]
			if a.stale(h.dated[i]) || u.state.Called() {
				continue
			}
			h.dated[i].due = days(a.policy.Place(u.state, h.Host).Due)
			u.place.Due = millis(h.dated[i].due)
		}
		heap.Init(&h.dated)
		a.firstDated(h)
	}
}
