package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Board shows what each worker of a crawl is doing, and adds up how long each stage of the chain took. It is safe for
// concurrent use, and workers do not wait for each other.
type Board struct {
	stages []string

	mu      sync.Mutex
	workers []*Worker
	gone    []StageCount // of workers that left
}

// Worker is one worker's place on the board. Its methods are for that worker.
type Worker struct {
	board *Board

	mu     sync.Mutex
	now    Doing
	counts []StageCount
}

// Doing is what a worker is doing.
type Doing struct {
	Worker     int       `json:"worker"`
	URI        string    `json:"uri,omitempty"` // "": none
	Path       string    `json:"path,omitempty"`
	Via        string    `json:"via,omitempty"`
	Tries      int       `json:"tries,omitempty"`
	Stage      string    `json:"stage,omitempty"` // "": between stages
	Since      time.Time `json:"since"`           // of the URI, or of having none
	StageSince time.Time `json:"stage_since"`

	stage int // -1: none
}

// StageCount is how often a stage of the chain ran and how long it took in all.
type StageCount struct {
	Stage string        `json:"stage"`
	URIs  int64         `json:"uris"`
	Time  time.Duration `json:"time"`
}

// NewBoard makes a board for a chain of these stages.
func NewBoard(stages ...string) *Board { return &Board{stages: stages, gone: newCounts(stages)} }

func newCounts(stages []string) []StageCount {
	counts := make([]StageCount, len(stages))
	for i, s := range stages {
		counts[i].Stage = s
	}
	return counts
}

// Worker gives the worker with that number its place. It must Leave it.
func (b *Board) Worker(number int) *Worker {
	now := time.Now()
	w := &Worker{board: b, counts: newCounts(b.stages),
		now: Doing{Worker: number, Since: now, StageSince: now, stage: -1}}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.workers = append(b.workers, w)
	return w
}

// Begin says that the worker has taken up a URI.
func (w *Worker) Begin(uri, path, via string, tries int) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endStage(now)
	w.now = Doing{Worker: w.now.Worker, URI: uri, Path: path, Via: via, Tries: tries, Since: now, StageSince: now,
		stage: -1}
}

// Stage says that the worker has come to the chain's stage with that index; the one before has ended.
func (w *Worker) Stage(stage int) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endStage(now)
	if stage >= 0 && stage < len(w.counts) {
		w.now.stage, w.now.StageSince = stage, now
	}
}

// End says that the worker is done with its URI.
func (w *Worker) End() {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endStage(now)
	w.now = Doing{Worker: w.now.Worker, Since: now, StageSince: now, stage: -1}
}

func (w *Worker) endStage(now time.Time) {
	if w.now.stage >= 0 {
		c := &w.counts[w.now.stage]
		c.URIs++
		c.Time += now.Sub(w.now.StageSince)
		w.now.stage, w.now.StageSince = -1, now
	}
}

// Leave gives the place back; the figures stay.
func (w *Worker) Leave() {
	w.End()
	b := w.board
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.workers, w); i >= 0 {
		b.workers = slices.Delete(b.workers, i, i+1)
		addCounts(b.gone, w.counts)
	}
}

func addCounts(to, counts []StageCount) {
	for i, c := range counts {
		to[i].URIs += c.URIs
		to[i].Time += c.Time
	}
}

// Workers lists what each worker is doing, by number.
func (b *Board) Workers() []Doing {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]Doing, 0, len(b.workers))
	for _, w := range b.workers {
		w.mu.Lock()
		d := w.now
		w.mu.Unlock()
		if d.stage >= 0 {
			d.Stage = b.stages[d.stage]
		}
		all = append(all, d)
	}
	slices.SortStableFunc(all, func(a, b Doing) int { return a.Worker - b.Worker })
	return all
}

// Stages tells how often each stage has ended and how long it took.
func (b *Board) Stages() []StageCount {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts := slices.Clone(b.gone)
	for _, w := range b.workers {
		w.mu.Lock()
		addCounts(counts, w.counts)
		w.mu.Unlock()
	}
	return counts
}

// WriteThreads writes threads-report.txt: what each worker was doing at that time.
func WriteThreads(w io.Writer, job string, workers []Doing, at time.Time) error {
	out := bufio.NewWriter(w)
	active := 0
	for _, d := range workers {
		if d.URI != "" {
			active++
		}
	}
	_, _ = fmt.Fprintf(out, "Toe threads report - %s\n Job being crawled: %s\n Number of toe threads in pool: %d (%d "+
		"active)\n\n",
		at.UTC().Format("200601021504"), oneLine(nil, job), len(workers), active)
	for _, d := range workers {
		_, _ = fmt.Fprintf(out, "[ToeThread #%d: %s\n", d.Worker, escape(nil, d.URI))
		state, step := "WAITING", "ABOUT_TO_GET_URI"
		if d.URI != "" {
			state, step = "ACTIVE", "ABOUT_TO_BEGIN_PROCESSOR"
			_, _ = fmt.Fprintf(out, " CrawlURI %s %s %s    %d attempts\n    in processor: %s\n", escape(nil, d.URI),
				d.Path, word(nil, d.Via), d.Tries,
				word(nil, d.Stage))
		} else {
			_, _ = out.WriteString(" -no CrawlURI- \n")
		}
		_, _ = fmt.Fprintf(out, "    %s for %s\n    step: %s for %s\n]\n", state, Conventional(at.Sub(d.Since)), step,
			Conventional(at.Sub(d.StageSince)))
	}
	return out.Flush()
}

// Processor is a stage of the chain in the processors report.
type Processor struct {
	StageCount
	Function string   // its purpose
	Lines    []string // further figures, as "6894 links from 449 CrawlURIs"
}

// WriteProcessors writes processors-report.txt.
func WriteProcessors(w io.Writer, chain string, processors []Processor, at time.Time) error {
	out := bufio.NewWriter(w)
	_, _ = fmt.Fprintf(out, "%s - Processors report - %s\n  Number of Processors: %d\n\n", chain,
		at.UTC().Format("200601021504"), len(processors))
	for _, p := range processors {
		_, _ = fmt.Fprintf(out, "Processor: %s\n", oneLine(nil, p.Stage))
		if p.Function != "" {
			_, _ = fmt.Fprintf(out, "  Function:          %s\n", oneLine(nil, p.Function))
		}
		mean := time.Duration(0)
		if p.URIs > 0 {
			mean = p.Time / time.Duration(p.URIs)
		}
		_, _ = fmt.Fprintf(out, "  CrawlURIs handled: %d\n  Time:              %s (%s ms each)\n", p.URIs,
			Conventional(p.Time),
			strconv.FormatFloat(float64(mean)/1e6, 'f', 3, 64))
		for _, l := range p.Lines {
			_, _ = fmt.Fprintf(out, "  %s\n", oneLine(nil, l))
		}
		_ = out.WriteByte('\n')
	}
	_ = out.WriteByte('\n')
	return out.Flush()
}
