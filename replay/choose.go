package replay

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"holdfast/access"
	"holdfast/cdx"
)

// candidates is how many captures are tried when the nearest cannot be shown.
const candidates = 24

// latest is later than any capture.
const latest = "99991231235959"

// The very URL that was asked for comes before others of its key, unless it is that many seconds farther from the
// time asked for. Another spelling of scheme and host mostly names the same page, another spelling of the path often
// does not.
const (
	farForHost = 24 * 3600
	farForPath = 365 * 24 * 3600
)

// choice of captures, the best first.
type chosen struct {
	captures   []cdx.Capture
	incomplete *cdx.Incomplete
}

// nearest returns captures to try, the best first, that the reader may see.
func nearest(ctx context.Context, in Captures, t target) (chosen, error) {
	s := selection{captures: in, ctx: ctx, target: t, gate: access.Open{Sight: sightOf(ctx)}, seen: map[place]bool{}}
	if err := s.gather(); err != nil {
		return chosen{}, err
	}
	slices.SortStableFunc(s.found, compareRanked)
	out := chosen{incomplete: s.incomplete}
	for _, r := range s.found[:min(len(s.found), candidates)] {
		out.captures = append(out.captures, r.Capture)
	}
	return out, nil
}

// selection gathers the captures that may be the answer.
type selection struct {
	captures   Captures
	ctx        context.Context
	target     target
	gate       cdx.Gate
	low, high  string // the span that was asked for
	found      []ranked
	seen       map[place]bool
	incomplete *cdx.Incomplete
}

// place is where a capture's record lies.
type place struct {
	file   string
	offset int64
}

// ranked is a capture with what orders it among others.
type ranked struct {
	cdx.Capture
	leads   bool  // to its own key: http to https, or to www; no answer when there is another
	failing bool  // of what a page embeds: the server had no answer just then
	outside bool  // of the span that was asked for
	far     int64 // seconds, and what another URL counts for
}

func compareRanked(a, b ranked) int {
	return cmp.Or(boolInt(a.leads)-boolInt(b.leads), boolInt(a.failing)-boolInt(b.failing),
		boolInt(a.outside)-boolInt(b.outside), cmp.Compare(a.far, b.far))
}

// gather asks for the captures nearest to the time, and in the span if a short timestamp names one. If the very URL is
// not among them, it is asked for by itself: other URLs of its key may have been captured often.
func (s *selection) gather() error {
	stamp := s.target.timestamp
	var err error
	if s.low, err = cdx.PadTimestamp(stamp, cdx.Low); err == nil {
		s.high, err = cdx.PadTimestamp(stamp, cdx.High)
	}
	if err == nil {
		_, err = cdx.ParseTimestamp(s.low, cdx.Low)
	}
	if err != nil { // none, or no date
		s.low, s.high = latest, latest
	}
	if err := s.around(); err != nil {
		return err
	}
	if slices.ContainsFunc(s.found, func(r ranked) bool { return distanceOfURL(s.target.url, r.URL) == 0 }) ||
		len(s.found) < candidates {
		return nil
	}
	url, err := cdx.Normalize(s.target.url)
	if err != nil {
		return nil
	}
	return s.around("=url:" + url)
}

// around asks for captures in the span, and on both sides of it.
func (s *selection) around(filters ...string) error {
	q := cdx.Query{URL: s.target.url, Sort: cdx.Closest, Limit: candidates, Gate: s.gate, Filters: filters}
	if s.low == s.high {
		q.Closest = s.low
		return s.ask(q)
	}
	within, before, after := q, q, q
	within.Closest, within.From, within.To = s.low, s.low, s.high
	before.Closest, before.To = s.low, s.low
	after.Closest, after.From = s.high, s.high
	for _, q := range []cdx.Query{within, before, after} {
		if err := s.ask(q); err != nil {
			return err
		}
	}
	return nil
}

func (s *selection) ask(q cdx.Query) error {
	for c, err := range cdx.Arrange(q, s.captures.Query(s.ctx, q)) {
		var incomplete *cdx.Incomplete
		if errors.As(err, &incomplete) {
			s.incomplete = incomplete
			continue
		}
		if err != nil {
			return err
		}
		if at := (place{c.File, c.Offset}); !s.seen[at] {
			s.seen[at] = true
			s.found = append(s.found, s.rank(c))
		}
	}
	return nil
}

// rank finds out what orders a capture.
func (s *selection) rank(c cdx.Capture) ranked {
	r := ranked{Capture: c, outside: c.Timestamp < s.low || c.Timestamp > s.high}
	if m := s.target.modifier; m != "id_" && m != "ir_" {
		r.leads = redirectsToItself(c)
	}
	if isEmbedded(s.target.modifier) {
		r.failing = c.Status == 429 || c.Status >= 500
	}
	edge := s.low
	if c.Timestamp > s.high {
		edge = s.high
	}
	r.far = apart(c.Timestamp, edge)
	if s.low == s.high {
		r.outside = false
	}
	r.far += distanceOfURL(s.target.url, c.URL)
	return r
}

// isEmbedded reports whether a modifier stands for what a page embeds.
func isEmbedded(modifier string) bool {
	switch modifier {
	case "js_", "cs_", "im_", "oe_", "wkr_", "wkrf_", "sw_":
		return true
	}
	return false
}

// apart counts the seconds between two timestamps.
func apart(a, b string) int64 {
	ta, errA := cdx.ParseTimestamp(a, cdx.Low)
	tb, errB := cdx.ParseTimestamp(b, cdx.Low)
	if errA != nil || errB != nil {
		return math.MaxInt64 / 4
	}
	n := ta.Unix() - tb.Unix()
	return max(n, -n)
}

// distanceOfURL is how many seconds it counts for that a capture of the same key has another URL than was asked for.
func distanceOfURL(asked, captured string) int64 {
	if sameURL(asked, captured) {
		return 0
	}
	if pathOf(asked) == pathOf(captured) {
		return farForHost
	}
	return farForPath
}

// pathOf returns what a URL has behind its host, as a browser would write it.
func pathOf(url string) string {
	if normal, err := cdx.Normalize(repairURL(url)); err == nil {
		url = normal
	}
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return rest[i:]
	}
	return "/"
}

func redirectsToItself(c cdx.Capture) bool {
	if c.Redirect == "" {
		return false
	}
	key, err := cdx.Key(c.Redirect)
	return err == nil && key == c.Key
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
