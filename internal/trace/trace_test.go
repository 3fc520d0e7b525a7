package trace

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// collector takes what is sent, as a collector does.
type collector struct {
	*httptest.Server
	t      *testing.T
	mu     sync.Mutex
	bodies []string
	spans  map[string]span // by name
	answer func(w http.ResponseWriter) bool
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{t: t, spans: map[string]span{}}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		c.t.Errorf("%s %s %v", r.Method, r.URL, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answer != nil && c.answer(w) {
		return
	}
	c.bodies = append(c.bodies, string(body))
	var got export
	in := json.NewDecoder(strings.NewReader(string(body)))
	in.DisallowUnknownFields()
	if err := in.Decode(&got); err != nil {
		c.t.Errorf("%v: %s", err, body)
	}
	for _, of := range got.Resources {
		for _, s := range of.Scopes {
			for _, one := range s.Spans {
				if len(one.TraceID) != 32 || len(one.SpanID) != 16 || len(one.Begin) != 19 || len(one.End) != 19 || one.End < one.Begin || one.Kind == 0 || one.Name == "" {
					c.t.Errorf("%+v", one)
				}
				c.spans[one.Name] = one
			}
		}
	}
	_, _ = io.WriteString(w, "{}")
}

// texts returns all that was sent.
func (c *collector) texts() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.bodies, "\n")
}

func (c *collector) span(name string) span {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	s, there := c.spans[name]
	if !there {
		c.t.Fatalf("there is no span %q: %v", name, c.bodies)
	}
	return s
}

func newTracer(t *testing.T, c *collector) (*Tracer, *strings.Builder) {
	t.Helper()
	log := &strings.Builder{}
	return New(Config{URL: c.URL + "/", Service: "holdfast", Node: "north-1", Version: "v9", Scope: "cluster", Now: time.Now,
		Log: slog.New(slog.NewTextHandler(log, nil))}), log
}

// A request, the command in it and its end are parts of each other; the collector gets them as OTLP says.
func TestSpansAreSent(t *testing.T) {
	c := newCollector(t)
	tr, log := newTracer(t, c)
	h := tr.Requests("api", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, command := Part(r.Context(), "command job.create", Attribute{"holdfast.refused", false}, Attribute{"n", 7}, Attribute{"left out", 1.5})
		_, apply := Part(ctx, "apply")
		apply.End(nil)
		apply.End(errors.New("again"))
		command.End(errors.New("SECRET"))
		w.WriteHeader(http.StatusTeapot)
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/jobs/SECRET?token=SECRET", nil))
	tr.empty(t.Context())
	request, command, apply := c.span("POST /api/v1/jobs"), c.span("command job.create"), c.span("apply")
	if request.ParentID != "" || command.ParentID != request.SpanID || apply.ParentID != command.SpanID || command.TraceID != request.TraceID || apply.TraceID != request.TraceID {
		t.Errorf("%+v %+v %+v", request, command, apply)
	}
	if request.Kind != Server || request.Status != nil || command.Status == nil || command.Status.Code != statusError || apply.Status != nil {
		t.Errorf("%+v %+v %+v", request, command, apply)
	}
	all := c.texts()
	for _, want := range []string{`{"key":"service.name","value":{"stringValue":"holdfast"}}`, `{"key":"service.instance.id","value":{"stringValue":"north-1"}}`,
		`{"key":"http.response.status_code","value":{"intValue":"418"}}`, `{"key":"holdfast.refused","value":{"boolValue":false}}`, `{"key":"n","value":{"intValue":"7"}}`} {
		if !strings.Contains(all, want) {
			t.Errorf("it lacks %s: %s", want, all)
		}
	}
	if strings.Contains(all, "SECRET") || strings.Contains(all, "left out") || log.Len() > 0 {
		t.Errorf("%s; %s", all, log)
	}
}

// What programs do with the same thing is one trace, wherever they run; other things and other clusters have others.
func TestTracesOfThings(t *testing.T) {
	c := newCollector(t)
	one, _ := newTracer(t, c)
	two, _ := newTracer(t, c)
	other, _ := newTracer(t, c)
	other.cfg.Scope = "another cluster"
	for i, tr := range []*Tracer{one, two, other} {
		_, s := tr.Of(t.Context(), "file", "a.warc.gz", []string{"put", "copy", "foreign"}[i])
		s.End(nil)
		tr.empty(t.Context())
	}
	_, s := one.Of(t.Context(), "job", "a.warc.gz", "job")
	s.End(nil)
	one.empty(t.Context())
	if c.span("put").TraceID != c.span("copy").TraceID || c.span("put").TraceID == c.span("foreign").TraceID || c.span("put").TraceID == c.span("job").TraceID ||
		c.span("put").SpanID == c.span("copy").SpanID {
		t.Errorf("%s", c.texts())
	}
}

// Without a tracer nothing is noted, and who is traced need not know.
func TestNoTracer(t *testing.T) {
	var none *Tracer
	ctx, root := none.Root(t.Context(), "a", Server)
	ctx, thing := none.Of(ctx, "file", "f", "put")
	ctx, part := Part(ctx, "b")
	for _, s := range []*Span{root, thing, part} {
		s.Note(Attribute{"a", 1})
		s.End(nil)
		s.Fail("x")
	}
	if root != nil || part != nil || ctx != t.Context() {
		t.Error("something is noted")
	}
	h := http.NotFoundHandler()
	w := httptest.NewRecorder()
	none.Requests("api", h).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("%d", w.Code)
	}
}

