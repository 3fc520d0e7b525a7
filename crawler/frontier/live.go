package frontier

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// State is the state of a queue.
type State string

// The states of queues.
const (
	Ready    State = "ready"
	Snoozed  State = "snoozed"  // rests
	Busy     State = "busy"     // all its slots have a URI
	Empty    State = "empty"    // nothing is queued
	Inactive State = "inactive" // waits for its turn
	Retired  State = "retired"  // its budget is spent, or an operator said so
	Frozen   State = "frozen"
)

// Order is how queues are listed.
type Order string

// The orders.
const (
	ByName      Order = "name"
	ByRemaining Order = "remaining" // most first
	BySpent     Order = "spent"     // most first
)

// QueueFilter chooses queues; an empty field chooses all.
type QueueFilter struct {
	Name    string // exactly
	Pattern *regexp.Regexp
	State   State
	Sort    Order // default ByName
	Limit   int   // default 1 000
}

// QueueInfo describes a queue.
type QueueInfo struct {
	Name          string
	State         State
	Remaining     int64 // queued, delayed and in flight
	InFlight      int
	Spent         int64
	SessionSpent  int64
	SessionBudget int64
	TotalBudget   int64
	Precedence    int
	WakeAt        time.Time // zero if it does not rest
	Status        int       // the last
	URLs, Bytes   int64     // fetched

	Failed, Disregarded int64     // URIs
	Robots              int64     // the part of the disregarded that robots.txt forbids
	Unanswered          int64     // tries that brought no answer
	LastSuccess         time.Time // zero if there was none
}

// pageSize is how many entries are looked at with the frontier locked.
const pageSize = 500

// overview counts the queues by state.
type overview struct{ *roster }

// Queues lists the queues that the filter chooses. It reads the frontier in pages while the crawl continues: a queue
// that is newer than the last commit may be missing.
func (f *overview) Queues(ctx context.Context, filter QueueFilter) ([]QueueInfo, error) {
	limit := filter.Limit
	if limit <= 0 {
		limit = 1000
	}
	order := func(a, b QueueInfo) int {
		switch filter.Sort {
		case ByRemaining:
			return cmp.Or(cmp.Compare(b.Remaining, a.Remaining), cmp.Compare(a.Name, b.Name))
		case BySpent:
			return cmp.Or(cmp.Compare(b.Spent, a.Spent), cmp.Compare(a.Name, b.Name))
		}
		return cmp.Compare(a.Name, b.Name)
	}
	var out []QueueInfo
	byName := filter.Sort != ByRemaining && filter.Sort != BySpent
	err := f.eachQueue(ctx, filter, func(infos []QueueInfo) bool {
		out = append(out, infos...)
		if !byName && len(out) > 2*limit+pageSize {
			slices.SortFunc(out, order)
			out = slices.Clip(out[:limit])
		}
		return !byName || len(out) < limit
	})
	slices.SortFunc(out, order)
	return out[:min(limit, len(out))], err
}

// eachQueue calls do for each queue that the filter chooses, some at a time and in the order of their names, until do
// returns false.
func (f *overview) eachQueue(ctx context.Context, filter QueueFilter, do func([]QueueInfo) bool) error {
	if filter.Name != "" {
		f.mu.Lock()
		info, err := f.inform(filter.Name, nil)
		f.mu.Unlock()
		if err == nil && info != nil && filter.chooses(info) {
			do([]QueueInfo{*info})
		}
		return err
	}
	return f.pages(ctx, "h", "", func(keys []string, values [][]byte) (bool, error) {
		var infos []QueueInfo
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, key := range keys {
			if filter.Pattern != nil && !filter.Pattern.MatchString(key[1:]) {
				continue
			}
			info, err := f.inform(key[1:], values[i])
			if err != nil {
				return false, err
			}
			if filter.chooses(info) {
				infos = append(infos, *info)
			}
		}
		return do(infos), nil
	})
}

func (filter *QueueFilter) chooses(info *QueueInfo) bool {
	return (filter.State == "" || info.State == filter.State) &&
		(filter.Pattern == nil || filter.Pattern.MatchString(info.Name))
}

// peek is lookup for one who only looks; stored is the queue's record as it was committed, nil if that is to be read.
// It returns nil if there is no such queue.
func (f *roster) peek(name string, stored []byte) (*queue, error) {
	if q := f.queues[name]; q != nil {
		return q, nil
	}
	if q := f.cache.peek(name); q != nil {
		return q, nil
	}
	key := "h" + name
	v, ok := f.uncommitted(key)
	if !ok && stored != nil {
		v, ok = stored, true
	}
	if !ok {
		var err error
		if v, ok, err = f.get(key); err != nil || !ok {
			return nil, err
		}
	}
	r, err := decodeRecord(v)
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", name, err)
	}
	return &queue{name: name, record: r, pauses: pauses{wakeAt: time.UnixMilli(r.wake)}}, nil
}

