// Package harvester makes jobs of harvests. On the node that leads it begins the runs that are due, splits each into
// jobs, and submits these. Everything that it has decided is in the catalog: another leader goes on from there.
package harvester

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/runs"
	"holdfast/harvest/schedule"
	"holdfast/harvest/split"
)

// Agreement is the agreed state, how to propose changes of it, and who leads.
type Agreement interface {
	View(func(catalog.View) error) error
	Linear(ctx context.Context) error
	Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error)
	IsLeader() bool
}

// History tells how configurations fared in earlier harvests.
type History interface {
	// Pending reports whether results of jobs that ended are not among the best yet.
	Pending(catalog.View) (bool, error)
	Best(v catalog.View, domain, configuration string) (split.History, error)
	// Between is Best for all domains from the first to the last, as long as the view holds.
	Between(v catalog.View, first, last string) (Bests, error)
	Earlier(v catalog.View, harvest uint64, domain, configuration string) (split.Earlier, error)
}

// Bests returns the best history of a configuration of a domain.
type Bests func(domain, configuration string) (split.History, error)

// Config holds the settings of a Harvester.
type Config struct {
	Self      catalog.NodeID
	Dir       string // for temporary files
	Agreement Agreement
	History   History // nil: the catalog's
	Zones     schedule.Zones
	Now       func() time.Time // the time that the members agree on
	Log       *slog.Logger
}

// Harvester makes jobs of harvests. Its methods may be called at the same time.
type Harvester struct {
	cfg     Config
	trouble trouble
	texts   texts
}

// New returns a harvester that does nothing yet.
func New(cfg Config) *Harvester {
	if cfg.History == nil {
		cfg.History = kept{}
	}
	return &Harvester{cfg: cfg, trouble: newTrouble(), texts: newTexts()}
}

// Watched are the prefixes of the catalog whose changes Run is to be told of.
func Watched() []string { return []string{catalog.PrefixJobs, runs.PrefixHarvests, runs.PrefixRuns} }

const (
	beat      = time.Second            // between two looks at who leads, and at the clock
	lookEvery = 5 * time.Second        // between two looks for work when nothing has changed
	lookPause = 100 * time.Millisecond // between two of them at least, and four times as long as the last one took
	pause     = 5 * time.Second        // before a split that did not succeed is tried again
)

// Run does what the leader owes to harvests while this node leads, until ctx ends. changed reports changes of the
// catalog under Watched.
func (h *Harvester) Run(ctx context.Context, changed <-chan struct{}) error {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	var lead *leading
	defer func() { lead.end() }()
	for look := true; ; {
		if !h.cfg.Agreement.IsLeader() {
			lead.end()
			lead = nil
		} else {
			if lead == nil {
				lead, look = h.lead(ctx), true
			}
			lead.round(look)
		}
		look = true
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-lead.freed():
			look = false // what else there is to split was found before
		case <-lead.again():
			look = false
		case <-tick.C:
			look = false
		}
	}
}

// leading is what a node does as long as it leads.
type leading struct {
	*Harvester
	ctx    context.Context // ends with the leadership
	cancel context.CancelFunc
	under  sync.WaitGroup
	more   chan struct{} // a split has ended

	minute     time.Time       // of the last dispatch
	dispatched time.Time       // when that was
	stale      bool            // something has changed since
	unseen     bool            // something has changed since work was looked for
	looked     time.Time       // when that was
	took       time.Duration   // how long it took
	soon       *time.Timer     // rings when work may be looked for
	waiting    map[uint64]bool // harvests of which it was said that they wait for a channel
	splits     splits
	found      [sizes][]key // runs to be split, as of the last look
}

func (h *Harvester) lead(ctx context.Context) *leading {
	l := &leading{Harvester: h, more: make(chan struct{}, 1), waiting: map[uint64]bool{}, splits: newSplits(),
		soon: time.NewTimer(lookPause)}
	l.ctx, l.cancel = context.WithCancel(ctx)
	return l
}

// end stops all work, and returns when it has stopped.
func (l *leading) end() {
	if l == nil {
		return
	}
	l.cancel()
	l.soon.Stop()
	l.under.Wait()
	l.trouble.forget()
}

func (l *leading) again() <-chan time.Time {
	if l == nil {
		return nil
	}
	return l.soon.C
}

func (l *leading) freed() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.more
}

// round begins what is due. look says that something may have changed.
func (l *leading) round(look bool) {
	l.stale, l.unseen = l.stale || look, l.unseen || look
	now := l.cfg.Now().Truncate(time.Minute)
	// a harvest may also have become due by a change
	if !now.Equal(l.minute) || l.stale && time.Since(l.dispatched) >= beat {
		l.minute, l.dispatched, l.stale, l.unseen = now, time.Now(), false, true
		if err := l.dispatch(l.ctx); err != nil {
			l.minute = time.Time{} // again with the next beat
			l.warn("not all harvests that are due have begun", err)
		}
	}
	l.split()
	since := time.Since(l.looked)
	if !l.unseen && since < lookEvery {
		return
	}
	if rest := max(lookPause, 4*l.took) - since; rest > 0 {
		l.soon.Reset(rest)
		return
	}
	l.unseen, l.looked = false, time.Now()
	l.look()
	l.took = time.Since(l.looked)
}

// look submits jobs, and begins to split the runs whose jobs are to be made.
func (l *leading) look() {
	if err := l.submit(l.ctx); err != nil {
		l.warn("not all jobs could be submitted", err)
	}
	if err := l.findRuns(); err != nil {
		l.warn("the runs whose jobs are to be made could not be found", err)
	}
	l.split()
}

func (l *leading) warn(what string, err error) {
	if l.ctx.Err() == nil {
		l.cfg.Log.Warn(what, "error", err)
	}
}
