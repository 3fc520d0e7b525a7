package chain

import (
	"context"
	"errors"
	"sync"
	"time"

	"holdfast/crawler/frontier"
	"holdfast/crawler/plan"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
)

// Worker takes URIs through the chain, one at a time.
type Worker struct {
	Number int
	Place  *report.Worker // tells where it is
	Crew   *Crew
	Plan   *plan.Current
	Stages []Stage // in order; post-processing follows for whatever does not go back to the frontier
	Set    *Set

	subject scope.Subject // of the visit under way
}

// Visit takes one URI through the chain. An error means that the crawl cannot continue.
func (w *Worker) Visit(ctx context.Context, u *frontier.URI) error {
	ctx, cancel := context.WithCancelCause(ctx)
	w.Crew.begin(w.Number, u.URL, cancel)
	w.Place.Begin(u.URL, u.Path, u.Via, u.Tries)
	v := w.newVisit(u)
	defer func() {
		w.Crew.end(w.Number)
		w.Place.End()
		cancel(nil)
		w.Set.Turn.Release(v)
	}()
	for i, s := range w.Stages {
		w.Place.Stage(i)
		to, err := s.Run(ctx, v)
		if err != nil {
			return err
		}
		if to == Again {
			return nil
		}
		if to == Over {
			break
		}
	}
	w.Place.Stage(len(w.Stages))
	return w.Set.Post.Run(ctx, v)
}

func (w *Worker) newVisit(u *frontier.URI) *Visit {
	w.subject = scope.Subject{URL: u.URL, Path: u.Path, Via: u.Via, Source: u.Source, Queue: u.Queue, Now: time.Now()}
	return &Visit{URI: u, Worker: w.Number, Set: w.Plan.Base(), Subject: &w.subject}
}

// errKilled ends one fetch.
var errKilled = errors.New("killed by the operator")

// Crew is the workers: as many as the settings ask for, also when that changes. It is safe for concurrent use.
type Crew struct {
	mu     sync.Mutex
	start  func(number int) // nil while the crawl does not run
	wanted int
	idle   map[int]context.CancelFunc // ends a worker once it has no URI
	doing  map[int]task
	begun  int64         // URIs
	ended  chan struct{} // closed when none is left
}

// task is what a worker is doing.
type task struct {
	url    string
	cancel context.CancelCauseFunc
}

// NewCrew has no worker yet.
func NewCrew() *Crew {
	return &Crew{idle: map[int]context.CancelFunc{}, doing: map[int]task{}}
}

// Run lets n workers work, each by its number from 1, until all have ended. A worker is to end when its ctx does, or
// when there is nothing to do for any of them.
func (w *Crew) Run(ctx context.Context, n int, work func(ctx context.Context, number int)) {
	ended := make(chan struct{})
	w.mu.Lock()
	w.ended = ended
	w.start = func(number int) {
		idle, cancel := context.WithCancel(ctx)
		w.idle[number] = cancel
		go func() {
			work(idle, number)
			w.leave(number, idle.Err() != nil && ctx.Err() == nil)
			cancel()
		}()
	}
	w.mu.Unlock()
	w.Want(n)
	<-ended
}

// leave ends a worker. One that was sent away and is wanted again by now is followed by another.
func (w *Crew) leave(number int, sent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.idle, number)
	if sent && number <= w.wanted {
		w.start(number)
	}
	if len(w.idle) == 0 {
		w.start = nil
		close(w.ended)
	}
}

// Want changes how many there are, at least one: those with the highest numbers end after their URI.
func (w *Crew) Want(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted = max(n, 1)
	for number, cancel := range w.idle {
		if number > w.wanted {
			cancel()
		}
	}
	w.fill()
}

// fill starts the workers that are wanted and not there. The caller holds mu.
func (w *Crew) fill() {
	for number := 1; w.start != nil && len(w.idle) < w.wanted && number <= w.wanted; number++ {
		if w.idle[number] == nil {
			w.start(number)
		}
	}
}

func (w *Crew) begin(number int, url string, cancel context.CancelCauseFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doing[number] = task{url, cancel}
	w.begun++
	w.fill() // others may have found nothing to do for an instant, and ended
}

func (w *Crew) end(number int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.doing, number)
}

// Kill aborts the fetch of a URL, or whatever a worker is doing, and returns how many fetches that were.
func (w *Crew) Kill(url string, number int) (n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, t := range w.doing {
		if url != "" && t.url == url || number != 0 && i == number {
			t.cancel(errKilled)
			n++
		}
	}
	return n
}

// Busy is how many are at a URI.
func (w *Crew) Busy() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.doing)
}

// Begun is how many URIs they were given.
func (w *Crew) Begun() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begun
}

// Killed tells whether an operator broke the fetch of ctx off.
func Killed(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errKilled) }
