package control

import (
	"context"
	"sync"
	"time"

	"holdfast/crawler/events"
	"holdfast/crawler/report"
)

// State is the state of a crawl, in Heritrix's terms.
type State string

// The states of a crawl.
const (
	Preparing State = "PREPARING"
	Running   State = "RUNNING"
	Paused    State = "PAUSED"
	Stopping  State = "STOPPING"
	Finished  State = "FINISHED"
)

// Holder says on whose behalf a crawl is paused. Each holder has its own pause; the crawl continues when no pause is
// left.
type Holder int

// The holders.
const (
	ForOperator Holder = iota // an order
	ForRunner                 // the caller that runs the crawl
	ForDisk
	ForWindow // none of the job's windows is open
	holders
)

// Hold is a pause.
type Hold struct{ Reason, By string }

// Course is the state of a crawl, the reason for it, and how long the crawl has run. It is safe for concurrent use.
type Course struct {
	frontier Brake
	logs     *report.Logs
	events   *events.Hub

	mu      sync.Mutex
	state   State
	reason  string
	elapsed time.Duration // of earlier runs and before the last pause
	since   time.Time     // of running; zero while it does not
	ran     bool
	cut     context.CancelCauseFunc // cancels fetches in flight
	until   time.Time               // when a pause ends by itself, or fetches in flight are cut off
	alarm   *time.Timer             // for that
	holds   [holders]*Hold          // why it is paused
	restore string                  // the checkpoint that an operator wants the crawl to be started from
}

// Brake keeps URIs from being given out, for some time or for good: the frontier.
type Brake interface {
	Pause()
	Resume()
	Stop()
}

// NewCourse is that of a crawl that was opened and does not run yet.
func NewCourse(f Brake, logs *report.Logs, hub *events.Hub) *Course {
	return &Course{frontier: f, logs: logs, events: hub, state: Preparing}
}

// RanBefore says how long the crawl ran before it was opened.
func (c *Course) RanBefore(elapsed time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elapsed = elapsed
}

// Begin starts the crawl, unless it is paused; cut cancels fetches in flight. It reports false if the crawl has run
// already.
func (c *Course) Begin(cut context.CancelCauseFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ran {
		return false
	}
	c.ran, c.cut = true, cut
	if c.state == Preparing {
		c.set(Running)
	}
	return true
}

// Standing is a snapshot of a crawl's state.
type Standing struct {
	State   State
	Reason  string        // of a pause or stop
	Elapsed time.Duration // pauses not counted
	Until   time.Time     // when a pause ends by itself, or fetches in flight are cut off; zero: never
	Runs    bool          // the time runs on
	Restore string        // the checkpoint that the crawl is to be started from again
}

// Standing returns the crawl's state now.
func (c *Course) Standing() Standing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.standing()
}

// standing is Standing for a caller who holds mu.
func (c *Course) standing() Standing {
	return Standing{State: c.state, Reason: c.reason, Elapsed: c.running(), Until: c.until, Runs: !c.since.IsZero(),
		Restore: c.restore}
}

// Elapsed is how long the crawl has run.
func (c *Course) Elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running()
}

// Pause pauses; with a length of time, an operator's pause ends by itself after that.
func (c *Course) Pause(who Holder, why Hold, length time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != Running && c.state != Preparing && c.state != Paused {
		return
	}
	if c.state != Paused {
		c.Note(report.NotePaused, why.Reason)
		c.set(Paused)
		c.frontier.Pause()
	}
	c.holds[who] = &why
	var deadline *time.Time
	if who == ForOperator {
		deadline = c.setAlarm(length, func() { c.resume(who, "", &why) })
	}
	c.reason = c.whyPaused().Reason
	c.events.Publish(events.Event{Kind: events.Paused, Reason: why.Reason, By: why.By, Deadline: deadline})
}

// Held tells whether the crawl is paused on behalf of who.
func (c *Course) Held(who Holder) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holds[who] != nil
}

