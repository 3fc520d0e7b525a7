package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/plan"
	"holdfast/crawler/report"
	"holdfast/harvest"
)

// GiveBack returns URIs to the frontier to be tried again, after a failure that may pass.
type GiveBack struct {
	frontier *frontier.Frontier
	entries  *plan.Entries
	heard    *hosts.Heard
	servers  *hosts.Servers
	turn     *Turn
	logs     *report.Logs
	log      *slog.Logger
}

// Retry is what becomes of a URI whose answer is recorded, and not the last.
type Retry struct {
	After time.Duration // until the next try
	Whole bool          // of its whole queue
	why   error
}

// NoteRetry annotates an answer that is recorded and after which the URI is tried again.
const NoteRetry = "triedAgain"

// rules gives back a robots.txt that the server cannot serve at the moment.
func (g *GiveBack) rules(v *Visit) (to Step, given bool, err error) {
	if !IsPrerequisite(v.URI) || strings.HasPrefix(v.URI.Key, LoginKey) {
		return Next, false, nil
	}
	status := v.Exchange.Status
	_, unreadable := v.robotsBody()
	if status != 429 && status < 500 && (!unreadable || status == 304) {
		return Next, false, nil
	}
	if kept, err := g.kept(v); kept || err != nil {
		return Next, false, err
	}
	most, delay := v.Set.MaxRetries, v.Set.RetryDelay.Std()
	if status < 500 { // 429 is a 4xx, and those count as no rules; what cannot be read will hardly change
		most, delay = max(v.Set.AnswerRetries, 1), RetryPause(v.Set, v.URI.Tries)
	}
	if rest := min(v.Exchange.RetryAfter, v.Set.MaxRetryAfter.Std()); rest > 0 && (status == 429 || status == 503) {
		most, delay = v.Set.MaxRetries, rest
	}
	if v.URI.Tries >= most {
		return Next, false, nil
	}
	v.URI.Status = status
	v.Problem = fmt.Errorf("robots.txt could not be fetched; next try in %v", delay)
	v.tell(g.logs)
	return Again, true, g.apart(v, delay)
}

// kept tells whether the rules of a site stay valid although its robots.txt cannot be fetched.
func (g *GiveBack) kept(v *Visit) (bool, error) {
	if v.Set.RobotsFailure != harvest.RobotsKeep || !IsPrerequisite(v.URI) || v.Target.URL == "" {
		return false, nil
	}
	kept, err := g.servers.Keeps(v.Target, time.Now())
	if kept {
		v.Note("robotsKept")
	}
	return kept, err
}

// answer decides whether the URI is tried again after its answer was recorded.
func (g *GiveBack) answer(v *Visit) *Retry {
	u, x := v.URI, v.Exchange
	if IsPrerequisite(u) {
		return nil
	}
	stalled := x.Truncated == "time" && x.Duration < v.Set.FetchTimeout.Std()
	rest := min(x.RetryAfter, v.Set.MaxRetryAfter.Std())
	asked := (x.Status == 429 || x.Status == 503) && rest > 0
	if !asked && !v.Set.Retries(x.Status, stalled || x.Truncated == "disconnect") {
		g.heard.Ended(hosts.SiteOf(v.Target), false)
		return nil
	}
	retry, most := &Retry{After: RetryPause(v.Set, u.Tries), Whole: x.Status == 429}, v.Set.AnswerRetries
	retry.why = fmt.Errorf("answer %d, which may pass; next try in %v", x.Status, retry.After)
	if asked {
		retry.After, retry.Whole, most = rest, true, v.Set.MaxRetries
		retry.why = fmt.Errorf("the server asks for a pause of %v; next try after that", x.RetryAfter)
	}
	switch {
	case u.Tries >= most:
		if u.Tries > 0 {
			g.heard.Ended(hosts.SiteOf(v.Target), true)
		}
		return nil
	case strings.HasSuffix(u.Path, string(rune(extract.Speculative))), g.heard.Hopeless(hosts.SiteOf(v.Target)):
		return nil
	}
	return retry
}

// longestPause is the longest before a try, unless the settings give a longer first one.
const longestPause = time.Hour

// RetryPause is how long to wait before a URI is tried again that was tried so often before.
func RetryPause(s *harvest.Settings, tries int) time.Duration {
	first := s.AnswerRetryDelay.Std()
	if first == 0 {
		first = min(s.RetryDelay.Std(), longestPause)
	}
	wait := first
	for ; tries > 0 && wait < longestPause; tries-- {
		wait *= 3
	}
	return min(wait, max(first, longestPause))
}

// Later gives back a URI whose answer was recorded, to be tried again.
func (g *GiveBack) Later(v *Visit) {
	v.URI.Status = v.Status
	v.Problem = v.Retry.why
	v.tell(g.logs)
	wait := g.turn.Politeness(v)
	g.turn.End(v)
	o := frontier.Outcome{Wait: wait, Attach: &Outcome{Line: v.Line(), Records: v.Records, Seed: v.URI.Via == "",
		Retried: true}}
	if v.Exchange.Response != nil {
		o.Bytes = v.Exchange.Response.Size()
	}
	g.frontier.Later(v.URI, o, v.Retry.After, v.Retry.Whole)
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
	most, delay, err := g.patience(v)
	if err != nil {
		return Over, err
	}
	kept, err := g.kept(v)
	raw := v.Exchange != nil && len(v.Exchange.Unreadable) > 0 && !IsPrerequisite(v.URI) // is recorded
	switch {
	case err != nil:
		return Over, err
	case (permanent || kept || v.URI.Tries >= most) && raw:
		return Next, nil
	case permanent, kept, v.URI.Tries >= most:
		return Over, nil
	case raw:
		v.Retry = &Retry{After: delay, why: cause}
		v.Note(NoteRetry)
		return Next, nil
	}
	v.URI.Status = v.Status
	v.tell(g.logs)
	if v.Status == fetch.CodeDNSFailed || v.Status == fetch.CodeConnectFailed || IsPrerequisite(v.URI) {
		return Again, g.apart(v, delay)
	}
	g.turn.End(v)
	g.frontier.Retry(v.URI, delay, g.turn.Politeness(v), false)
	return Again, nil
}

// patience is how often a fetch that brought nothing is tried again, and after which pause: as the settings say for
// hosts that never answered, or for others.
func (g *GiveBack) patience(v *Visit) (most int, delay time.Duration, err error) {
	most, delay = v.Set.MaxRetries, v.Set.RetryDelay.Std()
	if v.Exchange != nil && len(v.Exchange.Unreadable) > 0 {
		return v.Set.AnswerRetries, RetryPause(v.Set, v.URI.Tries), nil
	}
	if v.Set.SilentRetries == 0 && v.Set.SilentRetryDelay == 0 {
		return most, delay, nil
	}
	site := frontier.Lookups + v.Host
	if v.Host == "" {
		site = hosts.SiteOf(v.Target)
	}
	if heard, err := g.heard.Ever(site); heard || err != nil {
		return most, delay, err
	}
	if v.Set.SilentRetries > 0 {
		most = min(most, v.Set.SilentRetries)
	}
	if v.Set.SilentRetryDelay > 0 {
		delay = v.Set.SilentRetryDelay.Std()
	}
	return most, delay, nil
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
	return hosts.SiteOf(t)
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
