package crawler

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"holdfast/crawler/control"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
)

// checkLimits stops a crawl that has all it may have.
func (c *Crawl) checkLimits() {
	s := c.plan.Base()
	if s.MaxObjects > 0 && c.objects.Load() >= s.MaxObjects {
		c.Stop(reasonObjects)
	}
	if s.MaxBytes > 0 && c.frontier.Counters().Bytes >= s.MaxBytes {
		c.Stop(reasonBytes)
	}
}

// limitPoll is how often limits are looked at that no fetch runs into: the settings may have changed.
const limitPoll = time.Second

// repeat calls look every so often until done.
func repeat(done <-chan struct{}, every time.Duration, look func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			look()
		case <-done:
			return
		}
	}
}

// watch begins to watch time, disk, progress, and the windows of the job and of sheets, until done is closed. The
// function that it returns waits until the watching has ended.
func (c *Crawl) watch(ctx context.Context, done <-chan struct{}, fail func(error)) *sync.WaitGroup {
	var watched sync.WaitGroup
	watched.Go(func() { c.watchTime(done) })
	room := c.watchDisk()
	room() // before anything is fetched
	watched.Go(func() { repeat(done, limitPoll, room) })
	watched.Go(func() { c.watchProgress(done) })
	watched.Go(func() { repeat(done, limitPoll, c.lookAtWindows) })
	watched.Go(func() {
		repeat(done, trapsEvery, func() {
			if err := c.keepTraps(); err != nil {
				fail(err)
			}
		})
	})
	idle := &control.Idle{Course: c.course, Begun: c.crew.Begun, Busy: c.crew.Busy,
		Limits: func() (time.Duration, time.Duration) {
			s := c.plan.Base()
			return s.NoResponseTimeout.Std(), s.InactivityTimeout.Std()
		},
		Received: func() int64 { return c.parts.Client.Received() + c.frontier.Counters().Bytes }} // DNS, too
	watched.Go(func() { idle.Run(done) })
	watched.Go(func() {
		if err := c.watchWindows(ctx, done); err != nil {
			fail(err)
		}
	})
	return &watched
}

// watchWindows applies queue policy again when a sheet's time window opens or closes.
func (c *Crawl) watchWindows(ctx context.Context, done <-chan struct{}) (err error) {
	repeat(done, limitPoll, func() {
		if err == nil {
			err = c.treatment.Keep(ctx)
		}
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// watchTime stops the crawl when its time is over.
func (c *Crawl) watchTime(done <-chan struct{}) {
	for {
		wait := limitPoll
		if limit := c.plan.Base().MaxTime.Std(); limit > 0 {
			at := c.course.Standing()
			left := limit - at.Elapsed
			if left <= 0 {
				c.Stop(reasonTime)
				return
			}
			if at.Runs {
				wait = min(wait, left)
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-done:
			timer.Stop()
			return
		}
	}
}

// watchDisk returns what pauses the crawl while its disk has less room than it is to leave, and is called by one at a
// time.
func (c *Crawl) watchDisk() (look func()) {
	full := false
	return func() {
		least := c.plan.Base().MinFreeDisk
		free, _, err := c.disk.Free(c.cfg.Dir)
		if err != nil {
			c.log.Warn("cannot read the free space of the disk", "error", err)
			return
		}
		before := full
		full = least > 0 && free < uint64(least)
		switch {
		case full && !before:
			why := fmt.Sprintf("the disk has %d bytes free, min_free_disk is %d", free, least)
			c.course.Pause(control.ForDisk, control.Hold{Reason: why}, 0)
			c.log.Warn("crawl pauses", "free", free, "min_free_disk", least)
		case before && !full:
			c.course.Resume(control.ForDisk, "")
		}
	}
}

// lookAtWindows pauses the crawl while the job has windows and none of them is open. It is called by one at a time.
func (c *Crawl) lookAtWindows() {
	switch open := c.plan.Open(); {
	case !open && !c.course.Held(control.ForWindow):
		c.course.Pause(control.ForWindow, control.Hold{Reason: "none of the job's windows is open"}, 0)
	case open:
		c.course.Resume(control.ForWindow, "")
	}
}

// watchProgress writes the progress log.
func (c *Crawl) watchProgress(done <-chan struct{}) {
	write := func() {
		p := c.sample()
		c.logs.Progress.Add(p.AppendTo)
	}
	c.logs.Progress.Add(func(b []byte) []byte { return append(append(b, report.ProgressLegend...), '\n') })
	if c.Progress().State == Running {
		c.course.Note(report.NoteRunning, "Preparing")
	}
	write()
	repeat(done, report.ProgressEvery, write)
	write()
}

// sample is the state and the speed of the crawl at one moment.
func (c *Crawl) sample() report.Progress {
	counters := c.frontier.Counters()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	elapsed := c.course.Elapsed()
	p := report.Progress{At: time.Now(), Discovered: counters.Discovered, Queued: counters.Queued,
		Downloaded: counters.Succeeded,
		Failures:   counters.Failed, Busy: c.crew.Busy(), MemoryKB: int64(m.HeapAlloc >> 10),
		HeapKB: int64(m.HeapSys >> 10)}
	rates := c.live.Rates(p.At, elapsed, report.Count{URLs: counters.Succeeded, Bytes: counters.Bytes})
	p.DocsPerSecond, p.AverageDocs = rates.URIs, rates.AverageURIs
	p.KBPerSecond, p.AverageKB = int64(rates.Bytes)>>10, int64(rates.AverageBytes)>>10
	summary := c.frontier.Summary()
	p.DeepestQueue = summary.Longest
	s := summary.States
	if queues := s[frontier.Busy] + s[frontier.Ready] + s[frontier.Snoozed] + s[frontier.Inactive]; queues > 0 {
		p.AverageOfQueue = counters.Queued / queues
	}
	p.Congestion = congestion(summary.States, c.plan.Base().Workers)
	return p
}

// congestion is how many queues could be worked on for each worker.
func congestion(states map[frontier.State]int64, workers int) float64 {
	return float64(states[frontier.Ready]+states[frontier.Busy]) / float64(max(workers, 1))
}

// valueTraps begins the names of the frontier's values that say what is known of crawler traps.
const valueTraps = "traps/"

// trapsEvery is how often what is learnt of traps is kept. A crash loses what was learnt since.
const trapsEvery = 30 * time.Second

// keepTraps has the next commit keep what was learnt of traps.
func (c *Crawl) keepTraps() error {
	changed, err := c.parts.Scope.Traps().Changes()
	for name, data := range changed {
		c.frontier.SetValue(valueTraps+name, data)
	}
	return err
}
