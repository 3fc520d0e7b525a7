package frontier

import (
	"fmt"
	"slices"
	"time"
)

// longRest is the rest from which on a queue makes room for one that waits.
const longRest = time.Minute

// roster is the queues: those in memory, and in which order all of them come.
type roster struct {
	*store
	queues   map[string]*queue // active, or with URIs in flight
	cache    cache             // records of other queues
	ready    fifo
	snoozed  wakeHeap
	starved  []*queue // their URIs are not committed yet
	heads    int      // URIs in all queues' heads
	inFlight int
	index    index
	longest  longest
	policies uint64    // raised by Repolicy
	swept    time.Time // when queues were last put to sleep
	paused   bool
	stopped  bool
	resumeAt time.Time
	wake     chan struct{} // something became ready
	hungry   chan struct{} // a commit would help
}

// lookup returns the queue of that name, made if need be.
func (f *roster) lookup(name string) (*queue, error) {
	if q := f.queues[name]; q != nil {
		return q, nil
	}
	if q := f.cache.get(name); q != nil {
		return q, nil
	}
	q := &queue{name: name, pauses: pauses{wakeAt: f.resumeAt}, unwritten: unwritten{fresh: true}}
	v, ok, err := f.get("h" + name)
	if err != nil {
		return nil, err
	}
	if ok {
		if q.record, err = decodeRecord(v); err != nil {
			return nil, fmt.Errorf("queue %s: %w", name, err)
		}
		q.fresh = false
		if at := time.UnixMilli(q.wake); at.After(q.wakeAt) {
			q.wakeAt = at
		}
	}
	f.remember(q)
	return q, nil
}

// remember puts a queue into the cache. What drops out for it and is to be written becomes part of the batch.
func (f *roster) remember(q *queue) {
	for _, old := range f.cache.put(q) {
		if old.dirty == f.batch.number {
			f.batch.record(old, f.cfg.Now())
			old.gone = true
		}
	}
}

// touch marks the queue's record to be written with the batch.
func (f *roster) touch(q *queue, hard bool) {
	if q.fresh && !q.counted {
		q.counted = true
		f.known++
	}
	if q.dirty != f.batch.number {
		q.dirty, q.hard = f.batch.number, false
		f.batch.touched = append(f.batch.touched, q)
	}
	if hard && !q.hard {
		q.hard = true
		f.batch.weight += 3
	}
}

// pin keeps a queue in memory.
func (f *roster) pin(q *queue) {
	if f.queues[q.name] == nil {
		f.queues[q.name] = q
		f.cache.remove(q.name)
	}
}

// unpin lets go of a queue that is not active, once nothing of it is in flight.
func (f *roster) unpin(q *queue) {
	if !q.active && len(q.inFlight) == 0 && f.queues[q.name] != nil {
		delete(f.queues, q.name)
		f.remember(q)
	}
}

// retires reports whether nothing more may be spent.
func (q *queue) retires() bool {
	return q.retired || q.policy.TotalBudget > 0 && q.spent >= q.policy.TotalBudget
}

// over reports whether an active queue has to make room.
func (f *roster) over(q *queue) bool {
	if int(f.index.active) > f.cfg.MaxActive {
		return true
	}
	return q.policy.SessionBudget > 0 && q.session >= q.policy.SessionBudget && f.index.inactive() > 0
}

// settle moves a queue to the place that follows from its content and its budget.
func (f *roster) settle(q *queue) {
	if q.count == 0 {
		f.deactivate(q)
		f.unplace(q)
		return
	}
	f.ask(q)
	f.tell(q)
	switch {
	case q.frozen:
		f.move(q, placeFrozen)
	case q.retires():
		f.move(q, placeRetired)
	case q.num != 0 && q.place <= worstPrecedence:
	case q.num != 0 && q.place == placeSleeping && q.rested().After(f.cfg.Now()):
	default:
		f.move(q, byte(q.policy.Precedence))
	}
	// Where others wait, too, the turn is by the index.
	if q.place <= worstPrecedence && !q.active && int(f.index.active) < f.cfg.MaxActive && f.index.inactive() == 1 {
		f.activate(q)
	}
}

// tell names in the batch a queue that its budget retires, once, until the budget lets it continue.
func (f *roster) tell(q *queue) {
	over := q.retires()
	switch {
	case over == q.told, over && (q.frozen || q.retired):
		return
	case over:
		f.batch.Retired = append(f.batch.Retired, q.name)
	}
	q.told = over
	f.touch(q, true)
}

// move gives a queue the last turn at a place, unless it is there.
func (f *roster) move(q *queue, place byte) {
	if q.num != 0 && q.place == place {
		return
	}
	f.requeue(q, place)
}

