package crawler

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/scope"
	"holdfast/harvest"
	"holdfast/warc"
)

// visit is a URI on its way through the chain: what the frontier knew of it, and what each stage found out.
type visit struct {
	uri    *frontier.URI
	set    *harvest.Settings // in effect for it
	factor int               // by which its host's rests are longer; 0: its host was not asked for
	target fetch.Target      // zero for dns:
	host   string            // of a dns: URI
	addrs  []netip.Addr

	answer   *fetch.Answer   // of a DNS look-up
	exchange *fetch.Exchange // of an HTTP fetch
	status   int             // as the log has it
	notes    []string        // annotations

	links   extract.Result
	records []warc.Position // where it was written
	digest  string
}

// Where a stage sends a URI.
type step int

const (
	next  step = iota // to the next stage
	over              // it ends here: to its post-processing
	again             // it was given back to the frontier
)

// stage is one station of the chain.
type stage func(ctx context.Context, v *visit) (step, error)

// worker takes URIs through the chain, one at a time.
type worker struct {
	*Crawl
	number    int
	chain     []stage
	extractor *extract.Extractor
	found     []frontier.URI
	outlinks  []byte
}

func newWorker(c *Crawl, number int) *worker {
	w := &worker{Crawl: c, number: number, extractor: extract.New()}
	w.chain = []stage{w.preFetch, w.takeTurn, w.fetch, w.extract, w.record}
	return w
}

// visit takes one URI through the chain. An error means that the crawl cannot go on.
func (w *worker) visit(ctx context.Context, u *frontier.URI) error {
	v := &visit{uri: u, set: w.base()}
	defer func() {
		w.endTurn(v)
		if v.exchange != nil {
			v.exchange.Release()
		}
	}()
	for _, s := range w.chain {
		to, err := s(ctx, v)
		if err != nil {
			return err
		}
		if to == again {
			return nil
		}
		if to == over {
			break
		}
	}
	return w.postProcess(ctx, v)
}

// preFetch decides whether the URI is to be fetched at all and whether something else has to be known first.
func (w *worker) preFetch(_ context.Context, v *visit) (step, error) {
	u := v.uri
	if host, ok := strings.CutPrefix(u.URL, "dns:"); ok {
		v.host = host
		return next, nil
	}
	target, err := fetch.ParseTarget(u.URL)
	if err != nil {
		v.status = fetch.CodeUnfetchable
		if errors.Is(err, fetch.ErrScheme) {
			v.notes = append(v.notes, "unsupportedScheme")
		}
		return over, nil
	}
	v.target, v.set = target, w.settingsOf(target)
	subject := &scope.Subject{URL: u.URL, Path: u.Path, Via: u.Via, Source: u.Source, Queue: u.Queue, Now: time.Now(), Settings: v.set}
	if verdict := w.scope.Decide(subject); !verdict.Accepted() {
		v.status = verdict.Status
		if verdict.Note != "" {
			v.notes = append(v.notes, verdict.Note)
		}
		return over, nil
	}
	if to, err := w.addresses(v); to != next || err != nil {
		return to, err
	}
	if v.set.Robots == harvest.RobotsIgnore || isPrerequisite(u) {
		return next, nil
	}
	return w.robots(v)
}

// addresses finds where the host is; its name has to be looked up first, as a URI of its own.
func (w *worker) addresses(v *visit) (step, error) {
	if addr, err := netip.ParseAddr(v.target.Host); err == nil {
		v.addrs = []netip.Addr{addr}
	} else {
		facts, err := w.servers.host(v.target.Host, time.Now())
		switch {
		case err != nil:
			return over, err
		case facts == nil:
			return again, w.frontier.Defer(v.uri, w.prerequisite(v.uri, "dns:"+v.target.Host))
		case len(facts.Addrs) == 0:
			v.status = codeNoDomain
			return over, nil
		}
		v.addrs = facts.Addrs
	}
	for _, a := range v.addrs {
		if w.allowed(a) {
			return next, nil
		}
	}
	v.status = fetch.CodeForbidden
	v.notes = append(v.notes, "privateAddress")
	return over, nil
}

