// Package journal makes the work of a crawl durable, commit by commit. When a crawl is opened again, it brings WARC
// files, logs and frontier into agreement, and mends damaged files. It keeps checkpoints, and hands over complete
// WARC files.
package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"holdfast/crawler/chain"
	"holdfast/crawler/events"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/plan"
	"holdfast/crawler/report"
	"holdfast/warc"
)

// commitEvery is how long what happened may wait to become durable.
const commitEvery = 200 * time.Millisecond

// Names of the frontier's values that commits set.
const (
	valueLog  = "log"   // size of crawl.log
	valueSeed = "seed/" // + seed: how it ended
)

// reasonBudget is why the frontier retires a queue by itself.
const reasonBudget = "its total budget is spent"

// Journal makes the work of a crawl durable.
type Journal struct {
	Handover *Handover
	Figures  *Figures
	Cookies  *Cookies

	plan     *plan.Current
	frontier *frontier.Frontier
	quotas   *hosts.Quotas
	logs     *report.Logs
	live     *report.Live
	events   *events.Hub
	log      *slog.Logger
	elapsed  func() time.Duration // that the crawl has run
	idle     func() bool          // no worker works

	files   []*warc.Files      // that are written
	wishes  chan chan struct{} // for a commit; each is closed after it
	running atomic.Bool        // Loop is there to hear wishes, or about to be

	failed error // why nothing more can be committed; this and the fields below belong to the committer
	logged int64 // size of crawl.log at the last commit
}

// Write has the files made durable with each commit from now on.
func (j *Journal) Write(files []*warc.Files) { j.files = files }

// Begin says that Loop will be called: from now on Settle waits for it.
func (j *Journal) Begin() { j.running.Store(true) }

// Loop commits from time to time, and when a queue needs it, until done and once more then.
func (j *Journal) Loop(done <-chan struct{}) error {
	timer := time.NewTimer(commitEvery)
	defer timer.Stop()
	for {
		last := false
		var wish chan struct{}
		select {
		case <-timer.C:
		case <-j.frontier.Hungry():
		case wish = <-j.wishes:
		case <-done:
			last = true
		}
		if err := j.Commit(); err != nil || last {
			return err
		}
		if wish != nil {
			close(wish)
		}
		timer.Reset(commitEvery)
	}
}

// Settle waits until what happened so far is durable. A crawl that does not run yet has nothing to settle.
func (j *Journal) Settle(ctx context.Context) error {
	if !j.running.Load() {
		return nil
	}
	wish := make(chan struct{})
	select {
	case j.wishes <- wish:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-wish:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Commit makes durable what happened since the last commit and hands over the files that are due. After an error
// nothing more is committed: what came later must not be known without what came before. A file that is not taken
// is no error; it is given again.
func (j *Journal) Commit() error {
	if j.failed == nil {
		j.failed = j.batch()
	}
	if j.failed != nil {
		return j.failed
	}
	if err := j.Handover.give(false); err != nil {
		j.log.Warn("WARC files wait to be handed over", "error", err)
	}
	return nil
}

// batch commits: first the WARC records, then the lines of the log, then, at once, all that the frontier has to
// know. A crash before the last leaves records that recovery accounts for, and lines that it cuts off.
func (j *Journal) batch() error {
	b := j.frontier.Take()
	if b == nil {
		return nil
	}
	for _, f := range j.files {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	now := time.Now()
	written, err := j.takeIn(b, now)
	if err != nil {
		return err
	}
	sizes, err := j.logs.Flush()
	if err != nil {
		return err
	}
	b.Set(valueLog, []byte(sizes.String()))
	if err := j.Cookies.keep(b, now, j.idle()); err != nil {
		return err
	}
	for file, end := range written.ends {
		if err := accountFor(j.frontier, b, file, end, j.logged, sizes.Crawl); err != nil {
			return err
		}
	}
	j.logged = sizes.Crawl
	if err := j.Figures.keep(b, j.elapsed()); err != nil {
		return err
	}
	j.quotas.Keep(b)
	if err := j.frontier.Commit(b); err != nil {
		return err
	}
	j.quotas.Committed()
	for _, queue := range b.Retired {
		j.events.Publish(events.Event{Kind: events.QueueRetired, Queue: queue, Reason: reasonBudget})
	}
	j.Handover.account(written.records)
	return nil
}

// written is what a commit adds to WARC files, by their names.
type written struct {
	ends    map[string]int64 // up to where records are accounted for
	records map[string]int
}

// takeIn takes the outcomes of a batch into the log and the figures.
func (j *Journal) takeIn(b *frontier.Batch, now time.Time) (written, error) {
	w := written{ends: map[string]int64{}, records: map[string]int{}}
	for _, a := range b.Attached {
		o, ok := a.(*chain.Outcome)
		if !ok {
			return w, fmt.Errorf("commit: unknown outcome %T", a)
		}
		if j.plan.Base().LogExtra {
			o.Line.Extra = extra(o)
		}
		j.logs.Crawl.Add(o.Line.AppendTo)
		j.live.Add(&o.Line, now)
		if err := j.account(b, o); err != nil {
			return w, err
		}
		for _, p := range o.Records {
			w.ends[p.File] = max(w.ends[p.File], p.Offset+p.Length)
		}
		if len(o.Records) > 0 {
			w.records[o.Records[0].File] += len(o.Records)
		}
	}
	return w, nil
}

// extra is the last column of the log: where the first record of the URI is.
func extra(o *chain.Outcome) string {
	if len(o.Records) == 0 {
		return "{}"
	}
	return string(report.AppendExtra(nil, max(o.Line.Size, 0), o.Records[0].File, o.Records[0].Offset))
}

// account takes an outcome into the figures.
func (j *Journal) account(b *frontier.Batch, o *chain.Outcome) error {
	if !o.Retried {
		j.Figures.add(&o.Line)
	}
	if o.Domain != "" {
		j.quotas.Take(o.Domain, o.Bytes)
	}
	if !o.Seed {
		return nil
	}
	data, err := json.Marshal(SeedEnd{o.Line.Status, o.Redirect})
	if err != nil {
		return fmt.Errorf("commit seed %s: %w", o.Line.URI, err)
	}
	b.Set(valueSeed+o.Line.URI, data)
	return nil
}

// SeedEnd is how a seed ended.
type SeedEnd struct {
	Status   int    `json:"status"`
	Redirect string `json:"redirect,omitempty"`
}

// SeedEnd tells how a seed ended, nil: it has not.
func (j *Journal) SeedEnd(url string) (*SeedEnd, error) {
	data, err := j.frontier.Value(valueSeed + url)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	end := &SeedEnd{}
	if err := json.Unmarshal(data, end); err != nil {
		return nil, fmt.Errorf("read how seed %s ended: %w", url, err)
	}
	return end, nil
}
