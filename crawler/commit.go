package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"holdfast/crawler/events"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/warc"
)

// commitEvery is how long what happened may wait to become durable.
const commitEvery = 200 * time.Millisecond

// Names of the crawl's own values in the frontier.
const (
	valueLog    = "log"     // size of crawl.log
	valueStats  = "stats"   // figures for the reports
	valueWARC   = "warc/"   // + file name: what is accounted for of its records
	valueMended = "mended/" // + name of a damaged file that was kept: what was lost with it was queued again
	valueHanded = "given/"  // + file name: it was given to Config.Finished
	valueSeed   = "seed/"   // + seed: how it ended
	// + URL: a seed redirects there, or it is one that was added, and it widens the scope
	valueAdmitted = "admitted/"
	valueAdded    = "added/"   // + URL: a seed added while the crawl ran
	valueBlocked  = "blocked/" // + what is blocked
	valueQuota    = "quota/"   // + domain: what was fetched of it, and which limit stopped it
	valueLogin    = "login/"   // + URL: the form was sent
	valueDigest   = "digest/"  // + digest: the first record with that content, JSON
	valueAside    = "aside/"   // + site: it has a queue of its own, as it did not answer
	valueCookies  = "cookies"
	valuePolicy   = "policy" // the settings that queues are treated by, or that it is under way to treat them by others
)

// reasonBudget is why the frontier retires a queue by itself.
const reasonBudget = "its total budget is spent"

// Pauses before a file that was not taken is given to Config.Finished again.
const (
	firstHandOver   = 100 * time.Millisecond
	longestHandOver = time.Minute
	lastHandOvers   = 5 // so often at most when the run ends
)

// handover is a WARC file that Config.Finished has not taken yet.
type handover struct {
	records  int // accounted for
	finished *warc.Finished
	pause    time.Duration // after the last try that failed
	next     time.Time     // not to be tried again before
}

// commitLoop commits from time to time, and when a queue needs it, until done and once more then.
func (c *Crawl) commitLoop(done <-chan struct{}) error {
	timer := time.NewTimer(commitEvery)
	defer timer.Stop()
	for {
		last := false
		var wish chan struct{}
		select {
		case <-timer.C:
		case <-c.frontier.Hungry():
		case wish = <-c.wishes:
		case <-done:
			last = true
		}
		if err := c.commit(); err != nil || last {
			return err
		}
		if wish != nil {
			close(wish)
		}
		timer.Reset(commitEvery)
	}
}