func (f *roster) requeue(q *queue, place byte) {
	if place > worstPrecedence {
		f.deactivate(q)
	}
	f.unplace(q)
	f.index.turn++
	f.put(q, place, f.index.turn)
}

func (f *roster) put(q *queue, place byte, num uint64) {
	q.place, q.num = place, num
	f.index.add(place, 1)
	f.batch.ops[indexKey(place, num, q.name)] = op{value: []byte{version},
		fresh: place != placeSleeping} // a time may come twice
	f.touch(q, false)
}

func (f *roster) unplace(q *queue) {
	if q.num == 0 {
		return
	}
	f.batch.delete(indexKey(q.place, q.num, q.name))
	f.index.add(q.place, -1)
	q.place, q.num = 0, 0
	f.touch(q, true)
}

// activate lets a queue that waits take part.
func (f *roster) activate(q *queue) {
	f.pin(q)
	q.active, q.session, q.cursor, q.edge = true, 0, q.low, edge{}
	f.index.active++
	f.schedule(q)
}

// deactivate ends that. What the queue holds in memory is in the database too.
func (f *roster) deactivate(q *queue) {
	if !q.active {
		return
	}
	q.active = false
	f.index.active--
	f.unlist(q)
	q.low = q.cursor
	lower := func(priority byte, seq uint64) { q.low[priority] = min(q.low[priority], seq-1) }
	for _, list := range [][]*URI{q.head, q.late} {
		for _, u := range list {
			lower(u.Priority, u.seq)
		}
	}
	for seq, priority := range q.inFlight {
		lower(priority, seq)
	}
	f.heads -= len(q.head)
	q.head, q.late = nil, nil
	f.touch(q, true)
	f.unpin(q)
}

// demote moves an active queue to the end of the waiting queues.
func (f *roster) demote(q *queue) {
	f.deactivate(q)
	f.requeue(q, byte(q.policy.Precedence))
}

// sleep lets an active queue make room until then.
func (f *roster) sleep(q *queue, until time.Time) {
	f.deactivate(q)
	f.unplace(q)
	num := uint64(until.UnixMilli())
	f.put(q, placeSleeping, num)
	f.batch.sleeper(num)
	if x := &f.index; x.sleepNext == 0 || num < x.sleepNext {
		x.sleepNext = num
	}
	f.index.sleepFrom = min(f.index.sleepFrom, num)
}

// refill makes queues active that wait, while there is room.
func (f *roster) refill() error {
	const atATime = 64
	f.sweep()
	for int(f.index.active) < f.cfg.MaxActive && f.index.inactive() > 0 && !f.index.exhausted {
		found, err := f.index.nextWaiting(f.view, min(atATime, f.cfg.MaxActive-int(f.index.active)))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			f.index.exhausted = true
			f.hunger()
		}
		for _, e := range found {
			q, err := f.lookup(e.name)
			if err != nil {
				return err
			}
			if q.num != e.num || q.place != e.place || q.active {
				continue // it has another place by now
			}
			f.ask(q)
			if f.settle(q); !q.active && q.place == e.place {
				f.activate(q)
			}
		}
		if f.ready.len() > 0 {
			return nil // the rest at the next time
		}
	}
	return nil
}

// sweep puts active queues to sleep that rest for long while others wait. Once in a while will do.
func (f *roster) sweep() {
	now := f.cfg.Now()
	if int(f.index.active) < f.cfg.MaxActive || f.index.inactive() == 0 || now.Sub(f.swept) < longRest {
		return
	}
	f.swept = now
	for _, q := range slices.Clone(f.snoozed) {
		if len(q.inFlight) == 0 && q.at.Sub(now) > longRest {
			f.sleep(q, q.at)
		}
	}
}

// rouse moves sleeping queues that are due to the waiting queues.
func (f *roster) rouse(now time.Time) error {
	const atATime = 256
	at := uint64(now.UnixMilli())
	if next := f.index.sleepNext; next == 0 || next > at {
		return nil
	}
	pending := f.batch.firstSleeper
	if c := f.committing; c != nil && c.firstSleeper != 0 && (pending == 0 || c.firstSleeper < pending) {
		pending = c.firstSleeper
	}
	due, err := f.index.awake(f.view, at, pending, atATime)
	if err != nil {
		return err
	}
	for _, e := range due {
		q, err := f.lookup(e.name)
		if err != nil {
			return err
		}
		if q.num == e.num && q.place == placeSleeping {
			f.ask(q)
			f.requeue(q, byte(q.policy.Precedence))
			f.settle(q)
		}
	}
	if len(due) == 0 && f.index.sleepNext != 0 && f.index.sleepNext <= at {
		f.hunger() // it is not committed yet
		f.index.sleepNext = at + 100
	}
	return nil
}
