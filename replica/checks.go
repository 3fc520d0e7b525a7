package replica

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"holdfast/catalog"
)

// At most this many owed checks wait; the audits find the rest. A check that could not be made is tried again after
// growing pauses.
const (
	checksWaiting = 10_000
	checkPause    = 2 * time.Second
	checkLongest  = 5 * time.Minute
	checkTries    = 12
)

// How long a check counts against another for the same reason: bytes that are wrong are always one, a list that is
// missing may be one that could not be written, and a record's digest may never have been right.
const (
	forDamage = 0
	forList   = time.Minute
	forDoubt  = time.Hour
)

// owedCheck is a copy that gave bytes which were not right, or which has no block digests: its node is to read it
// again.
type owedCheck struct {
	node catalog.NodeID
	want Held
}

// checks are the copies that have to be read again completely by their nodes, which report what is wrong.
type checks struct {
	check func(context.Context, owedCheck) error
	log   *slog.Logger
	wake  chan struct{}

	mu      sync.Mutex
	waiting []waitingCheck
	known   map[owedCheck]time.Time // waiting (zero), or done at that time
}

type waitingCheck struct {
	owedCheck
	tries int
	at    time.Time // not before
}

func newChecks(check func(context.Context, owedCheck) error, log *slog.Logger) *checks {
	return &checks{check: check, log: log, wake: make(chan struct{}, 1), known: make(map[owedCheck]time.Time)}
}

// owe asks for a check of the node's copy, unless one is under way or ended less than so long ago. It does not block.
func (c *checks) owe(node catalog.NodeID, want Held, ago time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := owedCheck{node, want}
	if at, known := c.known[one]; known && (at.IsZero() || time.Since(at) < ago) {
		return
	}
	if len(c.waiting) >= checksWaiting {
		c.log.Warn("too many copies wait to be read again; the audits will find this one", "file", want.Name, "node",
			node)
		return
	}
	c.known[one] = time.Time{}
	c.waiting = append(c.waiting, waitingCheck{owedCheck: one})
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run makes the owed checks, one after the other.
func (c *checks) run(ctx context.Context) error {
	for ctx.Err() == nil {
		one, pause := c.next()
		if pause == 0 {
			c.done(ctx, one, c.check(ctx, one.owedCheck))
			continue
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-c.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
	return ctx.Err()
}

// next takes the first check that may be made now; else it says how long to wait for one.
func (c *checks) next() (one waitingCheck, pause time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pause = checkLongest
	for i, w := range c.waiting {
		if left := time.Until(w.at); left > 0 {
			pause = min(pause, left)
			continue
		}
		c.waiting = slices.Delete(c.waiting, i, i+1)
		return w, 0
	}
	return waitingCheck{}, pause
}

// done notes how a check ended; one that could not be made waits for another try.
func (c *checks) done(ctx context.Context, one waitingCheck, err error) {
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && !errors.Is(err, ErrNotHere) {
		if one.tries++; one.tries < checkTries {
			one.at = time.Now().Add(backoff(one.tries, checkPause, checkLongest))
			c.waiting = append(c.waiting, one)
			return
		}
		c.log.Warn("a copy could not be read again", "file", one.want.Name, "node", one.node, "err", err)
	}
	for known, at := range c.known { // few: what readers complained of lately
		if !at.IsZero() && time.Since(at) >= forDoubt {
			delete(c.known, known)
		}
	}
	c.known[one.owedCheck] = time.Now()
}

// recheck makes the node read its copy again; it finds out itself, and reports, whether the copy is bad.
func (r *puller) recheck(ctx context.Context, one owedCheck) error {
	got, err := r.checksumFrom(ctx, one.node, one.want)
	if err == nil {
		r.log.Warn("a copy was read again", "file", one.want.Name, "node", one.node, "good", got == one.want)
	}
	return err
}
