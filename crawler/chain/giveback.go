package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/plan"
	"holdfast/crawler/report"
)

// GiveBack returns URIs to the frontier to be tried again, after a failure that may pass.
type GiveBack struct {
	frontier *frontier.Frontier
	entries  *plan.Entries
	turn     *Turn
	logs     *report.Logs
	log      *slog.Logger
}

// tooMany gives back a URI whose server asks for a pause, or a robots.txt that the server cannot serve at the moment.
func (g *GiveBack) tooMany(v *Visit) (to Step, given bool, err error) {
	x := v.Exchange
	busy, rules := x.Status == 429 || x.Status == 503, IsPrerequisite(v.URI)
	rest := min(x.RetryAfter, v.Set.MaxRetryAfter.Std())
	asked := busy && rest > 0
	if v.URI.Tries >= v.Set.MaxRetries || !asked && !(rules && (busy || x.Status >= 500)) {
		return Next, false, nil
	}
	v.URI.Status = x.Status
	if !asked {
		v.Problem = fmt.Errorf("robots.txt could not be fetched; next try in %v", v.Set.RetryDelay)
		v.tell(g.logs)
		return Again, true, g.apart(v, v.Set.RetryDelay.Std())
	}
	v.Problem = fmt.Errorf("the server asks for a pause of %v; next try after that", x.RetryAfter)
	v.tell(g.logs)
	g.turn.End(v)
	g.frontier.Retry(v.URI, rest, max(rest, g.turn.Politeness(v)), true)
	return Again, true, nil
}

// Failed decides whether a fetch that brought nothing is tried again.
func (g *GiveBack) Failed(ctx context.Context, v *Visit, cause error, permanent bool) (Step, error) {
	if Killed(ctx) {
		v.Status = codeKilled
		return Over, nil
	}
	if ctx.Err() != nil { // the crawl stops; the host has been asked nevertheless
		g.turn.End(v)
		g.frontier.Return(v.URI, g.turn.Politeness(v))
		return Again, nil
	}
	g.log.Debug("fetch failed", "uri", v.URI.URL, "status", v.Status, "tries", v.URI.Tries+1, "error", cause)
	if cause != nil {
		v.Problem = cause
	}
	if permanent || v.URI.Tries >= v.Set.MaxRetries {
		return Over, nil
	}
	v.URI.Status = v.Status
	v.tell(g.logs)
	if v.Status == fetch.CodeDNSFailed || v.Status == fetch.CodeConnectFailed || IsPrerequisite(v.URI) {
		return Again, g.apart(v, v.Set.RetryDelay.Std())
	}
	g.turn.End(v)
	g.frontier.Retry(v.URI, v.Set.RetryDelay.Std(), g.turn.Politeness(v), false)
	return Again, nil
}

// ValueAside begins the names of the frontier's values that say which sites have a queue of their own, as they did not
// answer.
const ValueAside = "aside/"

// apart gives back a URI whose site does not answer, to be tried again after delay. Other URIs in its queue continue
// in the meantime.
func (g *GiveBack) apart(v *Visit, delay time.Duration) error {
	wait := g.turn.Politeness(v)
	g.turn.End(v)
	site := siteOf(v.URI)
	if site == "" {
		g.frontier.Retry(v.URI, delay, wait, true)
		return nil
	}
	moved, err := g.frontier.RetryApart(v.URI, site, site+"/", delay, wait)
	if moved {
		g.entries.Aside.Add(site)
		g.frontier.SetValue(ValueAside+site, []byte("1"))
	}
	return err
}

// toItsSite moves a URI there whose site has a queue of its own, and tells whether it did.
func (g *GiveBack) toItsSite(u *frontier.URI) (bool, error) {
	if !g.entries.Aside.Any() {
		return false, nil
	}
	site := siteOf(u)
	if site == "" || u.Queue == site || !g.entries.Aside.Has(site) {
		return false, nil
	}
	return true, g.frontier.Move(u, site)
}

// siteOf returns the site that a URI is for: its own or, for a prerequisite, the site of the URI that needs it; "" if
// there is none.
func siteOf(u *frontier.URI) string {
	url := u.URL
	if IsPrerequisite(u) {
		url = u.Via
	}
	t, err := fetch.ParseTarget(url)
	if err != nil {
		return ""
	}
	return t.Scheme + "://" + t.Authority
}

// Drop removes from the frontier a URI that was fetched besides a URI's own entry, or is left over from that. This is
// the only way to remove it.
func (g *GiveBack) Drop(u *frontier.URI) error {
	g.frontier.Return(u, 0)
	if _, err := g.frontier.Forget(plan.KeyOf(u)); err != nil && !errors.Is(err, frontier.ErrInFlight) {
		return err
	}
	return nil // a worker that has taken it in the meantime drops it too
}
