package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"holdfast/crawler/events"
	"holdfast/crawler/frontier"
	"holdfast/warc"
)

// ValueHanded begins the names of the frontier's values that say which files were handed over.
const ValueHanded = "given/"

// Pauses before a file that was not taken is given to Config.Finished again.
const (
	firstHandOver   = 100 * time.Millisecond
	longestHandOver = time.Minute
	lastHandOvers   = 5 // so often at most when the run ends
)

// waiting is a WARC file that Config.Finished has not taken yet.
type waiting struct {
	records  int // accounted for
	finished *warc.Finished
	pause    time.Duration // after the last try that failed
	next     time.Time     // the earliest time of the next try
}

// Handover gives WARC files that are complete to their taker, each until it is taken. It is safe for concurrent use.
type Handover struct {
	taker    func(warc.Finished) error
	frontier *frontier.Frontier
	events   *events.Hub
	log      *slog.Logger

	mu       sync.Mutex
	unhanded map[string]*waiting // files that were not taken yet
}

// NewHandover gives files to their taker.
func NewHandover(taker func(warc.Finished) error, f *frontier.Frontier, hub *events.Hub, log *slog.Logger) *Handover {
	return &Handover{taker: taker, frontier: f, events: hub, log: log, unhanded: map[string]*waiting{}}
}

// pending returns the entry of a file not handed over. The caller holds mu.
func (h *Handover) pending(file string) *waiting {
	w := h.unhanded[file]
	if w == nil {
		w = &waiting{}
		h.unhanded[file] = w
	}
	return w
}

// Finish is called by the WARC writer.
func (h *Handover) Finish(f warc.Finished) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending(filepath.Base(f.Path)).finished = &f
	return nil
}

// Waiting is how many files were not handed over.
func (h *Handover) Waiting() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.unhanded)
}

// account adds records of files that are now accounted for.
func (h *Handover) account(records map[string]int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for file, n := range records {
		h.pending(file).records += n
	}
}

// found adds a finished file whose records are all accounted for; nil for a file that was handed over already.
func (h *Handover) found(file string, f *warc.Finished) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f == nil {
		delete(h.unhanded, file)
		return
	}
	h.unhanded[file] = &waiting{records: f.Records, finished: f}
}

// given tells whether a file was handed over.
func (h *Handover) given(file string) (bool, error) {
	value, err := h.frontier.Value(ValueHanded + file)
	return len(value) > 0, err
}

// give gives finished files to their taker, once every record in them (the warcinfo apart) is accounted for and no
// pause after an earlier try is on. When all is set it gives every finished file at once, as the run ends. A file that
// is not taken stays to be given again.
func (h *Handover) give(all bool) error {
	now := time.Now()
	ready := map[*waiting]warc.Finished{}
	h.mu.Lock()
	for _, w := range h.unhanded {
		due := w.finished != nil && w.records+1 >= w.finished.Records && !now.Before(w.next)
		if due || all && w.finished != nil {
			ready[w] = *w.finished
		}
	}
	h.mu.Unlock()
	var errs []error
	for w, f := range ready {
		if err := h.taker(f); err != nil {
			w.pause = min(max(2*w.pause, firstHandOver), longestHandOver)
			w.next = time.Now().Add(w.pause)
			errs = append(errs, fmt.Errorf("hand over %s: %w", f.Path, err))
			continue
		}
		file := filepath.Base(f.Path)
		h.events.Publish(events.Event{Kind: events.FileFinished, Name: file, Count: f.Size})
		h.log.Info("WARC file is complete", "file", file, "bytes", f.Size, "records", f.Records)
		h.frontier.SetValue(ValueHanded+file, []byte("1"))
		h.found(file, nil)
	}
	return errors.Join(errs...)
}

// All gives every finished file to its taker, several times with pauses between while ctx lasts. The error names
// files that were not taken; they are given again when the crawl is opened again.
func (h *Handover) All(ctx context.Context) error {
	for try, pause := 1, firstHandOver; ; try, pause = try+1, 2*pause {
		err := h.give(true)
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
