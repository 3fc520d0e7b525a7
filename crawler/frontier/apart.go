package frontier

import (
	"strings"
	"time"
)

// RetryApart is Retry for a URI whose site does not answer: the rest of its queue continues after wait. If the rest
// may belong to other sites, the URI moves to the named queue, which waits, and RetryApart returns true. site is the
// beginning of the URLs of the same site.
func (f *traffic) RetryApart(u *URI, queue, site string, delay, wait time.Duration) (moved bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queues[u.Queue]
	if u.Queue == queue || q.only(site) {
		f.retry(q, u, delay, wait, true)
		return false, nil
	}
	q.tried(u, wait)
	return true, f.transfer(q, u, queue, delay, wait)
}

// Move puts a URI that Next gave into another queue; it was not tried.
func (f *traffic) Move(u *URI, queue string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.transfer(f.queues[u.Queue], u, queue, 0, 0)
}

// transfer moves a URI in flight to another queue, which waits for delay at least; the slot that it had rests for wait.
func (f *traffic) transfer(q *queue, u *URI, name string, delay, wait time.Duration) error {
	to, err := f.lookup(name)
	if err != nil {
		return err
	}
	key := queueKey(u.Queue, u.Priority, u.seq)
	if old, cancelled := f.batch.delete(key); cancelled {
		key = old.entry.replaces
	}
	f.uncount(q, u)
	if until := f.cfg.Now().Add(delay); delay > 0 && until.After(to.wakeAt) {
		to.wakeAt = until
	}
	there := *u
	there.Queue, there.notBefore = name, 0
	if there.Host == "" {
		there.Host = u.Queue
	}
	there.tidy()
	f.enqueue(to, &there, fingerprint(u.key()), key)
	f.touch(to, true)
	f.leave(q, u, wait)
	return nil
}

// only tells whether all that waits in the queue is certain to be of one site, prerequisites apart.
func (q *queue) only(site string) bool {
	if q.queued() != len(q.head)+len(q.late) {
		return false
	}
	for _, list := range [][]*URI{q.head, q.late} {
		for _, u := range list {
			if !strings.HasPrefix(u.URL, site) && u.Priority != Prerequisite {
				return false
			}
		}
	}
	return true
}
