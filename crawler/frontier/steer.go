package frontier

import (
	"context"
	"fmt"
	"time"
)

// StatusDeleted is how a URI ends that an operator deleted, as Heritrix numbers it.
const StatusDeleted = -6000

// steering changes queues while they are worked on.
type steering struct {
	*traffic
	overview *overview
}

// Freeze stops the queues that the filter chooses from giving out URIs, until Unfreeze; a queue given by name may
// still be unknown. Fetches in flight end normally. While a frozen queue has URIs, the crawl does not end. Freeze
// returns how many queues were changed.
func (f *steering) Freeze(ctx context.Context, filter QueueFilter) (int64, error) {
	return f.steer(ctx, filter, func(q *queue) bool { return change(&q.frozen, true) })
}

// Unfreeze ends that.
func (f *steering) Unfreeze(ctx context.Context, filter QueueFilter) (int64, error) {
	return f.steer(ctx, filter, func(q *queue) bool { return change(&q.frozen, false) })
}

// Retire ends the queues that the filter chooses as if their budget were spent: their URIs stay, but the crawl does not
// wait for them.
func (f *steering) Retire(ctx context.Context, filter QueueFilter) (int64, error) {
	return f.steer(ctx, filter, func(q *queue) bool { return change(&q.retired, true) })
}

// Unretire takes back Retire. A queue that has spent its total budget comes back only with a larger one.
func (f *steering) Unretire(ctx context.Context, filter QueueFilter) (int64, error) {
	return f.steer(ctx, filter, func(q *queue) bool { return change(&q.retired, false) })
}

func change[T comparable](what *T, to T) bool {
	changed := *what != to
	*what = to
	return changed
}

// Budgets are an operator's, in place of the policy's; nil leaves it to the policy.
type Budgets struct {
	Session, Total *int64 // 0: no limit
}

// Rebudget sets budgets of the queues that the filter chooses. One that spent its total budget and may now spend more
// comes back.
func (f *steering) Rebudget(ctx context.Context, filter QueueFilter, b Budgets) (int64, error) {
	return f.steer(ctx, filter, func(q *queue) bool {
		old := q.record
		q.ownSession, q.sessionBudget = b.Session != nil, 0
		if b.Session != nil {
			q.sessionBudget = max(*b.Session, 0)
		}
		q.ownTotal, q.totalBudget = b.Total != nil, 0
		if b.Total != nil {
			q.totalBudget = max(*b.Total, 0)
		}
		q.asked = 0
		return q.record != old
	})
}

// Snooze lets a queue rest until then, at least.
func (f *steering) Snooze(queue string, until time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	q, err := f.lookup(queue)
	if err != nil {
		return err
	}
	if until.After(q.wakeAt) {
		q.wakeAt = until
		f.touch(q, true)
		f.settle(q)
		f.schedule(q)
	}
	return nil
}

// Repolicy calls Config.Policy again: for an active queue when its turn comes, for all others now. It returns when it
// has treated those, and waits for commits in between.
func (f *steering) Repolicy(ctx context.Context) error {
	f.mu.Lock()
	f.policies++
	f.mu.Unlock()
	_, err := f.steer(ctx, QueueFilter{}, func(q *queue) bool {
		if f.ask(q); q.num != 0 && q.place <= worstPrecedence && int(q.place) != q.policy.Precedence {
			if active := q.active; active {
				f.deactivate(q)
			}
			f.requeue(q, byte(q.policy.Precedence))
		}
		return false
	})
	return err
}

// SetMaxActive changes how many queues take part. Queues beyond that number make room when their fetches in flight
// end.
func (f *steering) SetMaxActive(n int) {
	f.set(func() { f.cfg.MaxActive = max(n, 1) })
}

// steer calls do for each queue that the filter chooses, page by page, and settles those that it changed. Between
// pages it waits for a commit when there are too many changes for one.
func (f *steering) steer(ctx context.Context, filter QueueFilter, do func(q *queue) bool) (n int64, err error) {
	one := func(name string) error {
		q, err := f.lookup(name)
		if err != nil {
			return err
		}
		if do(q) {
			n++
			f.touch(q, true)
		}
		f.settle(q)
		f.schedule(q)
		return nil
	}
	if filter.Name != "" {
		f.mu.Lock()
		defer f.mu.Unlock()
		return n, one(filter.Name)
	}
	names := f.inMemory()
	for len(names) > 0 {
		page := names[:min(pageSize, len(names))]
		names = names[len(page):]
		if err := f.steerPage(ctx, filter, page, one); err != nil {
			return n, err
		}
	}
	err = f.pages(ctx, "h", "", func(keys []string, _ [][]byte) (bool, error) {
		for i, key := range keys {
			keys[i] = key[1:]
		}
		return true, f.steerPage(ctx, filter, keys, one)
	})
	return n, err
}

// inMemory are the names of queues that may not be committed yet.
func (f *steering) inMemory() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for _, m := range []map[string]*queue{f.queues, f.cache.young, f.cache.old} {
		for name, q := range m {
			if q.fresh || f.committing != nil && q.dirty == f.committing.number {
				names = append(names, name)
			}
		}
	}
	return names
}