// settle waits until what happened so far is durable. A crawl that does not run yet has nothing to settle.
func (c *Crawl) settle(ctx context.Context) error {
	c.mu.Lock()
	runs := c.ran
	c.mu.Unlock()
	if !runs {
		return nil
	}
	wish := make(chan struct{})
	select {
	case c.wishes <- wish:
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

// commit makes durable what happened since the last commit and hands over the files that are due. After an error
// nothing more is committed: what came later must not be known without what came before. A file that is not taken
// is no error; it is given again.
func (c *Crawl) commit() error {
	if c.uncommitted == nil {
		c.uncommitted = c.commitBatch()
	}
	if c.uncommitted != nil {
		return c.uncommitted
	}
	if err := c.handOver(false); err != nil {
		c.log.Warn("WARC files wait to be handed over", "err", err)
	}
	return nil
}

// commitBatch commits: first the WARC records, then the lines of the log, then, at once, all that the frontier has to
// know. A crash before the last leaves records that recover accounts for, and lines that it cuts off.
func (c *Crawl) commitBatch() error {
	b := c.frontier.Take()
	if b == nil {
		return nil
	}
	for _, f := range c.files {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	now := time.Now()
	ends := map[string]int64{}
	records := map[string]int{}
	for _, a := range b.Attached {
		o, ok := a.(*outcome)
		if !ok {
			return fmt.Errorf("commit: unknown outcome %T", a)
		}
		if c.base().LogExtra {
			o.line.Extra = o.extra()
		}
		c.logs.Crawl.Add(o.line.AppendTo)
		c.live.Add(&o.line, now)
		if err := c.account(b, o); err != nil {
			return err
		}
		for _, p := range o.records {
			ends[p.File] = max(ends[p.File], p.Offset+p.Length)
		}
		if len(o.records) > 0 {
			records[o.records[0].File] += len(o.records)
		}
	}
	sizes, err := c.logs.Flush()
	if err != nil {
		return err
	}
	b.Set(valueLog, []byte(sizes.String()))
	if err := c.keepCookies(b, now); err != nil {
		return err
	}
	for file, end := range ends {
		if err := c.accountFor(b, file, end, c.logged, sizes.Crawl); err != nil {
			return err
		}
	}
	c.logged = sizes.Crawl
	c.mu.Lock()
	c.stats.Elapsed = c.running()
	stats, err := json.Marshal(c.stats)
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("commit figures: %w", err)
	}
	b.Set(valueStats, stats)
	c.quotas.keep(b)
	if err := c.frontier.Commit(b); err != nil {
		return err
	}
	c.quotas.committed()
	for _, queue := range b.Retired {
		c.publish(events.Event{Kind: events.QueueRetired, Queue: queue, Reason: reasonBudget})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for file, n := range records {
		c.pending(file).records += n
	}
	return nil
}

// extra is the last column of the log: where the first record of the URI is.
func (o *outcome) extra() string {
	if len(o.records) == 0 {
		return "{}"
	}
	return string(report.AppendExtra(nil, max(o.line.Size, 0), o.records[0].File, o.records[0].Offset))
}

// All cookies are written when any changed. A few, and those of a login, are durable with the answer that set them; many wait
// so that they do not take the disk, and a crash takes them back that far.
const (
	fewCookies   = 32 << 10  // bytes
	cookieRate   = 256 << 10 // bytes a second of more
	cookiesEvery = 5 * time.Second
)

// keepCookies keeps the cookies with the commit, if they changed and are due.
func (c *Crawl) keepCookies(b *frontier.Batch, now time.Time) error {
	changes := c.jar.Changes()
	wait := time.Duration(0)
	if size := c.cookies.size; size > fewCookies {
		wait = min(time.Duration(size)*time.Second/cookieRate, cookiesEvery)
	}
	if due := c.cookies.due.Swap(false); changes == c.cookies.kept || now.Sub(c.cookies.at) < wait && !due && !c.ending() {
		return nil
	}
	data, err := c.jar.Export()
	if err != nil {
		return fmt.Errorf("keep cookies: %w", err)
	}
	b.Set(valueCookies, data)
	c.cookies.kept, c.cookies.at, c.cookies.size = changes, now, len(data)
	return nil
}

// ending tells whether the workers have ended.
func (c *Crawl) ending() bool { return c.workers.busy() == 0 }

// seedEnd is how a seed ended.
type seedEnd struct {
	Status   int    `json:"status"`
	Redirect string `json:"redirect,omitempty"`
}

// account takes an outcome into the figures.
func (c *Crawl) account(b *frontier.Batch, o *outcome) error {
	c.mu.Lock()
	c.stats.Add(&o.line)
	c.mu.Unlock()
	if o.domain != "" {
		c.quotas.take(o.domain, o.bytes)
	}
	if !o.seed {
		return nil
	}
	data, err := json.Marshal(seedEnd{o.line.Status, o.redirect})
	if err != nil {
		return fmt.Errorf("commit seed %s: %w", o.line.URI, err)
	}
	b.Set(valueSeed+o.line.URI, data)
	return nil
}

// pending returns the entry of a file not handed over. The caller holds mu.
func (c *Crawl) pending(file string) *handover {
	h := c.unhanded[file]
	if h == nil {
		h = &handover{}
		c.unhanded[file] = h
	}
	return h
}

// fileFinished is called by the WARC writer.
func (c *Crawl) fileFinished(f warc.Finished) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending(filepath.Base(f.Path)).finished = &f
	return nil
}

// handOver gives finished files to their taker, once every record in them (the warcinfo apart) is accounted for and
// no pause after an earlier try is on. When all is set it gives every finished file at once, as the run ends. A file that
// is not taken stays to be given again.
func (c *Crawl) handOver(all bool) error {
	now := time.Now()
	ready := map[*handover]warc.Finished{}
	c.mu.Lock()
	for _, h := range c.unhanded {
		due := h.finished != nil && h.records+1 >= h.finished.Records && !now.Before(h.next)
		if due || all && h.finished != nil {
			ready[h] = *h.finished
		}
	}
	c.mu.Unlock()
	var errs []error
	for h, f := range ready {
		if err := c.cfg.Finished(f); err != nil {
			h.pause = min(max(2*h.pause, firstHandOver), longestHandOver)
			h.next = time.Now().Add(h.pause)
			errs = append(errs, fmt.Errorf("hand over %s: %w", f.Path, err))
			continue
		}
		file := filepath.Base(f.Path)
		c.publish(events.Event{Kind: events.FileFinished, Name: file, Count: f.Size})
		c.log.Info("WARC file is complete", "file", file, "bytes", f.Size, "records", f.Records)
		c.frontier.SetValue(valueHanded+file, []byte("1"))
		c.mu.Lock()
		delete(c.unhanded, file)
		c.mu.Unlock()
	}
	return errors.Join(errs...)
}

// handOverAll gives every finished file to its taker, some times with pauses between while ctx lasts. The error
// says what was not taken; it is given again when the crawl is opened again.
func (c *Crawl) handOverAll(ctx context.Context) error {
	for try, pause := 1, firstHandOver; ; try, pause = try+1, 2*pause {
		err := c.handOver(true)
		if err == nil || try == lastHandOvers {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}
