package frontier

import "strings"

// Limits on what is held in memory.
const (
	headMax  = 256    // of one queue
	headsMax = 200000 // of all queues
)

// traffic is what brings URIs into queues, and what becomes of them.
type traffic struct{ *roster }

// Add puts a URI into its queue unless it is known already, and reports whether it did.
func (f *traffic) Add(u URI) (bool, error) {
	u.tidy()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.add(u, fingerprint(u.key()))
}

// Force puts a URI into its queue although it may be known: one that is finished is fetched again, one that is queued
// moves up to the priority given if that is more urgent. It reports whether it did either. A URI in flight stays as it
// is.
func (f *traffic) Force(u URI) (bool, error) {
	u.tidy()
	f.mu.Lock()
	defer f.mu.Unlock()
	fp := fingerprint(u.key())
	s, known, err := f.state(fp, u.key())
	if err != nil {
		return false, err
	}
	if known && s.queued {
		if s.priority <= u.Priority {
			return false, nil
		}
		return f.raise(fp, s, u.Priority)
	}
	return true, f.rediscover(&u, fp)
}

// rediscover queues a finished URI as if it were new.
func (f *traffic) rediscover(u *URI, fp fingerprintBytes) error {
	q, err := f.lookup(u.Queue)
	if err != nil {
		return err
	}
	f.discover(q, u, fp)
	return nil
}

// tidy brings the fields with a default into one form.
func (u *URI) tidy() {
	if u.Key == u.URL {
		u.Key = ""
	}
	if strings.HasPrefix(u.URL, Lookups) {
		u.Host = Lookups
	}
	if u.Host == u.Queue {
		u.Host = ""
	}
	u.Cost, u.Priority = max(u.Cost, 0), min(u.Priority, Normal)
	if len(u.Led) > MaxLed {
		u.Led = ""
	}
}

func (f *traffic) add(u URI, fp fingerprintBytes) (bool, error) {
	if f.seen.has(fp) {
		return false, nil
	}
	if !f.filter.isNew(fp) {
		_, known, err := f.state(fp, u.key())
		if err != nil {
			return false, err
		}
		if known {
			f.seen.put(fp)
			return false, nil
		}
	}
	q, err := f.lookup(u.Queue)
	if err != nil {
		return false, err
	}
	f.discover(q, &u, fp)
	return true, nil
}

// know marks a URI as known. Whatever gives a URI that was not known a state has to call it.
func (f *store) know(fp fingerprintBytes) {
	f.seen.put(fp)
	f.filter.put(fp)
}

// discover queues a URI that counts as new.
func (f *traffic) discover(q *queue, u *URI, fp fingerprintBytes) {
	f.know(fp)
	f.counters.Discovered++
	f.counters.Queued++
	f.enqueue(q, u, fp, "")
}

// enqueue gives u its place in its queue. Where it moves from another place, replaced is the key of that.
func (f *traffic) enqueue(q *queue, u *URI, fp fingerprintBytes, replaced string) {
	f.seq++
	u.seq = f.seq
	seen := seenKey(fp)
	// What this commit ends, forgets or moves and then queues is written with that, or it would be there twice.
	before, changed := f.batch.ops[seen]
	late := replaced != "" && queueOf(replaced) != u.Queue ||
		changed && (before.late || before.value == nil || isDone(before.value))
	f.batch.ops[seen] = op{value: encodeQueuedState(u), late: late}
	o := op{value: encodeURI(u), fresh: true, late: late, entry: &entry{seen: seen, host: u.Host, replaces: replaced}}
	f.batch.ops[queueKey(u.Queue, u.Priority, u.seq)] = o
	if late {
		f.batch.weight += 3
		f.batch.bytes += len(o.value)
	}
	q.count++
	f.longest.put(q.name, q.count)
	if u.Host != "" {
		q.hosted++
		f.batch.host(u.Host).remaining++
	}
	if u.Priority != Prerequisite && q.some == "" {
		q.some = u.URL
	}
	f.touch(q, late || replaced != "")
	f.settle(q)
	if q.active {
		f.insert(q, u)
		f.schedule(q)
	}
}

// insert adds u to its queue's head if it belongs there: all that waits is in memory and there is room, or u comes
// before all that is not. A prerequisite always does: what waits for it may be all that the head has.
func (f *roster) insert(q *queue, u *URI) {
	if whole := len(q.head)+len(q.late) == q.queued()-1; whole {
		if len(q.head) < headMax && f.heads < headsMax {
			q.push(u)
			f.heads++
			return
		}
		q.edge = edge{}
		if n := len(q.head); n > 0 {
			q.edge = edge{q.head[n-1].Priority, q.head[n-1].seq}
		}
	}
	if u.Priority == Prerequisite || q.edge.has(u) {
		q.push(u)
		f.heads++
		f.trim(q)
	}
}

// trim has the last of a head that is too long, to which more urgent ones were added, lie in the database alone.
func (f *roster) trim(q *queue) {
	n := len(q.head)
	if n <= headMax || q.head[n-2].Priority == Prerequisite {
		return
	}
	last := q.head[n-1]
	q.head[n-1] = nil
	q.head = q.head[:n-1]
	f.heads--
	q.cursor[last.Priority] = min(q.cursor[last.Priority], last.seq-1)
	q.edge = edge{q.head[n-2].Priority, q.head[n-2].seq}
}

// raise moves a queued URI to a more urgent priority and reports whether it did: one in flight stays.
func (f *traffic) raise(fp fingerprintBytes, s seenState, priority byte) (bool, error) {
	q, err := f.lookup(s.queue)
	if err != nil {
		return false, err
	}
	u, key, err := f.withdraw(q, s)
	if u == nil || err != nil {
		return false, err
	}
	u.Priority, u.notBefore = priority, 0
	f.enqueue(q, u, fp, key)
	return true, nil
}

// withdraw takes a queued URI out of its queue, or returns nil if it is in flight. Its state and the counters are
// the caller's to change, and then to settle the queue. The key is that of its entry in the database, if it has one.
func (f *traffic) withdraw(q *queue, s seenState) (*URI, string, error) {
	if _, busy := q.inFlight[s.seq]; busy {
		return nil, "", nil
	}
	u, key, err := f.entry(s)
	if err != nil {
		return nil, "", err
	}
	if old, cancelled := f.batch.delete(key); cancelled {
		key = old.entry.replaces
	}
	f.uncount(q, u)
	if q.remove(s.seq) {
		f.heads--
	}
	return u, key, nil
}

// entry reads the entry of a queued URI.
func (f *store) entry(s seenState) (*URI, string, error) {
	key := queueKey(s.queue, s.priority, s.seq)
	v, ok, err := f.get(key)
	if err != nil {
		return nil, "", err
	}
	if !ok {
		return nil, "", missing(key)
	}
	u, err := decodeURI([]byte(key), v)
	return u, key, err
}

// uncount takes a URI out of its queue's and host's counts.
func (f *roster) uncount(q *queue, u *URI) {
	q.count--
	f.longest.put(q.name, q.count)
	if u.Host != "" {
		q.hosted--
		f.batch.host(u.Host).remaining--
	}
	f.touch(q, true)
}
