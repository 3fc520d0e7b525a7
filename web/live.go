package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"sync"
	"time"

	"holdfast/internal/look"
)

// Pages of what changes by itself are redrawn: their script asks for the same page with format=part and puts in what
// is different. What the archive is asked for that is shared by all who look at the same page at this node.

// redrawEvery is how often a page is redrawn, and for how long an answer is shared.
const redrawEvery = 5 * time.Second

// askTime bounds how long the questions of a page take: each has a limit of its own below it.
const askTime = 15 * time.Second

// Bounds of what is shared.
const (
	maxShared    = 64   // pages
	maxSharedKey = 2000 // bytes of path and query
)

//go:embed live.js
var liveScript []byte

// script returns the script that redraws pages. Its name changes with its content.
func script() look.Sheet {
	sum := sha256.Sum256(liveScript)
	return look.Sheet{Name: "live-" + hex.EncodeToString(sum[:6]) + ".js", Content: liveScript}
}

// scripted is the policy of pages that are redrawn: they load the script of this origin, which asks this origin.
const scripted = policy + "; script-src 'self'; connect-src 'self'"

// program answers the script, under a name that changes with it.
func (h *Handler) program(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	w.Header().Set("Cache-Control", look.Cache)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(h.script.Content))
}

// asPart reports whether the script asks for what has changed.
func (t *turn) asPart() bool { return t.r.URL.Query().Get("format") == "part" }

// looked is what the archive answered about a page. It is not changed any more, and many may read it.
type looked struct {
	*visit
	data any
	err  error // stands for the whole page
}

// shared keeps what the archive answered about pages that are redrawn, so that each is asked for once at a time and
// once in redrawEvery, however many look at it. It may be used concurrently.
type shared struct {
	now    func() time.Time
	mu     sync.Mutex
	rounds map[string]*round
}

// round is one time of asking about a page.
type round struct {
	began time.Time
	ended chan struct{} // closed when got is known
	got   *looked       // nil: it is for nobody else
}

func newShared(now func() time.Time) *shared { return &shared{now: now, rounds: map[string]*round{}} }

// get returns what was answered about the page of the key, by somebody else or by asking now. Without an answer before
// ctx ends it returns nil. An answer to somebody who is signed out, or about a
// page that is not redrawn, is for nobody else.
func (s *shared) get(ctx context.Context, key string, ask func() *looked) *looked {
	r, mine := s.join(key)
	switch {
	case r == nil:
		return ask()
	case !mine:
		select {
		case <-r.ended:
		case <-ctx.Done():
			return nil
		}
		if r.got != nil {
			return r.got
		}
		return ask()
	}
	var got *looked
	defer func() { s.end(key, r, got) }() // also if it panics
	out := ask()
	if !out.out && out.live {
		got = out
	}
	return out
}

// join returns the round of a page, and whether the caller is the one to ask. It returns nil for what is not shared.
func (s *shared) join(key string) (r *round, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	r = s.rounds[key]
	if r != nil && (!r.over() || now.Sub(r.began) < redrawEvery) {
		return r, false
	}
	for other, r := range s.rounds {
		if r.over() && now.Sub(r.began) >= redrawEvery {
			delete(s.rounds, other)
		}
	}
	if len(s.rounds) >= maxShared || len(key) > maxSharedKey {
		return nil, true
	}
	r = &round{began: now, ended: make(chan struct{})}
	s.rounds[key] = r
	return r, true
}

// end tells the answer of a round to all who wait for it.
func (s *shared) end(key string, r *round, got *looked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.got = got; got == nil && s.rounds[key] == r {
		delete(s.rounds, key)
	}
	close(r.ended)
}

func (r *round) over() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}