// whyPaused returns the first of the pauses, nil if there is none. The caller holds mu.
func (c *Course) whyPaused() *Hold {
	for _, h := range c.holds {
		if h != nil {
			return h
		}
	}
	return nil
}

// setAlarm calls act after a length of time, if one is given, and cancels the previous alarm. It returns the time of
// the call. The caller holds mu.
func (c *Course) setAlarm(length time.Duration, act func()) *time.Time {
	if c.alarm != nil {
		c.alarm.Stop()
	}
	c.alarm, c.until = nil, time.Time{}
	if length <= 0 {
		return nil
	}
	c.alarm = time.AfterFunc(length, act)
	c.until = time.Now().Add(length)
	until := c.until
	return &until
}

// Resume ends the pause of one holder, if there is one. Pauses of other holders continue.
func (c *Course) Resume(who Holder, by string) { c.resume(who, by, nil) }

// resume ends the pause of who, if there is one; and only if it is this one, unless that is nil.
func (c *Course) resume(who Holder, by string, only *Hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.holds[who]; c.state != Paused || h == nil || only != nil && only != h {
		return
	}
	c.holds[who] = nil
	if who == ForOperator {
		c.setAlarm(0, nil)
	}
	if h := c.whyPaused(); h != nil {
		c.reason = h.Reason
		c.events.Publish(events.Event{Kind: events.Paused, Reason: h.Reason, By: h.By})
		return
	}
	c.set(Preparing)
	if c.ran {
		c.set(Running)
	}
	c.reason = ""
	c.frontier.Resume()
	c.Note(report.NoteRunning, "Running")
	c.events.Publish(events.Event{Kind: events.Resumed, By: by})
}

// Stop lets URIs in flight end, and then ends the crawl. Only the first reason is kept. If a length of time is given,
// fetches still in flight after it are cut off, and are fetched when the crawl is opened again. Calling it again may
// change that length of time.
func (c *Course) Stop(reason string, length time.Duration, by string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == Finished || c.state == Stopping && length <= 0 {
		return
	}
	deadline := c.setAlarm(length, c.cutOff)
	if c.state == Stopping {
		return
	}
	c.set(Stopping)
	c.reason = reason
	c.frontier.Stop()
	c.Note(report.NoteEnding, report.ExitStatus(reason, false))
	c.events.Publish(events.Event{Kind: events.Stopping, Reason: reason, By: by, Deadline: deadline})
}

// cutOff cancels fetches in flight.
func (c *Course) cutOff() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut != nil {
		c.cut(context.Canceled)
	}
}

// startFrom stops the crawl, to be started again from a checkpoint.
func (c *Course) startFrom(checkpoint, by string) {
	c.mu.Lock()
	c.restore = checkpoint
	c.mu.Unlock()
	c.Stop("restored from checkpoint "+checkpoint, 0, by)
}

// Finish ends the crawl: completed where nothing stopped it and nothing is left.
func (c *Course) Finish(completed, failed bool) Standing {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setAlarm(0, nil)
	c.set(Finished)
	if c.reason == "" {
		c.reason = "unfinished"
		if completed {
			c.reason = "completed"
		}
	}
	c.Note(report.NoteEnded, report.ExitStatus(c.reason, failed))
	c.events.Publish(events.Event{Kind: events.Finished, Reason: c.reason})
	return c.standing()
}

// Note writes a change of state into the progress log.
func (c *Course) Note(change, message string) {
	c.logs.Progress.Add(func(b []byte) []byte { return report.AppendNote(b, time.Now(), change, message) })
}

// set changes the state and keeps the clock of running time. The caller holds mu.
func (c *Course) set(s State) {
	c.elapsed, c.since = c.running(), time.Time{}
	if s == Running || s == Stopping {
		c.since = time.Now()
	}
	c.state = s
}

// running is how long the crawl has run. The caller holds mu.
func (c *Course) running() time.Duration {
	if c.since.IsZero() {
		return c.elapsed
	}
	return c.elapsed + time.Since(c.since)
}
