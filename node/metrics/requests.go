package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// requests counts HTTP requests by port and class of status. Paths are no labels: there is no end of them.
type requests struct {
	total   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

func newRequests() *requests {
	total, seconds := entryOf(requestsTotal), entryOf(requestSeconds)
	return &requests{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: total.name, Help: total.help}, total.labels),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: seconds.name, Help: seconds.help,
			Buckets: []float64{0.005, 0.02, 0.1, 0.5, 2, 10, 60}}, seconds.labels),
	}
}

// Count returns h with its requests counted as those of the port.
func (m *Metrics) Count(port string, h http.Handler) http.Handler {
	var classes [6]prometheus.Counter
	for class := 1; class <= 5; class++ {
		classes[class] = m.requests.total.WithLabelValues(port, strconv.Itoa(class)+"xx")
	}
	seconds := m.requests.seconds.WithLabelValues(port)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		out := &statusAnswer{ResponseWriter: w}
		defer func() {
			seconds.Observe(time.Since(began).Seconds())
			if class := out.status / 100; class >= 1 && class <= 5 {
				classes[class].Inc()
			} else {
				classes[2].Inc() // nothing was written: net/http answers 200
			}
		}()
		h.ServeHTTP(out, r)
	})
}

// statusAnswer notes the status of an answer.
type statusAnswer struct {
	http.ResponseWriter
	status int
}

// WriteHeader begins the answer. Those that only announce it do not count.
func (w *statusAnswer) WriteHeader(status int) {
	if w.status == 0 && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusAnswer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Flush sends what was written.
func (w *statusAnswer) Flush() { _ = w.FlushError() }

// FlushError is Flush for those who want to know whether it was sent.
func (w *statusAnswer) FlushError() error {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap gives net/http the writer itself.
func (w *statusAnswer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
