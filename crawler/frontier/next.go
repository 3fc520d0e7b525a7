package frontier

import (
	"container/heap"
	"context"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Next returns the next URI that may be fetched now, and waits for it if need be. It answers ErrEmpty once
// nothing is queued or in flight, ErrStopped after Stop, and the context's error.
func (f *Frontier) Next(ctx context.Context) (*URI, error) {
	for {
		if err := ctx.Err(); err != nil {
			f.signal()
			return nil, err
		}
		f.mu.Lock()
		now := f.cfg.Now()
		u, err := f.next(now)
		if u != nil || err != nil {
			if f.ready.len() > 0 || err != nil || f.keeper.IsZero() {
				f.signal()
			}
			f.mu.Unlock()
			return u, err
		}
		until, timed := f.nextWake()
		if timed && !f.keeper.IsZero() && !until.Before(f.keeper) {
			timed = false // another waiter watches the clock
		}
		if timed {
			f.keeper = until
		}
		f.mu.Unlock()
		if !timed {
			select {
			case <-ctx.Done():
			case <-f.wake:
			}
			continue
		}
		timer := time.NewTimer(until.Sub(now))
		select {
		case <-ctx.Done():
		case <-f.wake:
		case <-timer.C:
		}
		timer.Stop()
		f.mu.Lock()
		if f.keeper.Equal(until) {
			f.keeper = time.Time{}
		}
		f.mu.Unlock()
	}
}

// next is Next without the waiting: nil and no error mean that nothing is ready.
func (f *Frontier) next(now time.Time) (*URI, error) {
	if f.broken != nil {
		return nil, f.broken
	}
	if f.stopped {
		return nil, ErrStopped
	}
	if f.paused {
		return nil, nil
	}
	if len(f.batch.Attached) >= maxUncommitted {
		f.hunger()
		return nil, nil
	}
	f.awaken(now)
	for {
		q := f.ready.pop()
		if q == nil {
			break
		}
		q.listed = false
		if len(q.head) == 0 {
			if err := f.fill(q); err != nil {
				f.broken = err
				return nil, err
			}
		}
		if len(q.head) == 0 {
			if q.count > q.waiting {
				f.starve(q)
			}
			continue
		}
		u := q.pop()
		f.heads--
		q.count--
		q.inFlight[u.seq] = struct{}{}
		f.inFlight++
		return u, nil
	}
	if f.counters.Queued == 0 && f.inFlight == 0 {
		return nil, ErrEmpty
	}
	return nil, nil
}

// starve sets a queue aside until the next commit, which it needs, and asks for that.
func (f *Frontier) starve(q *queue) {
	q.listed = true
	f.starved = append(f.starved, q)
	f.hunger()
}

// maxUncommitted is how many outcomes may wait for a commit; Next waits with them.
const maxUncommitted = 2048

func (f *Frontier) hunger() {
	select {
	case f.hungry <- struct{}{}:
	default:
	}
}

// awaken moves to the ready list what has rested long enough.
func (f *Frontier) awaken(now time.Time) {
	for len(f.delayed) > 0 && f.delayed[0].u.notBefore <= now.UnixMilli() {
		d := heap.Pop(&f.delayed).(delayedURI)
		d.u.notBefore = 0
		d.q.waiting--
		d.q.push(d.u)
		f.heads++
		f.activate(d.q)
	}
	for len(f.snoozed) > 0 && !f.snoozed[0].wakeAt.After(now) {
		q := heap.Pop(&f.snoozed).(*queue)
		f.ready.push(q)
	}
}

// activate lists a queue that has URIs and nothing in flight.
func (f *Frontier) activate(q *queue) {
	if q.listed || len(q.inFlight) > 0 || q.count <= q.waiting {
		return
	}
	q.listed = true
	if q.wakeAt.After(f.cfg.Now()) {
		heap.Push(&f.snoozed, q)
	} else {
		f.ready.push(q)
	}
	f.signal()
}

// nextWake is when something that rests becomes ready.
func (f *Frontier) nextWake() (time.Time, bool) {
	var at time.Time
	if f.paused || len(f.batch.Attached) >= maxUncommitted {
		return at, false
	}
	if len(f.snoozed) > 0 {
		at = f.snoozed[0].wakeAt
	}
	if len(f.delayed) > 0 {
		if due := time.UnixMilli(f.delayed[0].u.notBefore); at.IsZero() || due.Before(at) {
			at = due
		}
	}
	return at, !at.IsZero()
}

func (f *Frontier) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Hungry tells when a commit would let a queue go on.
func (f *Frontier) Hungry() <-chan struct{} { return f.hungry }

// Pause makes Next wait; Resume ends that.
func (f *Frontier) Pause() { f.set(func() { f.paused = true }) }

// Resume ends a pause.
func (f *Frontier) Resume() { f.set(func() { f.paused = false }) }

// Stop makes Next answer ErrStopped.
func (f *Frontier) Stop() { f.set(func() { f.stopped = true }) }

func (f *Frontier) set(change func()) {
	f.mu.Lock()
	change()
	f.mu.Unlock()
	f.signal()
}

// queue returns the queue of that name, made if need be.
func (f *Frontier) queue(name string) *queue {
	q := f.queues[name]
	if q == nil {
		q = &queue{name: name, inFlight: map[uint64]struct{}{}, wakeAt: f.resumeAt}
		f.queues[name] = q
	}
	return q
}

// fill reads the next URIs of a queue from the database into its empty head. What is in flight, delayed or
// finished but not committed is passed over; what is not committed yet is not seen.
func (f *Frontier) fill(q *queue) error {
	skip := map[uint64]struct{}{}
	for _, d := range f.delayed {
		if d.q == q {
			skip[d.u.seq] = struct{}{}
		}
	}
	now := f.cfg.Now().UnixMilli()
	return f.db.View(func(txn *badger.Txn) error {
		opts := badger.DefaultIteratorOptions
		opts.PrefetchValues = false
		opts.Prefix = []byte(queuePrefix(q.name))
		it := txn.NewIterator(opts)
		defer it.Close()
		for p := byte(0); p < priorities && len(q.head) < headMax/2; p++ {
			end := []byte(queueKey(q.name, p+1, 0))
			for it.Seek([]byte(queueKey(q.name, p, q.cursor[p]+1))); it.Valid() && len(q.head) < headMax/2; it.Next() {
				item := it.Item()
				if string(item.Key()) >= string(end) {
					break
				}
				value, err := f.current(item)
				if err != nil || value == nil {
					if err != nil {
						return err
					}
					continue
				}
				u, err := decodeURI(item.Key(), value)
				if err != nil {
					return err
				}
				if f.committing == nil { // else entries with lower numbers may still appear
					q.cursor[p] = max(q.cursor[p], u.seq)
				}
				if _, busy := q.inFlight[u.seq]; busy {
					continue
				}
				if _, late := skip[u.seq]; late {
					continue
				}
				if u.notBefore > now {
					q.waiting++
					heap.Push(&f.delayed, delayedURI{u, q})
					continue
				}
				q.push(u)
				f.heads++
			}
		}
		return nil
	})
}

// current is the value of a database entry as the next commit will leave it, nil if that deletes it.
func (f *Frontier) current(item *badger.Item) ([]byte, error) {
	key := item.Key()
	for _, b := range []*Batch{f.batch, f.committing} {
		if b == nil {
			continue
		}
		if op, ok := b.ops[string(key)]; ok {
			return op.value, nil
		}
	}
	return item.ValueCopy(nil)
}
