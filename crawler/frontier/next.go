package frontier

import (
	"container/heap"
	"context"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Next returns the next URI that may be fetched now, and waits for it if need be. It answers ErrEmpty once
// nothing is in flight and nothing queued but in retired queues, ErrStopped after Stop, and the context's error.
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
	if f.full() {
		f.hunger()
		return nil, nil
	}
	f.awaken(now)
	err := f.rouse(now)
	for err == nil {
		if err = f.refill(); err != nil { // again when a queue made room
			break
		}
		q := f.ready.pop()
		if q == nil {
			break
		}
		var u *URI
		if u, err = f.give(q, now); u != nil {
			return u, nil
		}
	}
	if err != nil {
		f.broken = err
		return nil, err
	}
	if f.index.live() == 0 && f.inFlight == 0 {
		return nil, ErrEmpty
	}
	return nil, nil
}

// give takes the next URI of a queue that was ready, if it still is.
func (f *Frontier) give(q *queue, now time.Time) (*URI, error) {
	f.ask(q)
	if f.settle(q); !q.active { // its policy may be another
		return nil, nil
	}
	if at, ok := q.next(); !ok || at.After(now) || f.over(q) {
		f.schedule(q)
		return nil, nil
	}
	if len(q.head) == 0 && q.queued() > len(q.late) {
		if err := f.fill(q); err != nil {
			return nil, err
		}
	}
	f.heads += q.due(now)
	if len(q.head) == 0 {
		if q.queued() > len(q.late) {
			f.starve(q)
		} else {
			f.schedule(q)
		}
		return nil, nil
	}
	if f.cfg.Admit != nil {
		if wait := f.cfg.Admit(q.name, now); wait > 0 {
			q.wakeAt = now.Add(wait)
			f.schedule(q)
			return nil, nil
		}
	}
	u := q.pop()
	f.heads--
	f.take(q, u)
	q.start(now)
	f.schedule(q)
	return u, nil
}

// starve sets a queue aside until the next commit, which it needs, and asks for that.
func (f *roster) starve(q *queue) {
	q.list = inStarved
	f.starved = append(f.starved, q)
	f.hunger()
}

// Limits on what one commit finishes: all that has to be in one transaction.
const (
	maxUncommitted = 4096    // outcomes; Next waits for a commit then
	maxWeight      = 24_000  // entries
	weightInFlight = 6       // entries that the end of a URI may change
	maxLastBytes   = 2 << 20 // of entries
)

// full reports whether a commit has to come before anything else.
func (f *roster) full() bool {
	b := f.batch
	return len(b.Attached) >= maxUncommitted || b.weight+weightInFlight*f.inFlight >= maxWeight ||
		b.bytes >= maxLastBytes
}

func (f *roster) hunger() {
	select {
	case f.hungry <- struct{}{}:
	default:
	}
}

// awaken moves to the ready list what has rested long enough.
func (f *roster) awaken(now time.Time) {
	for len(f.snoozed) > 0 && !f.snoozed[0].at.After(now) {
		f.ready.push(heap.Pop(&f.snoozed).(*queue))
	}
}

// schedule lists an active queue by when it may give a URI out.
func (f *roster) schedule(q *queue) {
	if !q.active || q.list == inStarved {
		return
	}
	if f.over(q) {
		if f.unlist(q); len(q.inFlight) == 0 {
			f.demote(q)
		}
		return
	}
	now := f.cfg.Now()
	at, ok := q.next()
	switch {
	case !ok:
		f.unlist(q)
		return
	case !at.After(now):
		if q.list != inReady {
			f.unlist(q)
			f.ready.push(q)
		}
	case at.Sub(now) > longRest && f.index.inactive() > 0 && len(q.inFlight) == 0:
		f.sleep(q, at)
	default:
		if q.list == inReady {
			f.ready.remove(q)
		}
		f.snoozed.put(q, at)
	}
	f.signal()
}

// unlist takes a queue out of the list it is in.
func (f *roster) unlist(q *queue) {
	switch q.list {
	case inReady:
		f.ready.remove(q)
	case inSnoozed:
		f.snoozed.remove(q)
	case inStarved:
		for i, s := range f.starved {
			if s == q {
				f.starved = append(f.starved[:i], f.starved[i+1:]...)
				break
			}
		}
	}
	q.list = nowhere
}

// nextWake is when something that rests becomes ready.
func (f *roster) nextWake() (time.Time, bool) {
	var at time.Time
	if f.paused || f.full() {
		return at, false
	}
	if len(f.snoozed) > 0 {
		at = f.snoozed[0].at
	}
	if next := f.index.sleepNext; next != 0 {
		if t := time.UnixMilli(int64(next)); at.IsZero() || t.Before(at) {
			at = t
		}
	}
	return at, !at.IsZero()
}

func (f *roster) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Hungry returns a channel that receives when a commit would let a queue continue.
func (f *Frontier) Hungry() <-chan struct{} { return f.hungry }

// Pause makes Next wait; Resume ends that.
func (f *Frontier) Pause() { f.set(func() { f.paused = true }) }

// Resume ends a pause.
func (f *Frontier) Resume() { f.set(func() { f.paused = false }) }

// Stop makes Next answer ErrStopped.
func (f *Frontier) Stop() { f.set(func() { f.stopped = true }) }

func (f *roster) set(change func()) {
	f.mu.Lock()
	change()
	f.mu.Unlock()
	f.signal()
}

// fill reads the next URIs of an active queue from the database into its empty head. It skips URIs that are in
// flight, delayed, or finished but not committed, and does not see URIs that are not committed yet.
func (f *roster) fill(q *queue) error {
	limit := headMax / 2
	if f.heads > headsMax {
		limit = headMax / 16
	}
	skip := map[uint64]struct{}{}
	for _, u := range q.late {
		skip[u.seq] = struct{}{}
	}
	now := f.cfg.Now().UnixMilli()
	opts := badger.DefaultIteratorOptions
	opts.PrefetchValues = false
	opts.Prefix = []byte(queuePrefix(q.name))
	it := f.view.NewIterator(opts)
	defer it.Close()
	for p := byte(0); p < priorities && len(q.head) < limit; p++ {
		end := []byte(queueKey(q.name, p+1, 0))
		for it.Seek([]byte(queueKey(q.name, p, q.cursor[p]+1))); it.Valid() && len(q.head) < limit; it.Next() {
			item := it.Item()
			if string(item.Key()) >= string(end) {
				break
			}
			value, err := f.current(item)
			if err != nil {
				return err
			}
			if value == nil {
				continue
			}
			u, err := decodeURI(item.Key(), value)
			if err != nil {
				return err
			}
			q.cursor[p] = max(q.cursor[p], u.seq) // what is not seen yet has higher numbers
			q.edge = edge{p, u.seq}
			_, busy := q.inFlight[u.seq]
			_, late := skip[u.seq]
			switch {
			case busy || late:
			case u.notBefore > now:
				q.delay(u)
			default:
				q.push(u)
				f.heads++
			}
		}
	}
	return nil
}

// current is the value of a database entry as the next commit will leave it, nil if that deletes it.
func (f *store) current(item *badger.Item) ([]byte, error) {
	for _, b := range []*Batch{f.batch, f.committing} {
		if b == nil {
			continue
		}
		if op, ok := b.ops[string(item.Key())]; ok {
			return op.value, nil
		}
	}
	return item.ValueCopy(nil)
}
