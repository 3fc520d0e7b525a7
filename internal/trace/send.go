package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Bounds of sending.
const (
	maxBatch  = 512              // spans of a request
	sendEvery = 2 * time.Second  // what is there is sent, even if it is little
	patience  = 10 * time.Second // of a request
	farewell  = 2 * time.Second  // for what is there when the program ends
	maxAnswer = 64 << 10         // bytes that are read of an answer
	sayEvery  = time.Minute      // how often the log says that spans are dropped
)

// Config says where spans go, and whose they are.
type Config struct {
	URL       string            // of the collector, as in http://127.0.0.1:4318
	Service   string            // service.name
	Node      string            // service.instance.id
	Version   string            // service.version
	Scope     string            // what is traced as one, such as the cluster's id
	Transport http.RoundTripper // default: one of its own
	Now       func() time.Time
	Log       *slog.Logger
}

// Tracer sends spans. It is safe for concurrent use. Run has to be called, too.
type Tracer struct {
	cfg     Config
	address string
	web     *http.Client
	waiting chan record
	dropped atomic.Int64
	told    time.Time // only for Run
}

// CheckURL refuses the address of a collector that cannot be used, or that has credentials in it.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("want a URL such as \"http://127.0.0.1:4318\"")
	case u.User != nil:
		return errors.New("want a URL without user and password")
	case u.RawQuery != "" || u.Fragment != "" || len(text) > 500:
		return errors.New("want a URL without query, of at most 500 bytes")
	}
	return nil
}

// New returns a tracer that sends to the collector, whose address CheckURL takes.
func New(cfg Config) *Tracer {
	if cfg.Transport == nil {
		cfg.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 1,
			DialContext:         (&net.Dialer{Timeout: patience}).DialContext,
			TLSHandshakeTimeout: patience, MaxResponseHeaderBytes: maxAnswer}
	}
	return &Tracer{cfg: cfg, address: strings.TrimSuffix(cfg.URL, "/") + "/v1/traces",
		web: &http.Client{Transport: cfg.Transport, Timeout: patience,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		waiting: make(chan record, maxQueue)}
}

// queue keeps a span until it is sent, and drops it if too many wait.
func (t *Tracer) queue(r record) {
	select {
	case t.waiting <- r:
	default:
		t.dropped.Add(1)
	}
}

// Run sends spans until ctx ends, and then what is left, if that goes fast.
func (t *Tracer) Run(ctx context.Context) error {
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	defer t.web.CloseIdleConnections()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
			defer cancel()
			t.empty(last)
			if t.dropped.Add(int64(len(t.waiting))) > 0 {
				t.told = time.Time{}
				t.say("the node stops")
			}
			return nil
		case <-tick.C:
			t.empty(ctx)
		}
	}
}

// empty sends what waits, in batches.
func (t *Tracer) empty(ctx context.Context) {
	for {
		var batch []record
	fill:
		for len(batch) < maxBatch {
			select {
			case r := <-t.waiting:
				batch = append(batch, r)
			default:
				break fill
			}
		}
		why := "too many waited"
		if len(batch) > 0 {
			if err := t.send(ctx, batch); err != nil {
				why = err.Error()
			}
		}
		t.say(why)
		if len(batch) < maxBatch || ctx.Err() != nil {
			return
		}
	}
}

// say has the log say, now and then, how many spans were dropped.
func (t *Tracer) say(why string) {
	if now := t.cfg.Now(); t.dropped.Load() > 0 && (t.told.IsZero() || now.Sub(t.told) >= sayEvery) {
		t.told = now
		t.cfg.Log.Warn("spans are dropped: the traces have gaps", "spans", t.dropped.Swap(0), "reason", why)
	}
}

// send sends a batch. What the collector does not take is dropped, and counted.
func (t *Tracer) send(ctx context.Context, batch []record) error {
	rejected, err := t.post(ctx, t.encoded(batch))
	if err != nil {
		t.dropped.Add(int64(len(batch)))
		return err
	}
	if rejected > 0 {
		t.dropped.Add(min(rejected, int64(len(batch))))
		return errors.New("the collector rejects some")
	}
	return nil
}

func (t *Tracer) post(ctx context.Context, body []byte) (rejected int64, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.address, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("the address of the collector cannot be used")
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := t.web.Do(r)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return 0, fmt.Errorf("the collector does not answer: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if answer.StatusCode/100 != 2 {
		return 0, fmt.Errorf("the collector answers %d", answer.StatusCode)
	}
	if err != nil {
		return 0, fmt.Errorf("read the collector's answer: %w", err)
	}
	var says struct {
		Partial struct {
			Rejected json.Number `json:"rejectedSpans"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(text, &says) == nil { // an answer may be empty
		rejected, _ = says.Partial.Rejected.Int64()
	}
	return rejected, nil
}
