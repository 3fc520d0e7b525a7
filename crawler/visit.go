package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/harvest"
	"holdfast/warc"
)

// visit is a URI on its way through the chain: what the frontier knew of it, and what each stage found out.
type visit struct {
	uri     *frontier.URI
	set     *harvest.Settings // in effect for it
	subject *scope.Subject    // it, to be judged
	factor  int               // by which its host's rests are longer; 0: its host was not asked for
	target  fetch.Target      // zero for dns:
	turns   []string          // that it has in this crawl
	turnAt  string            // the host that it has a turn at among crawls
	host    string            // of a dns: URI
	detour  bool              // its answer tells nothing of its own site
	addrs   []netip.Addr

	answer   *fetch.Answer   // of a DNS look-up
	exchange *fetch.Exchange // of an HTTP fetch
	earlier  *Capture        // that it was asked, or proved, not to differ from
	// unchanged: broken off after its head by a rule, and by its validators what the earlier capture is.
	unchanged bool
	status    int      // as the log has it
	notes     []string // annotations

	links    extract.Result
	records  []warc.Position // where it was written
	digest   string
	recordID string
	dedup    frontier.Dedup
	problem  error    // for the log of errors that do not stop a crawl
	part     pagePart // in a page that is loaded in a browser
}

// Where a stage sends a URI.
type step int

const (
	next  step = iota // to the next stage
	over              // it ends here: to its post-processing
	again             // it was given back to the frontier
)

// stage is one station of the chain.
type stage struct {
	name string
	does string // for the processors report
	run  func(w *worker, ctx context.Context, v *visit) (step, error)
}

// stages are the chain, in order. Post-processing follows for whatever does not go back to the frontier.
func stages() []stage {
	return []stage{
		{"preFetch", "Scope again, limits, address, robots.txt, login", (*worker).preFetch},
		{"browserSeat", "Wait for a browser, for pages that need one", (*worker).browserSeat},
		{"turn", "Wait for this crawl's turn at the host", (*worker).takeTurn},
		{"fetch", "Fetch DNS and HTTP URIs", (*worker).fetch},
		{"browse", "Load pages in a browser", (*worker).browse},
		{"extract", "Extract links from what was fetched", (*worker).extractPage},
		{"record", "Write WARC records", (*worker).record},
	}
}

// postProcess is the name of the last stage.
const postProcess = "postProcess"

func stageNames() (names []string) {
	for _, s := range stages() {
		names = append(names, s.name)
	}
	return append(names, postProcess)
}

// worker takes URIs through the chain, one at a time.
type worker struct {
	*Crawl
	number     int
	place      *report.Worker
	chain      []stage
	extractors map[extract.Options]*extract.Extractor
	subject    scope.Subject // of the visit under way
	link       scope.Subject // of the links found in it
	found      []frontier.URI
	outlinks   []byte
}

func newWorker(c *Crawl, number int) *worker {
	return &worker{Crawl: c, number: number, place: c.board.Worker(number), chain: stages(), extractors: map[extract.Options]*extract.Extractor{}}
}

// visit takes one URI through the chain. An error means that the crawl cannot go on.
func (w *worker) visit(ctx context.Context, u *frontier.URI) error {
	ctx, cancel := context.WithCancelCause(ctx)
	w.workers.begin(w.number, u.URL, cancel)
	w.place.Begin(u.URL, u.Path, u.Via, u.Tries)
	v := w.newVisit(u)
	defer func() {
		w.workers.end(w.number)
		w.place.End()
		cancel(nil)
		w.release(v)
	}()
	for i, s := range w.chain {
		w.place.Stage(i)
		to, err := s.run(w, ctx, v)
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
	w.place.Stage(len(w.chain))
	return w.postProcess(ctx, v)
}

func (w *worker) newVisit(u *frontier.URI) *visit {
	w.subject = scope.Subject{URL: u.URL, Path: u.Path, Via: u.Via, Source: u.Source, Queue: u.Queue, Now: time.Now()}
	return &visit{uri: u, set: w.base(), subject: &w.subject}
}

// release gives back what a visit holds.
func (w *worker) release(v *visit) {
	w.endTurn(v)
	if v.part.seat {
		w.browsers.leave()
	}
	if v.exchange != nil {
		v.exchange.Release()
	}
}

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
	if err := w.ask(ctx, v); err != nil {
		return over, err
	}
	if x := v.exchange; x.Status <= 0 {
		return w.failed(ctx, v, x.Err, x.Permanent)
	}
	if to, given, err := w.tooMany(v); given {
		return to, err
	}
	return next, nil
}

