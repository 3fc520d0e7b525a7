package frontier

import (
	"time"
)

// Finish ends a URI that Next or Claim returned, and adds the URIs that were found in it. It returns how many of
// these are new.
func (f *traffic) Finish(u *URI, o Outcome, found []URI) (added int, err error) {
	prints := make([]fingerprintBytes, len(found))
	for i := range found {
		found[i].tidy()
		prints[i] = fingerprint(found[i].key())
	}
	fp := fingerprint(u.key())
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queues[u.Queue]
	for i, n := range found {
		isNew, err := f.add(n, prints[i])
		if err != nil {
			return added, err
		}
		if isNew {
			added++
		}
	}
	f.batch.delete(queueKey(u.Queue, u.Priority, u.seq))
	f.batch.finish(seenKey(fp), encodeDoneState(o.Status, f.cfg.Now(), o.Record))
	for i := range o.Again {
		if err := f.again(&o.Again[i]); err != nil {
			return added, err
		}
	}
	f.uncount(q, u)
	f.count(q, u, o)
	if o.Attach != nil {
		f.batch.Attached = append(f.batch.Attached, o.Attach)
	}
	if o.Kind != Disregarded {
		q.spend(u.Cost)
	}
	q.status = o.Status
	q.paced = q.paced || o.Fetched && u.Host != Lookups || o.Wait > 0
	f.leave(q, u, o.Wait)
	return added, nil
}

// again queues a URI that is finished; one that waits, or is in flight, stays as it is.
func (f *traffic) again(u *URI) error {
	u.tidy()
	fp := fingerprint(u.key())
	s, known, err := f.state(fp, u.key())
	if err != nil || !known || s.queued {
		return err
	}
	return f.rediscover(u, fp)
}

// count takes an outcome into the figures.
func (f *store) count(q *queue, u *URI, o Outcome) {
	f.counters.Queued--
	f.counters.Finished++
	f.counters.Bytes += o.Bytes
	switch o.Kind {
	case Succeeded:
		f.counters.Succeeded++
	case Failed:
		f.counters.Failed++
	default:
		f.counters.Disregarded++
	}
	q.ends.count(o, f.cfg.Now())
	h := &q.host
	if u.Host != "" {
		h = &f.batch.host(u.Host).Host
		if o.Fetched {
			q.otherURLs++
			q.otherBytes += o.Bytes
		}
	}
	h.count(o)
}

// leave ends u's being in flight; the slot that it had rests for wait.
func (f *traffic) leave(q *queue, u *URI, wait time.Duration) {
	delete(q.inFlight, u.seq)
	f.inFlight--
	q.rest(f.cfg.Now(), wait)
	f.settle(q)
	f.unpin(q)
	f.schedule(q)
	f.signal()
}

// Retry gives back a URI that Next returned, to be tried again after delay. If whole, the host itself does not
// answer, and the whole queue waits; otherwise only the URI waits, and the queue continues after wait.
func (f *traffic) Retry(u *URI, delay, wait time.Duration, whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.retry(f.queues[u.Queue], u, delay, wait, whole)
}

// Later is Retry for a URI whose answer is kept, although it is not the last: of the outcome, its bytes count, and what
// is attached is handed back with the batch.
func (f *traffic) Later(u *URI, o Outcome, delay time.Duration, whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counters.Bytes += o.Bytes
	if o.Attach != nil {
		f.batch.Attached = append(f.batch.Attached, o.Attach)
	}
	f.retry(f.queues[u.Queue], u, delay, o.Wait, whole)
}

func (f *traffic) retry(q *queue, u *URI, delay, wait time.Duration, whole bool) {
	now := f.cfg.Now()
	q.tried(u, wait)
	u.notBefore = 0
	if !whole && delay > 0 {
		u.notBefore = now.Add(delay).UnixMilli()
	}
	key := queueKey(u.Queue, u.Priority, u.seq)
	f.batch.set(key, encodeURI(u))
	f.touch(q, true)
	f.putBack(q, u)
	if whole && now.Add(delay).After(q.wakeAt) {
		q.wakeAt = now.Add(delay)
	}
	f.leave(q, u, wait)
}