func (f *steering) steerPage(ctx context.Context, filter QueueFilter, names []string,
	one func(name string) error) error {
	if err := f.room(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.signal()
	for _, name := range names {
		if filter.Pattern != nil && !filter.Pattern.MatchString(name) {
			continue
		}
		if filter.State != "" {
			info, err := f.overview.inform(name, nil)
			if err != nil {
				return err
			}
			if info == nil || info.State != filter.State {
				continue
			}
		}
		if err := one(name); err != nil {
			return err
		}
	}
	return nil
}

// room waits until the batch has room for a page.
func (f *steering) room(ctx context.Context) error {
	for {
		f.mu.Lock()
		full, broken, committed := f.full() && f.batch.weight > 0, f.broken, f.committed
		if full {
			f.hunger()
		}
		f.mu.Unlock()
		if broken != nil || !full {
			return broken
		}
		select {
		case <-committed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Delete finishes the queued URIs that the filter chooses with StatusDeleted; its After and Limit do not count. What
// attach returns for one, if not nil, is handed back with the batch; it is called with the frontier locked. URIs in
// flight stay, as do those younger than the last commit. It waits for commits when there is much.
func (f *steering) Delete(ctx context.Context, filter URIFilter, attach func(URI) any) (n int64, err error) {
	const atATime = 100
	filter.After = ""
	var page []*URI
	flush := func() error {
		if err := f.room(ctx); err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, u := range page {
			done, err := f.drop(u, attach)
			if err != nil {
				return err
			}
			if done {
				n++
			}
		}
		page = page[:0]
		f.signal()
		return nil
	}
	var failed error
	err = f.entries(ctx, filter, func(u *URI) bool {
		if page = append(page, u); len(page) == atATime {
			failed = flush()
		}
		return failed == nil
	})
	if err == nil && failed == nil {
		failed = flush()
	}
	if failed != nil {
		err = failed
	}
	return n, err
}

// drop finishes a queued URI as deleted, unless it is in flight or has another place by now.
func (f *traffic) drop(u *URI, attach func(URI) any) (bool, error) {
	fp := fingerprint(u.key())
	s, known, err := f.state(fp, u.key())
	if err != nil || !known || !s.queued || s.seq != u.seq || s.queue != u.Queue {
		return false, err
	}
	var a any
	if attach != nil {
		a = attach(*u)
	}
	return f.end(fp, s, StatusDeleted, a)
}

// end finishes a queued URI that was not fetched, and reports false if it is in flight.
func (f *traffic) end(fp fingerprintBytes, s seenState, status int, attach any) (bool, error) {
	q, err := f.lookup(s.queue)
	if err != nil {
		return false, err
	}
	u, _, err := f.withdraw(q, s)
	if u == nil || err != nil {
		return false, err
	}
	f.batch.finish(seenKey(fp), encodeDoneState(status, f.cfg.Now(), nil))
	f.count(q, u, Outcome{Kind: Disregarded})
	if attach != nil {
		f.batch.Attached = append(f.batch.Attached, attach)
	}
	f.settle(q)
	f.schedule(q)
	return true, nil
}

// Forget lets the URI known by key be as if it had never been seen: it leaves its queue, and is taken when it is found
// again. It tells whether there was one. It answers ErrInFlight while it is being fetched.
func (f *traffic) Forget(key string) (known bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fp := fingerprint(key)
	s, known, err := f.state(fp, key)
	if err != nil || !known {
		return false, err
	}
	if s.queued {
		q, err := f.lookup(s.queue)
		if err != nil {
			return false, err
		}
		u, _, err := f.withdraw(q, s)
		if err != nil {
			return false, err
		}
		if u == nil {
			return false, fmt.Errorf("forget %s: %w", key, ErrInFlight)
		}
		f.counters.Discovered--
		f.counters.Queued--
		f.settle(q)
		f.schedule(q)
	}
	f.seen.remove(fp)
	f.batch.delete(seenKey(fp))
	f.batch.weight++
	f.forgotten.Add(1) // last: who read the number before may have added the URI before
	f.signal()
	return true, nil
}

// Forgotten is how many URIs were forgotten since the frontier was opened. A URI that was added after the number was
// read is known to the frontier as long as the number is the same.
func (f *store) Forgotten() uint64 { return f.forgotten.Load() }

// Never finishes the URI known by key with a status, without fetching it: it leaves its queue, and is not taken when it
// is found. How it ended already stays. It answers ErrInFlight while it is being fetched.
func (f *traffic) Never(key string, status int, attach any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.signal()
	fp := fingerprint(key)
	s, known, err := f.state(fp, key)
	switch {
	case err != nil || known && !s.queued:
		return err
	case known:
		done, err := f.end(fp, s, status, attach)
		if err == nil && !done {
			err = fmt.Errorf("end %s: %w", key, ErrInFlight)
		}
		return err
	}
	f.batch.finish(seenKey(fp), encodeDoneState(status, f.cfg.Now(), nil))
	f.know(fp)
	f.counters.Discovered++
	f.counters.Finished++
	f.counters.Disregarded++
	if attach != nil {
		f.batch.Attached = append(f.batch.Attached, attach)
	}
	return nil
}

// Promote moves the queued URI known by key to the front of the high-priority URIs that are not fetched yet. It
// answers ErrNotQueued if the URI is not queued.
func (f *traffic) Promote(key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	fp := fingerprint(key)
	s, known, err := f.state(fp, key)
	if err != nil {
		return err
	}
	if !known || !s.queued {
		return fmt.Errorf("promote %s: %w", key, ErrNotQueued)
	}
	_, err = f.raise(fp, s, min(s.priority, High))
	f.signal()
	return err
}
