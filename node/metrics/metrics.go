// Package metrics shows a node's figures to Prometheus. The rooms give their figures as structs; only here they
// have the names of metrics. It asks the rooms at each scrape. What cannot be read, or not in time, is left out: no
// figure is ever a zero that stands for "not known".
//
// The number of series does not grow with the archive: no label has the name of a domain, job, file or URL.
package metrics

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// scrapeLimit is how long the parts may take to give their figures. Prometheus waits for 10 seconds unless told
// otherwise.
const scrapeLimit = 5 * time.Second

// atOnce is how many scrapes are answered at once; more are refused (503).
const atOnce = 4

// Metrics answers scrapes. It counts the requests of the handlers that Count wraps.
type Metrics struct {
	scrape   http.Handler
	requests *requests
}

// New returns what shows the figures of the parts, of the Go runtime and of the process.
func New(parts []Part, log *slog.Logger) *Metrics {
	registry := prometheus.NewRegistry()
	counted := newRequests()
	registry.MustRegister(newFigures(parts, scrapeLimit, log), counted.total, counted.seconds,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &Metrics{requests: counted, scrape: promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: atOnce})}
}

// ServeHTTP answers a scrape. It does not ask who is there: that is for the caller to do.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "metrics are read with GET", http.StatusMethodNotAllowed)
		return
	}
	m.scrape.ServeHTTP(w, r)
}

// Part is a part of the figures, which can fail by itself.
type Part struct {
	name string
	read func() ([]sample, error)
}

// Figures are what a room gives of a part.
type Figures interface {
	samples() []sample
}

// Of returns a part. Read is called at a scrape, never twice at the same time, and may take its time: a scrape goes on
// without it after a while.
func Of[F Figures](name string, read func() (F, error)) Part {
	return Part{name, func() ([]sample, error) {
		f, err := read()
		if err != nil {
			return nil, err
		}
		return f.samples(), nil
	}}
}

// Known is Of for what is read without fault.
func Known[F Figures](name string, read func() F) Part {
	return Of(name, func() (F, error) { return read(), nil })
}

// sample is the value of one series.
type sample struct {
	metric string // in the table
	value  float64
	labels []string // values, in the order of the metric's labels
}

func one[N ~int | ~int64 | ~uint64 | ~float64](metric string, value N, labels ...string) sample {
	return sample{metric, float64(value), labels}
}

// fact is 1 or 0.
func fact(metric string, is bool, labels ...string) sample {
	if is {
		return sample{metric, 1, labels}
	}
	return sample{metric, 0, labels}
}

// errLate reports a part that did not give its figures in time.
var errLate = errors.New("no answer in time: perhaps a disk does not answer")

// figures collects the parts' figures.
type figures struct {
	descriptions map[string]described
	readers      []*reader
	limit        time.Duration
	log          *slog.Logger
}

type described struct {
	*prometheus.Desc
	kind prometheus.ValueType
}

func newFigures(parts []Part, limit time.Duration, log *slog.Logger) *figures {
	f := &figures{descriptions: map[string]described{}, limit: limit, log: log}
	for _, m := range table() {
		kind := prometheus.GaugeValue
		if m.kind == counter {
			kind = prometheus.CounterValue
		}
		if m.kind != histogram && m.name != requestsTotal {
			f.descriptions[m.name] = described{prometheus.NewDesc(m.name, m.help, m.labels, nil), kind}
		}
	}
	for _, p := range parts {
		f.readers = append(f.readers, &reader{part: p})
	}
	return f
}

// Describe implements prometheus.Collector.
func (f *figures) Describe(out chan<- *prometheus.Desc) {
	for _, d := range f.descriptions {
		out <- d.Desc
	}
}

// Collect implements prometheus.Collector: it asks all parts at once, and waits for none longer than the limit.
func (f *figures) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), f.limit)
	defer cancel()
	for _, r := range f.readers {
		r.begin()
	}
	for _, r := range f.readers {
		samples, took, err := r.wait(ctx)
		if err != nil {
			f.log.Warn("metrics: a part is left out", "part", r.part.name, "error", err)
		} else {
			samples = append(samples, one(partSeconds, took.Seconds(), r.part.name))
		}
		for _, s := range append(samples, fact(partSuccess, err == nil, r.part.name)) {
			out <- f.metric(s)
		}
	}
}

func (f *figures) metric(s sample) prometheus.Metric {
	d := f.descriptions[s.metric]
	if d.Desc == nil {
		return prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(errors.New("no metric "+s.metric)),
			errors.New("the table has no metric "+s.metric))
	}
	m, err := prometheus.NewConstMetric(d.Desc, d.kind, s.value, s.labels...)
	if err != nil {
		return prometheus.NewInvalidMetric(d.Desc, err)
	}
	return m
}

// reader reads a part, once at a time. Scrapes that come meanwhile share what is read.
type reader struct {
	part Part

	mu   sync.Mutex
	last *reading // under way if not done
}

type reading struct {
	done    chan struct{}
	samples []sample
	took    time.Duration
	err     error
}

// begin has the part read, unless it is being read. A read that a sick disk keeps is waited for by later scrapes, so
// that there is one of it at most.
func (r *reader) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil {
		select {
		case <-r.last.done:
		default:
			return
		}
	}
	now := &reading{done: make(chan struct{})}
	r.last = now
	go func() {
		defer close(now.done)
		began := time.Now()
		now.samples, now.err = r.part.read()
		now.took = time.Since(began)
	}()
}

func (r *reader) wait(ctx context.Context) ([]sample, time.Duration, error) {
	r.mu.Lock()
	now := r.last
	r.mu.Unlock()
	select {
	case <-now.done:
	case <-ctx.Done():
		select {
		case <-now.done: // while others were waited for
		default:
			return nil, 0, errLate
		}
	}
	return append([]sample(nil), now.samples...), now.took, now.err
}