// tried notes that a try of u failed and that its slot is to rest for wait.
func (q *queue) tried(u *URI, wait time.Duration) {
	u.Tries++
	if u.Status != 0 {
		q.status = u.Status
	}
	if u.Status < 0 {
		q.ends.unanswered++
	}
	q.spend(u.Cost)
	q.paced = q.paced || wait > 0
}

// Return puts a URI that Next gave back as it was: it was not tried.
func (f *traffic) Return(u *URI, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queues[u.Queue]
	f.putBack(q, u)
	f.leave(q, u, wait)
}

// putBack gives a queue a URI of its own back. An inactive queue finds it in the database when its turn comes.
func (f *traffic) putBack(q *queue, u *URI) {
	switch {
	case !q.active:
		q.low[u.Priority] = min(q.low[u.Priority], u.seq-1)
		f.touch(q, true)
	case u.notBefore > f.cfg.Now().UnixMilli():
		q.delay(u)
	default:
		q.push(u)
		f.heads++
	}
}

// Defer puts a URI that Next gave back until another has been fetched: that goes to the front of the same queue, even
// if it was fetched before, or waits where it would not come. Where it is on its way already, the slot waits a little
// and asks again.
func (f *traffic) Defer(u *URI, first URI) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queues[u.Queue]
	first.Queue, first.Priority = u.Queue, Prerequisite
	first.tidy()
	fp := fingerprint(first.key())
	s, known, err := f.state(fp, first.key())
	if err != nil {
		return err
	}
	f.putBack(q, u)
	wait := time.Duration(0)
	_, busy := q.inFlight[s.seq]
	switch {
	case known && s.queued && (s.priority != Prerequisite || s.queue != u.Queue):
		from, err := f.lookup(s.queue)
		if err != nil {
			return err
		}
		f.ask(from)
		if s.priority == Prerequisite && (from.frozen || !from.retires()) {
			if wait = min(max(from.rested().Sub(f.cfg.Now()), deferWait), longDeferWait); from.frozen {
				wait = longDeferWait
			}
			break
		}
		old, key, err := f.withdraw(from, s)
		if err != nil {
			return err
		}
		if old == nil {
			wait = deferWait
			break
		}
		first.Tries = old.Tries
		f.enqueue(q, &first, fp, key)
		f.settle(from)
		f.schedule(from)
	case known && s.queued && busy:
		wait = deferWait
	case known && s.queued:
	default:
		f.discover(q, &first, fp)
	}
	f.leave(q, u, wait)
	return nil
}

// How long a slot waits for a prerequisite that is on its way, and at most for one whose queue waits.
const (
	deferWait     = 200 * time.Millisecond
	longDeferWait = 10 * time.Second
)

// Claim takes a URI out of its queue as Next would, whatever its position, and adds it first if it is not known. It
// returns nil if the URI is finished, or in flight.
func (f *traffic) Claim(u URI) (*URI, error) {
	u.tidy()
	f.mu.Lock()
	defer f.mu.Unlock()
	fp := fingerprint(u.key())
	s, known, err := f.state(fp, u.key())
	if err != nil {
		return nil, err
	}
	if known && !s.queued {
		return nil, nil
	}
	if !known {
		if _, err := f.add(u, fp); err != nil {
			return nil, err
		}
		if s, _, err = f.state(fp, u.key()); err != nil {
			return nil, err
		}
	}
	q, err := f.lookup(s.queue)
	if err != nil {
		return nil, err
	}
	if _, busy := q.inFlight[s.seq]; busy {
		return nil, nil
	}
	out, _, err := f.entry(s)
	if err != nil {
		return nil, err
	}
	if q.remove(s.seq) {
		f.heads--
	}
	f.take(q, out)
	f.schedule(q)
	return out, nil
}

// take puts a URI in flight.
func (f *traffic) take(q *queue, u *URI) {
	if q.inFlight == nil {
		q.inFlight = map[uint64]byte{}
	}
	q.inFlight[u.seq] = u.Priority
	f.inFlight++
	f.pin(q)
}