// ask sends the request, a second time if the server wants to know who is there and there is an answer.
func (w *worker) ask(ctx context.Context, v *visit) error {
	r, err := w.request(ctx, v)
	if err != nil {
		return err
	}
	for {
		x := w.client.Fetch(ctx, r)
		v.exchange, v.status = x, x.Status
		v.notes = append(v.notes, x.Notes...)
		if x.Status <= 0 {
			return nil
		}
		if v.set.Cookies {
			w.jar.Store(v.target, x.Head, time.Now())
		}
		if x.Status != 401 && r.Authorization == "" || !w.logins.Challenged(v.target, x.Head, r.Authorization) || !pause(ctx, w.politeness(v)) {
			return nil
		}
		r.Authorization = w.logins.Authorization(v.target, "GET")
		if v.set.Cookies {
			r.Cookie = w.jar.Cookie(v.target, time.Now())
		}
		x.Release()
		v.exchange, v.notes = nil, append(v.notes[:len(v.notes)-len(x.Notes)], "login")
	}
}

// request is what to ask for the URI.
func (w *worker) request(ctx context.Context, v *visit) (fetch.Request, error) {
	s := v.set
	r := fetch.Request{Target: v.target, Addrs: v.addrs, Referer: v.referer(), Authorization: w.logins.Authorization(v.target, "GET"),
		Way: w.plan.Load().routes.Way(v.target.Host), Limiters: [2]*fetch.Limiter{w.limiters.get(queueOf(v.target, s), s.HostBandwidth), w.bandwidth}}
	r.Configure(s)
	if s.Cookies {
		r.Cookie = w.jar.Cookie(v.target, time.Now())
	}
	if s.Conditional && !isPrerequisite(v.uri) {
		if err := w.validate(ctx, v, &r); err != nil {
			return r, err
		}
	}
	if len(s.MidFetchRules) > 0 && !isPrerequisite(v.uri) {
		r.MidFetch = func(head fetch.Head, length int64) bool { return w.midFetch(ctx, v, head, length) }
	}
	return r, nil
}

// midFetch tells whether the rest of an answer is to be fetched.
func (w *worker) midFetch(ctx context.Context, v *visit, head fetch.Head, length int64) bool {
	subject := *v.subject
	answered(&subject, head, length)
	var earlier *Capture
	subject.Earlier = w.validators(ctx, v, &earlier)
	proceed, _ := w.scope.MidFetch(&subject)
	if v.unchanged = !proceed && subject.Unchanged(); v.unchanged {
		v.earlier = earlier
	}
	return proceed
}

// validators asks for those of the latest capture, at most once, which it puts into earlier.
func (w *worker) validators(ctx context.Context, v *visit, earlier **Capture) func() (etag, modified string) {
	asked := false
	return func() (etag, modified string) {
		if !asked {
			asked = true
			found, err := w.earlierOf(ctx, v)
			if err != nil {
				w.log.Warn("the latest capture is not known", "uri", v.uri.URL, "error", err)
			}
			*earlier = found
		}
		if *earlier == nil {
			return "", ""
		}
		return (*earlier).ETag, (*earlier).LastModified
	}
}

// validate asks only for what differs from an earlier capture, if the server gave that a validator. A document that may hold
// links is always asked for as a whole: they are followed.
func (w *worker) validate(ctx context.Context, v *visit, r *fetch.Request) error {
	earlier, err := w.earlierOf(ctx, v)
	if err != nil || earlier == nil || earlier.ETag == "" && earlier.LastModified == "" {
		return err
	}
	x, err := w.extractor(v.set)
	if err != nil || x.Wants(earlier.Type, v.uri.URL, false) {
		return err
	}
	v.earlier, r.ETag, r.LastModified = earlier, earlier.ETag, earlier.LastModified
	return nil
}