// A collector that does not answer, or refuses, keeps nobody waiting: spans are dropped, and the log says how many.
func TestSpansAreDropped(t *testing.T) {
	note := func(tr *Tracer, n int) {
		for range n {
			_, s := tr.Root(t.Context(), "a", Internal)
			s.End(nil)
		}
	}
	c := newCollector(t)
	tr, log := newTracer(t, c)
	note(tr, maxQueue+1000) // nobody sends: the first ones wait
	if len(tr.waiting) != maxQueue || tr.dropped.Load() != 1000 {
		t.Errorf("%d wait, %d are dropped", len(tr.waiting), tr.dropped.Load())
	}
	tr.empty(t.Context())
	if !strings.Contains(log.String(), "spans=1000") || strings.Count(log.String(), "dropped") != 1 || len(tr.waiting) != 0 {
		t.Errorf("%d wait; %s", len(tr.waiting), log)
	}
	for what, answer := range map[string]struct {
		answer func(http.ResponseWriter) bool
		says   string
	}{
		"answers 503": {func(w http.ResponseWriter) bool { http.Error(w, "SECRET", http.StatusServiceUnavailable); return true }, "answers 503"},
		"redirects": {func(w http.ResponseWriter) bool {
			w.Header().Set("Location", "http://evil.test/")
			w.WriteHeader(307)
			return true
		}, "answers 307"},
		"rejects": {func(w http.ResponseWriter) bool {
			_, _ = io.WriteString(w, `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"SECRET"}}`)
			return true
		}, "rejects some"},
	} {
		c := newCollector(t)
		c.answer = answer.answer
		tr, log := newTracer(t, c)
		note(tr, 3)
		tr.empty(t.Context())
		if !strings.Contains(log.String(), "spans=3") || !strings.Contains(log.String(), answer.says) || strings.Contains(log.String(), "SECRET") {
			t.Errorf("%s: %s", what, log)
		}
		note(tr, 3) // it is said now and then
		tr.empty(t.Context())
		if strings.Count(log.String(), "dropped") != 1 {
			t.Errorf("%s: %s", what, log)
		}
	}
	gone := newCollector(t)
	gone.Close()
	tr, log = newTracer(t, gone)
	note(tr, 2)
	tr.empty(t.Context())
	if !strings.Contains(log.String(), "spans=2") || !strings.Contains(log.String(), "does not answer") {
		t.Errorf("nobody is there: %s", log)
	}
}

// hung never answers.
type hung struct{ asked chan struct{} }

func (h hung) RoundTrip(r *http.Request) (*http.Response, error) {
	h.asked <- struct{}{}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A collector that hangs holds up neither who is traced nor the end of the program.
func TestACollectorHangs(t *testing.T) {
	h := hung{make(chan struct{}, 10)}
	log := &strings.Builder{}
	tr := New(Config{URL: "http://collector.test", Transport: h, Now: time.Now, Log: slog.New(slog.NewTextHandler(log, nil))})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- tr.Run(ctx) }()
	_, s := tr.Root(ctx, "a", Internal)
	s.End(nil)
	<-h.asked // it hangs now
	for range 2 * maxQueue {
		_, s := tr.Root(ctx, "a", Internal)
		s.End(nil)
	}
	if len(tr.waiting) != maxQueue || tr.dropped.Load() < maxQueue {
		t.Errorf("%d wait, %d are dropped", len(tr.waiting), tr.dropped.Load())
	}
	began := time.Now()
	stop()
	if err := <-ended; err != nil || time.Since(began) > farewell+5*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	if !strings.Contains(log.String(), "the node stops") { // what was not sent is told
		t.Errorf("%s", log)
	}
}

// What is left when the program ends is sent.
func TestTheLastSpans(t *testing.T) {
	c := newCollector(t)
	tr, _ := newTracer(t, c)
	ctx, stop := context.WithCancel(t.Context())
	_, s := tr.Root(ctx, "last", Internal)
	s.End(nil)
	stop()
	if err := tr.Run(ctx); err != nil {
		t.Error(err)
	}
	c.span("last")
}

