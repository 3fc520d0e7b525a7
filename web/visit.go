package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
)

// How long the API may take: other nodes are given five seconds by the API itself.
const (
	soon  = 4 * time.Second
	later = 7 * time.Second
)

// most is how many requests a page makes at most, that of the head among them.
const most = 6

// onePage is how many lines of a list a page has.
const onePage = 100

// visit is one request for a page: what it is asked by, and what could not be read.
type visit struct {
	api   *client.Client
	query url.Values
	given map[string]string // the parameters of the path
	now   time.Time
	zone  *time.Location
	about string   // what the page is about, after its title
	acts  []string // paths of what can be done here
	live  bool     // the page changes by itself, and is redrawn
	// person is who acts. Pages do not know it: what one shows may be drawn for another.
	person string

	going  sync.WaitGroup
	mu     sync.Mutex // for the rest
	asked  int
	faults []fault
	status *wire.Status // nil: not known
	out    bool         // the API does not take the session
}

// fault is a part of a page that could not be read.
type fault struct {
	Part   string `json:"part"`             // message
	Why    string `json:"why"`              // message
	Reason string `json:"reason,omitempty"` // in English, if the message does not say all
}

// errTooMany reports a page that asks more than it may, which a test shows.
var errTooMany = errors.New("the page asks for too much")

// ask asks the API for a part of the page, beside the other parts; what fails becomes a fault. The answer is there
// after wait.
func (v *visit) ask(ctx context.Context, part string, limit time.Duration, do func(context.Context) error) {
	v.mu.Lock()
	v.asked++
	tooMany := v.asked > most
	v.mu.Unlock()
	if tooMany {
		v.failed(part, errTooMany)
		return
	}
	v.going.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if err := do(ctx); err != nil {
			v.failed(part, err)
		}
	})
}

// wait waits for all that was asked.
func (v *visit) wait() { v.going.Wait() }

// failed notes that a part could not be read.
func (v *visit) failed(part string, err error) {
	f := partFault(part, err)
	var answered *wire.Error
	v.mu.Lock()
	defer v.mu.Unlock()
	v.faults = append(v.faults, f)
	v.out = v.out || errors.As(err, &answered) && answered.Status == http.StatusUnauthorized
}

// partFault says why a part could not be read.
func partFault(part string, err error) fault {
	f := fault{Part: part, Why: "web.fault-other", Reason: err.Error()}
	var answered *wire.Error
	if errors.As(err, &answered) {
		f.Reason = answered.Error()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		f.Why, f.Reason = "web.fault-late", ""
	case answered != nil && answered.Status == http.StatusForbidden:
		f.Why = "web.fault-forbidden"
	case errors.Is(err, wire.ErrNoQuorum):
		f.Why, f.Reason = "web.fault-no-quorum", ""
	case errors.Is(err, wire.ErrInvalid):
		f.Why = "web.fault-invalid"
	}
	return f
}

// askStatus asks for the state of the cluster, which every page's head has.
func (v *visit) askStatus(ctx context.Context) {
	v.ask(ctx, "web.part-status", soon, func(ctx context.Context) error {
		st, err := v.api.Status(ctx)
		if err == nil {
			v.status = &st
		}
		return err
	})
}

// known returns the state of the cluster once it is there, nil if it is not known.
func (v *visit) known() *wire.Status {
	v.wait()
	return v.status
}

// at is where the list of this page begins.
func (v *visit) at() client.Place {
	limit := onePage
	if v.query.Get("format") == "csv" {
		limit = wire.MaxPage
	}
	return client.Place{After: v.query.Get("after"), Limit: limit}
}

// offer names acts that can be done here, each by the segments of its path.
func (v *visit) offer(segments ...any) { v.acts = append(v.acts, way(segments...)) }

// id reads a number of the path.
func (v *visit) id(name string) (uint64, error) {
	id, err := strconv.ParseUint(v.given[name], 10, 53)
	if err != nil {
		return 0, wire.ErrNotFound
	}
	return id, nil
}

// number reads a number of the query. Another text is a fault, and false.
func (v *visit) number(name, part string) (uint64, bool) {
	text := v.query.Get(name)
	if text == "" {
		return 0, true
	}
	n, err := strconv.ParseUint(text, 10, 53)
	if err != nil {
		v.failed(part, &wire.Error{Status: http.StatusUnprocessableEntity, Code: wire.CodeInvalid,
			Detail: name + ": want a number"})
		return 0, false
	}
	return n, true
}

// listed is a page of a list. Without an answer, it says nothing, not even that the list is empty.
type listed[T any] struct {
	Asked bool   `json:"answered"` // the list was read
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
	Total *int64 `json:"total,omitempty"`

	Silent []wire.SilentNode `json:"silent,omitempty"` // nodes that did not answer
}

// InAll is Total, for the templates.
func (l *listed[T]) InAll() int64 { return *l.Total }

func (l *listed[T]) set(p wire.Page[T], err error) error {
	if err == nil {
		*l = listed[T]{Asked: true, Items: p.Items, Next: p.Next, Total: p.Total, Silent: p.Silent}
	}
	return err
}