// robots asks the site's robots.txt, which has to be fetched first.
func (w *worker) robots(v *visit) (step, error) {
	facts, err := w.servers.site(v.target.Scheme, v.target.Authority, time.Now())
	switch {
	case err != nil:
		return over, err
	case facts == nil:
		return again, w.frontier.Defer(v.uri, w.prerequisite(v.uri, robotsURL(v.target)))
	case facts.Unreachable:
		v.status = codeNoRobots
		return over, nil
	case !facts.rules.Allowed(v.target.Path):
		v.status = codePrecluded
		return over, nil
	}
	return next, nil
}

// Codes of URIs that were not fetched, as Heritrix numbers them.
const (
	codeNoDomain  = -6
	codeNoRobots  = -61
	codePrecluded = -9998
)

func (w *worker) prerequisite(u *frontier.URI, url string) frontier.URI {
	return frontier.URI{URL: url, Path: u.Path + "P", Via: u.URL, Source: u.Source, Queue: u.Queue}
}

func isPrerequisite(u *frontier.URI) bool { return strings.HasSuffix(u.Path, "P") }

func robotsURL(t fetch.Target) string { return t.Scheme + "://" + t.Authority + "/robots.txt" }

func isRobots(t fetch.Target) bool { return t.Path == "/robots.txt" }

// fetch gets the URI. What failed for now goes back to the frontier.
func (w *worker) fetch(ctx context.Context, v *visit) (step, error) {
	if v.host != "" {
		a := w.resolver.Lookup(ctx, v.host)
		v.answer, v.status = &a, a.Code
		if a.Code == fetch.CodeDNSOK {
			return next, nil
		}
		return w.failed(ctx, v, a.Err, a.Permanent)
	}
	x := w.client.Fetch(ctx, fetch.Request{Target: v.target, Addrs: v.addrs, Referer: v.referer()})
	v.exchange, v.status = x, x.Status
	v.notes = append(v.notes, x.Notes...)
	if x.Status > 0 {
		return next, nil
	}
	return w.failed(ctx, v, x.Err, x.Permanent)
}

// failed decides whether a fetch that brought nothing is tried again.
func (w *worker) failed(ctx context.Context, v *visit, cause error, permanent bool) (step, error) {
	if ctx.Err() != nil {
		w.frontier.Return(v.uri, 0)
		return again, nil
	}
	w.log.Debug("fetch failed", "uri", v.uri.URL, "status", v.status, "tries", v.uri.Tries+1, "error", cause)
	if permanent || v.uri.Tries >= v.set.MaxRetries {
		return over, nil
	}
	hostDown := v.status == fetch.CodeDNSFailed || v.status == fetch.CodeConnectFailed
	w.frontier.Retry(v.uri, v.set.RetryDelay.Std(), w.politeness(v), hostDown || isPrerequisite(v.uri))
	return again, nil
}

func (v *visit) referer() string {
	if isPrerequisite(v.uri) || strings.HasPrefix(v.uri.Via, "dns:") || strings.Contains(v.uri.Via, "@") {
		return ""
	}
	return v.uri.Via
}

// politeness is how long the queue has to rest after the visit.
func (c *Crawl) politeness(v *visit) time.Duration {
	if v.exchange == nil {
		return 0
	}
	s := v.set
	wait := time.Duration(float64(v.exchange.Duration) * s.DelayFactor)
	wait = min(max(wait, s.MinDelay.Std()), s.MaxDelay.Std())
	if s.Robots == harvest.RobotsObey {
		wait = max(wait, min(c.servers.delay(v.target.Scheme, v.target.Authority), s.MaxCrawlDelay.Std()))
	}
	return wait * time.Duration(max(v.factor, 1))
}