// answered puts what a response's head says into a subject.
func answered(subject *scope.Subject, head fetch.Head, length int64) {
	subject.Fetched, subject.Status, subject.ContentType = true, head.Status, head.Get("Content-Type")
	subject.Length, subject.Header = length, head.Get
}

// tooMany gives a URI back whose server wants to be left alone for a while, and a robots.txt that it cannot answer for now.
func (w *worker) tooMany(v *visit) (to step, given bool, err error) {
	x := v.exchange
	busy, rules := x.Status == 429 || x.Status == 503, isPrerequisite(v.uri)
	rest := min(x.RetryAfter, v.set.MaxRetryAfter.Std())
	asked := busy && rest > 0
	if v.uri.Tries >= v.set.MaxRetries || !asked && !(rules && (busy || x.Status >= 500)) {
		return next, false, nil
	}
	v.uri.Status = x.Status
	if !asked {
		v.problem = fmt.Errorf("robots.txt cannot be had for now; to be tried again in %v", v.set.RetryDelay)
		w.tell(v)
		return again, true, w.retryApart(v, v.set.RetryDelay.Std())
	}
	v.problem = fmt.Errorf("the server asks to be left alone for %v; to be tried again", x.RetryAfter)
	w.tell(v)
	w.endTurn(v)
	w.frontier.Retry(v.uri, rest, max(rest, w.politeness(v)), true)
	return again, true, nil
}

// codeKilled is how a URI ends whose fetch an operator broke off.
const codeKilled = -7000

// failed decides whether a fetch that brought nothing is tried again.
func (w *worker) failed(ctx context.Context, v *visit, cause error, permanent bool) (step, error) {
	if errors.Is(context.Cause(ctx), errKilled) {
		v.status = codeKilled
		return over, nil
	}
	if ctx.Err() != nil {
		w.frontier.Return(v.uri, 0)
		return again, nil
	}
	w.log.Debug("fetch failed", "uri", v.uri.URL, "status", v.status, "tries", v.uri.Tries+1, "error", cause)
	if cause != nil {
		v.problem = cause
	}
	if permanent || v.uri.Tries >= v.set.MaxRetries {
		return over, nil
	}
	v.uri.Status = v.status
	w.tell(v)
	if v.status == fetch.CodeDNSFailed || v.status == fetch.CodeConnectFailed || isPrerequisite(v.uri) {
		return again, w.retryApart(v, v.set.RetryDelay.Std())
	}
	w.endTurn(v)
	w.frontier.Retry(v.uri, v.set.RetryDelay.Std(), w.politeness(v), false)
	return again, nil
}

// tell notes in the log of errors that do not stop a crawl what went wrong with a URI.
func (w *worker) tell(v *visit) {
	if v.problem == nil {
		return
	}
	line := w.line(v)
	w.logs.Nonfatal.Add(func(b []byte) []byte { return report.AppendError(b, &line, v.problem.Error()) })
}

func (v *visit) referer() string {
	if isPrerequisite(v.uri) || len(v.uri.Via) > 4 && v.uri.Via[:4] == "dns:" || slices.Contains([]byte(v.uri.Via), '@') {
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
	if s.Robots == harvest.RobotsObey || s.Robots == harvest.RobotsSome {
		wait = max(wait, min(c.servers.delay(v.target, s.RobotsAgent()), s.MaxCrawlDelay.Std()))
	}
	if after := v.exchange.RetryAfter; after > 0 && (v.status == 429 || v.status == 503) {
		wait = max(wait, min(after, s.MaxRetryAfter.Std()))
	}
	return wait * time.Duration(max(v.factor, 1))
}

// annotations are the notes, and the number of tries if it took more than one.
func (v *visit) annotations() []string {
	if v.uri.Tries == 0 {
		return v.notes
	}
	tries := fmt.Sprintf("%dt", v.uri.Tries+1)
	if v.dedup == frontier.Duplicate || v.dedup == frontier.NotModified { // which has to come first
		return append(slices.Clone(v.notes), tries)
	}
	return append([]string{tries}, v.notes...)
}