// inform describes a queue, as peek finds it; nil if there is none.
func (f *overview) inform(name string, stored []byte) (*QueueInfo, error) {
	q, err := f.peek(name, stored)
	if q == nil || err != nil {
		return nil, err
	}
	f.ask(q)
	now := f.cfg.Now()
	info := &QueueInfo{Name: name, State: f.stateOf(q, now), Remaining: q.count, InFlight: len(q.inFlight),
		Spent: q.spent, SessionSpent: q.session,
		SessionBudget: q.policy.SessionBudget, TotalBudget: q.policy.TotalBudget, Precedence: q.policy.Precedence,
		Status: q.status, URLs: q.host.URLs + q.otherURLs, Bytes: q.host.Bytes + q.otherBytes}
	info.Failed, info.Disregarded, info.Robots, info.Unanswered = q.ends.failed, q.ends.disregarded, q.ends.robots,
		q.ends.unanswered
	if q.ends.last > 0 {
		info.LastSuccess = time.Unix(q.ends.last, 0)
	}
	if at, ok := q.next(); ok && at.After(now) {
		info.WakeAt = at
	} else if at := q.rested(); at.After(now) {
		info.WakeAt = at
	}
	if q.num != 0 && q.place == placeSleeping {
		info.WakeAt = time.UnixMilli(int64(q.num))
	}
	return info, nil
}

// uncommitted is a key's value in the batches.
func (f *store) uncommitted(key string) ([]byte, bool) {
	for _, b := range []*Batch{f.batch, f.committing} {
		if b == nil {
			continue
		}
		if op, ok := b.ops[key]; ok && op.value != nil {
			return op.value, true
		}
	}
	return nil, false
}

func (f *roster) stateOf(q *queue, now time.Time) State {
	switch {
	case q.frozen:
		return Frozen
	case q.retires():
		return Retired
	case q.count == 0:
		return Empty
	case q.num != 0 && q.place == placeSleeping:
		return Snoozed
	case !q.active:
		return Inactive
	}
	at, ok := q.next()
	switch {
	case !ok:
		return Busy
	case at.After(now):
		return Snoozed
	}
	return Ready
}

// pages calls do with the committed entries under a prefix, some at a time, from the key after on.
func (f *store) pages(ctx context.Context, prefix, after string, do func(keys []string, values [][]byte) (bool,
	error)) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		var keys []string
		var values [][]byte
		err := f.db.View(func(txn *badger.Txn) error {
			opts := badger.DefaultIteratorOptions
			opts.PrefetchSize = 100
			opts.Prefix = []byte(prefix)
			it := txn.NewIterator(opts)
			defer it.Close()
			for it.Seek([]byte(max(after, prefix))); it.Valid() && len(keys) < pageSize; it.Next() {
				key := string(it.Item().Key())
				if key == after {
					continue
				}
				value, err := it.Item().ValueCopy(nil)
				if err != nil {
					return err
				}
				keys, values = append(keys, key), append(values, value)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("read frontier: %w", err)
		}
		if len(keys) == 0 {
			return nil
		}
		after = keys[len(keys)-1]
		if more, err := do(keys, values); err != nil || !more {
			return err
		}
	}
}

// URIFilter chooses queued URIs; an empty field chooses all.
type URIFilter struct {
	Name  string         // of the queue, exactly
	Queue *regexp.Regexp // the queue's name
	URI   *regexp.Regexp
	After string // where an earlier listing ended
	Limit int    // default 1 000
}

// URIs lists queued URIs, including those in flight, queue by queue in the order in which they will be fetched. The
// list continues at next, "" at the end. URIs newer than the last commit are missing.
func (f *store) URIs(ctx context.Context, filter URIFilter) (uris []URI, next string, err error) {
	limit := filter.Limit
	if limit <= 0 {
		limit = 1000
	}
	err = f.entries(ctx, filter, func(u *URI) bool {
		if len(uris) == limit {
			last := &uris[limit-1]
			next = base64.RawURLEncoding.EncodeToString([]byte(queueKey(last.Queue, last.Priority, last.seq)))
			return false
		}
		uris = append(uris, *u)
		return true
	})
	return uris, next, err
}

// Each calls do for each queued URI, until it returns false. URIs newer than the last commit are missing.
func (f *store) Each(ctx context.Context, do func(u *URI) bool) error {
	return f.entries(ctx, URIFilter{}, do)
}

// entries calls do, with the frontier unlocked, for each committed entry that the filter chooses and that still is
// there.
func (f *store) entries(ctx context.Context, filter URIFilter, do func(u *URI) bool) error {
	prefix := "q"
	if filter.Name != "" {
		prefix = queuePrefix(filter.Name)
	}
	after, err := base64.RawURLEncoding.DecodeString(filter.After)
	if err != nil {
		return fmt.Errorf("list URIs after %q: %w", filter.After, ErrCursor)
	}
	return f.pages(ctx, prefix, string(after), func(keys []string, values [][]byte) (bool, error) {
		var chosen []*URI
		for i, key := range keys {
			u, err := decodeURI([]byte(key), values[i])
			if err != nil {
				return false, err
			}
			if (filter.Queue == nil || filter.Queue.MatchString(u.Queue)) &&
				(filter.URI == nil || filter.URI.MatchString(u.URL)) {
				chosen = append(chosen, u)
			}
		}
		f.mu.Lock()
		chosen = slices.DeleteFunc(chosen, func(u *URI) bool {
			key := queueKey(u.Queue, u.Priority, u.seq)
			for _, b := range []*Batch{f.batch, f.committing} {
				if b != nil {
					if op, ok := b.ops[key]; ok {
						return op.value == nil
					}
				}
			}
			return false
		})
		f.mu.Unlock()
		for _, u := range chosen {
			if !do(u) {
				return false, nil
			}
		}
		return true, nil
	})
}