// A span is bounded, whatever it is given, and what is no text is made one.
func TestBoundsOfASpan(t *testing.T) {
	c := newCollector(t)
	tr, _ := newTracer(t, c)
	_, s := tr.Root(t.Context(), strings.Repeat("ä", 300), Internal)
	for range 2 * maxAttributes {
		s.Note(Attribute{"a", "\xff" + strings.Repeat("x", 10_000)})
	}
	s.End(nil)
	tr.empty(t.Context())
	if all := c.texts(); len(all) > 10_000 || strings.Count(all, `"key":"a"`) != maxAttributes || strings.Contains(all, "\xff") || !strings.Contains(all, "ää…") {
		t.Errorf("%d bytes: %s", len(all), all)
	}
}

// The name of a request has what all requests of its kind have, and nothing that somebody gave.
func TestNamesOfRequests(t *testing.T) {
	c := newCollector(t)
	tr, _ := newTracer(t, c)
	for path, want := range map[string]string{"/api/v1/files/a.warc.gz/content": "GET /api/v1/files", "/api/v1/../x": "GET /api/v1/", "/web/2020/http://u:p@x.org/?q": "GET /web",
		"/": "GET /", "/_/da/jobs": "GET /", "//evil": "GET /", "/jobs/12": "GET /jobs", "/" + strings.Repeat("a", 33): "GET /", "/gone": "GET", "/led-on": "GET", "/no-right": "GET", "/SECRET/x": "GET /"} {
		c.mu.Lock()
		clear(c.spans)
		c.mu.Unlock()
		h := tr.Requests("access", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/gone":
				http.NotFound(w, r)
			case "/led-on":
				w.WriteHeader(http.StatusSeeOther)
			case "/no-right":
				w.WriteHeader(http.StatusUnauthorized)
			}
		}))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.URL.Path = path
		h.ServeHTTP(httptest.NewRecorder(), r)
		tr.empty(t.Context())
		if s := c.span(want); s.Status != nil {
			t.Errorf("%s: %+v", path, s)
		}
	}
	func() {
		defer func() { _ = recover() }()
		tr.Requests("api", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })).
			ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "SECRET", "/cut", nil))
		t.Error("a panic does not go on")
	}()
	tr.empty(t.Context())
	if s := c.span("_OTHER /cut"); s.Status == nil || s.Status.Message != "cut off" || strings.Contains(c.texts(), "SECRET") {
		t.Errorf("%+v %s", s, c.texts())
	}
}

func TestCheckURL(t *testing.T) {
	for text, good := range map[string]bool{"http://127.0.0.1:4318": true, "https://otel.example.org/base": true, "": false, "127.0.0.1:4318": false, "grpc://x": false,
		"http://u:p@x": false, "http://x?token=1": false, "http://": false, "http://" + strings.Repeat("x", 500): false} {
		if err := CheckURL(text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A stranger makes no names: that a request is refused before anybody has looked at its path says nothing of the path.
func TestStrangersMakeNoNames(t *testing.T) {
	c := newCollector(t)
	tr, _ := newTracer(t, c)
	for _, tt := range []struct {
		method, path string
		status       int
		want         string
	}{
		{http.MethodPost, "/made-up", http.StatusForbidden, "POST"}, {http.MethodGet, "/made-up", http.StatusForbidden, "GET"},
		{http.MethodGet, "/made-up", http.StatusTooManyRequests, "GET"}, {http.MethodGet, "/api/v1/made-up", http.StatusTooManyRequests, "GET"},
		{http.MethodPost, "/made-up", http.StatusServiceUnavailable, "POST"}, {http.MethodPost, "/made-up", http.StatusBadRequest, "POST"},
		{http.MethodGet, "/api/v1/jobs/7", http.StatusForbidden, "GET /api/v1/jobs"}, {http.MethodPost, "/api/v1/jobs", http.StatusUnprocessableEntity, "POST /api/v1/jobs"},
		{http.MethodPost, "/jobs", http.StatusSeeOther, "POST /jobs"}, {http.MethodPost, "/jobs", http.StatusInternalServerError, "POST /jobs"},
	} {
		c.mu.Lock()
		clear(c.spans)
		c.mu.Unlock()
		h := tr.Requests("api", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tt.status) }))
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, nil))
		tr.empty(t.Context())
		c.span(tt.want)
	}
}

// No span ends before it begins, though the clock is set back meanwhile: collectors refuse those.
func TestAClockThatIsSetBack(t *testing.T) {
	c := newCollector(t)
	tr, _ := newTracer(t, c)
	now := time.Unix(1_800_000_000, 0)
	tr.cfg.Now = func() time.Time { return now }
	_, s := tr.Root(t.Context(), "a", Internal)
	now = now.Add(-time.Hour)
	s.End(nil)
	tr.empty(t.Context())
	if got := c.span("a"); got.End < got.Begin {
		t.Errorf("%+v", got)
	}
}
