// Package figures keeps a few figures of a node over time, an hour by ten seconds and a week by five minutes, in
// bounded memory and a small file, so that pages can show them without any other program. What is not known is no
// figure.
package figures

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"holdfast/internal/disk"
)

// Source is where a figure comes from.
type Source struct {
	Name string // such as disk-free
	Of   string // what it is of, such as a folder; empty: of the node
	Unit string
	Rate bool // Read counts, and the figure is how much that grows in a second
	// Read may take its time: it is not called again before it has returned, and the figure is unknown meanwhile.
	Read func() (float64, error)
}

// Config is what figures need.
type Config struct {
	Path    string // of the file
	Disk    disk.Disk
	Least   uint64 // no file is written while fewer bytes than that are free on its disk
	Sources []Source
	Log     *slog.Logger
}

// Span is a time that figures are kept for.
type Span struct {
	Step   time.Duration
	Points int
}

// Hour and Week are the spans.
func Hour() Span { return Span{10 * time.Second, 360} }

// Week is the last week.
func Week() Span { return Span{5 * time.Minute, 7 * 24 * 12} }

const (
	readLimit = 3 * time.Second // for all sources together
	endLimit  = 2 * time.Second // for the last write
)

// Figures are a node's figures over time.
type Figures struct {
	cfg     Config
	readers []*reader

	mu   sync.Mutex
	hour points
	week points
	mean mean // of the step of the week that is not over

	writing chan struct{} // has an element while the file is written
	said    bool          // that the file cannot be written; of the goroutine that writes
}

// New returns the figures, with what an earlier run left in the file. A file that cannot be read is set aside, and that
// is said.
func New(cfg Config) *Figures {
	f := &Figures{cfg: cfg, hour: points{span: Hour()}, week: points{span: Week()}, writing: make(chan struct{}, 1)}
	for _, s := range cfg.Sources {
		f.readers = append(f.readers, &reader{source: s})
	}
	f.recall()
	return f
}

// Run keeps the figures until ctx ends.
func (f *Figures) Run(ctx context.Context) error {
	tick := time.NewTicker(Hour().Step)
	defer tick.Stop()
	for {
		f.note(time.Now(), f.read(ctx))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return f.end()
		}
	}
}

// end writes the file a last time. A disk that does not answer is not waited for.
func (f *Figures) end() error {
	timer := time.NewTimer(endLimit)
	defer timer.Stop()
	select {
	case f.writing <- struct{}{}: // nobody writes
	case <-timer.C:
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.write()
	}()
	select {
	case <-done:
	case <-timer.C:
	}
	return nil
}

// note keeps the figures of a moment. When a step of the week is over, the file is written, unless that is still being
// done.
func (f *Figures) note(now time.Time, values []float32) {
	f.mu.Lock()
	f.hour.add(f.hour.span.slot(now), values)
	slot := f.week.span.slot(now)
	over := f.mean.count > 0 && slot != f.mean.slot
	if over {
		f.week.add(f.mean.slot, f.mean.values())
	}
	if over || f.mean.count == 0 {
		f.mean = mean{slot: slot}
	}
	f.mean.add(values)
	f.mu.Unlock()
	if !over {
		return
	}
	select {
	case f.writing <- struct{}{}:
		go func() {
			defer func() { <-f.writing }()
			f.write()
		}()
	default:
	}
}

// Series is one figure over time.
type Series struct {
	Name, Of, Unit string
	Values         []float32 // NaN: not known
}

// Show returns the figures of a span that ends now: of all its steps, the time that the first of them begins, and for
// each figure a value a step.
func (f *Figures) Show(s Span, now time.Time) (from time.Time, all []Series) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := &f.hour
	last := s.slot(now)
	if s == Week() {
		kept, last = &f.week, last-1 // the last step that is over
	}
	first := last - int64(s.Points) + 1
	for i, source := range f.cfg.Sources {
		one := Series{Name: source.Name, Of: source.Of, Unit: source.Unit, Values: make([]float32, s.Points)}
		for j := range one.Values {
			one.Values[j] = unknown()
		}
		for _, p := range kept.all {
			if p.slot >= first && p.slot <= last {
				one.Values[p.slot-first] = p.values[i]
			}
		}
		all = append(all, one)
	}
	return time.Unix(0, 0).Add(time.Duration(first) * s.Step).UTC(), all
}

func unknown() float32 { return float32(math.NaN()) }

// slot is the number of the step that a moment is in.
func (s Span) slot(t time.Time) int64 { return t.Unix() / int64(s.Step/time.Second) }

// points are the figures of a span, in the order of time.
type points struct {
	span Span
	all  []point
}

type point struct {
	slot   int64
	values []float32
}

// add adds a point. When the clock was set back, what is later than that was of another clock, and goes.
func (p *points) add(slot int64, values []float32) {
	for len(p.all) > 0 && p.all[len(p.all)-1].slot >= slot {
		p.all = p.all[:len(p.all)-1]
	}
	p.all = append(p.all, point{slot, values})
	first := 0
	for p.all[first].slot <= slot-int64(p.span.Points) {
		p.all[first] = point{}
		first++
	}
	p.all = p.all[first:]
}

// mean is the mean of several moments' figures, of each those that are known.
type mean struct {
	slot  int64
	count int
	sums  []float64
	known []int
}

func (m *mean) add(values []float32) {
	if m.count++; m.sums == nil {
		m.sums, m.known = make([]float64, len(values)), make([]int, len(values))
	}
	for i, v := range values {
		if !math.IsNaN(float64(v)) {
			m.sums[i] += float64(v)
			m.known[i]++
		}
	}
}

func (m *mean) values() []float32 {
	out := make([]float32, len(m.sums))
	for i := range out {
		if out[i] = unknown(); m.known[i] > 0 {
			out[i] = float32(m.sums[i] / float64(m.known[i]))
		}
	}
	return out
}

// reader reads a source, once at a time.
type reader struct {
	source Source

	mu   sync.Mutex
	busy bool

	// of what was read last, for a rate
	last float64
	at   time.Time
}

// read reads all sources, and waits for none longer than the limit.
func (f *Figures) read(ctx context.Context) []float32 {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	values := make([]float32, len(f.readers))
	got := make([]chan float32, len(f.readers))
	for i, r := range f.readers {
		got[i] = r.begin()
	}
	for i, c := range got {
		values[i] = unknown()
		if c == nil {
			continue
		}
		select {
		case values[i] = <-c:
		case <-ctx.Done():
			select {
			case values[i] = <-c:
			default:
			}
		}
	}
	return values
}

// begin has the source read. It returns nil while it is being read.
func (r *reader) begin() chan float32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy {
		return nil
	}
	r.busy = true
	out := make(chan float32, 1)
	go func() {
		v, err := r.source.Read()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.busy = false
		out <- r.figure(v, err, time.Now())
	}()
	return out
}

// figure is what was read, or how it grew.
func (r *reader) figure(v float64, err error, now time.Time) float32 {
	last, at := r.last, r.at
	switch {
	case err != nil, math.IsNaN(v), math.IsInf(v, 0):
		r.at = time.Time{}
		return unknown()
	case !r.source.Rate:
		return float32(v)
	}
	r.last, r.at = v, now
	if at.IsZero() || v < last || !now.After(at) {
		return unknown()
	}
	return float32((v - last) / now.Sub(at).Seconds())
}
