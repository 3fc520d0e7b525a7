package crawler

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"holdfast/crawler/frontier"
	"holdfast/warc"
)

// commitEvery is how long what happened may wait to become durable.
const commitEvery = 200 * time.Millisecond

// Names of the crawl's own values in the frontier.
const (
	valueLog    = "log"    // size of crawl.log
	valueStats  = "stats"  // figures for the reports
	valueWARC   = "warc/"  // + file name: up to where its records are accounted for
	valueHanded = "given/" // + file name: it was given to Config.Finished
	valueSeed   = "seed/"  // + seed: how it ended
	// + URL: a seed redirects there, and it widens the scope
	valueAdmitted = "admitted/"
)

// handover is a WARC file that was not given to Config.Finished yet.
type handover struct {
	records  int // accounted for
	finished *warc.Finished
}

// commitLoop commits from time to time, and when a queue needs it, until done and once more then.
func (c *Crawl) commitLoop(done <-chan struct{}) error {
	timer := time.NewTimer(commitEvery)
	defer timer.Stop()
	for {
		last := false
		select {
		case <-timer.C:
		case <-c.frontier.Hungry():
		case <-done:
			last = true
		}
		if err := c.commit(); err != nil || last {
			return err
		}
		timer.Reset(commitEvery)
	}
}

// commit makes durable what happened since the last commit: first the WARC records, then the lines of the
// log, then, at once, all that the frontier has to know. A crash before the last leaves records that recover
// accounts for, and lines that it cuts off.
func (c *Crawl) commit() error {
	b := c.frontier.Take()
	if b == nil {
		return c.handOver()
	}
	if c.files != nil {
		if err := c.files.Sync(); err != nil {
			return err
		}
	}
	var lines []byte
	ends := map[string]int64{}
	records := map[string]int{}
	for _, a := range b.Attached {
		o, ok := a.(*outcome)
		if !ok {
			return fmt.Errorf("commit: unknown outcome %T", a)
		}
		lines = o.line.AppendTo(lines)
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
	size, err := c.crawlLog.Append(lines)
	if err != nil {
		return err
	}
	b.Set(valueLog, strconv.AppendInt(nil, size, 10))
	for file, end := range ends {
		b.Set(valueWARC+file, strconv.AppendInt(nil, end, 10))
	}
	c.mu.Lock()
	c.stats.Elapsed = c.running()
	stats, err := json.Marshal(c.stats)
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("commit figures: %w", err)
	}
	b.Set(valueStats, stats)
	if err := c.frontier.Commit(b); err != nil {
		return err
	}
	c.mu.Lock()
	for file, n := range records {
		c.pending(file).records += n
	}
	c.mu.Unlock()
	return c.handOver()
}

// seedEnd is how a seed ended.
type seedEnd struct {
	Status   int    `json:"status"`
	Redirect string `json:"redirect,omitempty"`
}

// account takes an outcome into the figures.
func (c *Crawl) account(b *frontier.Batch, o *outcome) error {
	c.mu.Lock()
	c.stats.Add(o.line)
	c.mu.Unlock()
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

// handOver gives finished files to their taker, once every record in them (the warcinfo apart) is accounted for.
func (c *Crawl) handOver() error {
	var ready []warc.Finished
	c.mu.Lock()
	for file, h := range c.unhanded {
		if h.finished != nil && h.records+1 >= h.finished.Records {
			ready = append(ready, *h.finished)
			delete(c.unhanded, file)
		}
	}
	c.mu.Unlock()
	for _, f := range ready {
		if err := c.cfg.Finished(f); err != nil {
			return fmt.Errorf("hand over %s: %w", f.Path, err)
		}
		c.log.Info("WARC file is complete", "file", filepath.Base(f.Path), "bytes", f.Size, "records", f.Records)
		c.frontier.SetValue(valueHanded+filepath.Base(f.Path), []byte("1"))
	}
	return nil
}
