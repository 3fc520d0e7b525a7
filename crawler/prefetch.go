package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// Codes of URIs that were not fetched, as Heritrix numbers them.
const (
	codeNoDomain  = -6
	codeNoRobots  = -61
	codePrecluded = -9998
)

// preFetch decides whether the URI is to be fetched at all and whether something else has to be known first.
func (w *worker) preFetch(ctx context.Context, v *visit) (step, error) {
	u := v.uri
	if moved, err := w.setAside(u); moved || err != nil {
		return again, err
	}
	if strings.HasPrefix(u.Key, loginKey) { // left over from a crash while it was sent
		return again, w.drop(u)
	}
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
	v.subject.Settings, v.subject.Queue = v.set, queueOf(target, v.set)
	v.subject.Unresolved = w.looksUp(target)
	if to, err := w.judge(v); to != next || err != nil {
		return to, err
	}
	if to, err := w.addresses(v); to != next || err != nil {
		return to, err
	}
	if !w.judgeAddresses(v) {
		return over, nil
	}
	if isPrerequisite(u) {
		return next, nil
	}
	if v.set.Robots != harvest.RobotsIgnore {
		if to, err := w.robots(v); to != next || err != nil {
			return to, err
		}
	}
	return w.login(ctx, v)
}

// judge asks the scope again, as settings may have changed since the URI was found, and the limits of its domain.
func (w *worker) judge(v *visit) (step, error) {
	verdict := w.scope.Decide(v.subject)
	if verdict.Accepted() && !isPrerequisite(v.uri) {
		var err error
		if verdict, err = w.quotas.verdict(v.subject.Domain(), v.set); err != nil {
			return over, err
		}
	}
	if verdict.Accepted() {
		return next, nil
	}
	v.reject(verdict)
	return over, nil
}

func (v *visit) reject(verdict scope.Verdict) {
	v.status = verdict.Status
	if verdict.Note != "" {
		v.notes = append(v.notes, verdict.Note)
	}
}

// looksUp tells whether the crawl itself finds the address of a URI's host: a proxy does that for those that are asked through it.
func (c *Crawl) looksUp(t fetch.Target) bool { return c.plan.Load().routes.Way(t.Host).Proxy == nil }

// needing is the URI that a prerequisite was found at, nil where that cannot be judged.
func (w *worker) needing(v *visit) *scope.Subject {
	t, err := fetch.ParseTarget(v.uri.Via)
	if err != nil {
		return nil
	}
	return &scope.Subject{URL: v.uri.Via, Path: strings.TrimSuffix(v.uri.Path, "P"), Source: v.uri.Source, Queue: v.uri.Queue, Now: time.Now(), Settings: w.settingsOf(t)}
}

// judgeAddresses asks the scope once more when the addresses of a host are known, and keeps those that it lets the URI be fetched from;
// of a robots.txt, those that it lets the URI be fetched from that needs it. It reports false where there is none.
func (w *worker) judgeAddresses(v *visit) bool {
	v.subject.Unresolved = false
	if len(v.addrs) == 0 {
		return true
	}
	v.subject.IP = v.addrs[0]
	judged := v.subject
	if isPrerequisite(v.uri) {
		judged = w.needing(v)
	}
	if judged == nil || !w.scope.ByAddress(judged) {
		return true
	}
	var good []netip.Addr
	var verdict scope.Verdict
	for _, a := range v.addrs {
		if !w.allowed(a) {
			continue
		}
		judged.IP = a
		if said := w.scope.Decide(judged); said.Accepted() {
			good = append(good, a)
		} else {
			verdict = said
		}
	}
	if len(good) == 0 && judged != v.subject {
		return true // that URI is not fetched
	}
	if len(good) == 0 {
		v.reject(verdict)
		return false
	}
	v.addrs, v.subject.IP = good, good[0]
	return true
}

// addresses finds where the host is; its name has to be looked up first, as a URI of its own. A proxy looks for itself.
func (w *worker) addresses(v *visit) (step, error) {
	if !w.looksUp(v.target) {
		return next, nil
	}
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

// robots asks the site's robots.txt, which has to be fetched first, and what it redirects to as well.
func (w *worker) robots(v *visit) (step, error) {
	facts, first, err := w.servers.site(v.target, time.Now(), true)
	switch {
	case err != nil:
		return over, err
	case facts == nil:
		return again, w.frontier.Defer(v.uri, w.prerequisite(v.uri, first))
	case facts.Unreachable && v.set.Robots != harvest.RobotsCustom:
		v.status = codeNoRobots
		return over, nil
	}
	if precluded, _ := w.scope.Precluded(v.subject, facts.rulesFor(v.set.RobotsAgent())); precluded {
		v.status = codePrecluded
		return over, nil
	}
	return next, nil
}

// robotsKey begins what the frontier knows a document by that a robots.txt redirects to and that is none itself: it is fetched beside what
// may be fetched from the same address, whose links count.
const robotsKey = "robots "

// prerequisite is a URI that has to be fetched before u, in the same queue.
func (w *worker) prerequisite(u *frontier.URI, url string) frontier.URI {
	first := frontier.URI{URL: url, Path: u.Path + "P", Via: u.URL, Source: u.Source, Queue: u.Queue, Host: u.Host}
	if t, err := fetch.ParseTarget(url); err == nil {
		first.Host = hostOf(t)
		if !isRobots(t) {
			first.Key = robotsKey + url
		}
	}
	return first
}

func isPrerequisite(u *frontier.URI) bool { return strings.HasSuffix(u.Path, "P") }

// addressOf is a URL without what a server is not sent.
func addressOf(t fetch.Target) string { return t.Scheme + "://" + t.Authority + t.Path }

func robotsURL(t fetch.Target) string { return t.Scheme + "://" + t.Authority + "/robots.txt" }

func isRobots(t fetch.Target) bool { return t.Path == "/robots.txt" }

// login sends the form logins that the host's credentials ask for, before anything else of it is fetched. One that failed for now is sent
// again, as a fetch is tried again.
func (w *worker) login(ctx context.Context, v *visit) (step, error) {
	for _, cred := range w.logins.Forms(v.target.Host) {
		done, err := w.frontier.Value(valueLogin + cred.URL)
		if err != nil {
			return over, err
		}
		if len(done) > 0 {
			continue
		}
		sent, err := w.sendForm(ctx, v, cred)
		switch {
		case err != nil:
			return over, err
		case errors.Is(context.Cause(ctx), errKilled):
			v.status = codeKilled
			return over, nil
		case v.problem != nil:
			w.tell(v)
			return again, w.retryApart(v, v.set.RetryDelay.Std())
		case !sent || ctx.Err() != nil:
			w.frontier.Return(v.uri, loginWait)
			return again, nil
		}
	}
	return next, nil
}

// loginKey begins what the frontier knows a login by.
const loginKey = "login "

// loginWait is how long a URI waits for a login that another worker is sending.
const loginWait = 200 * time.Millisecond

// sendForm sends one form login and records it, as a URI of its own beside what may be fetched from the same address. It reports false
// where another worker is at it, or where it was not sent; then the visit has the problem, if that is one.
func (w *worker) sendForm(ctx context.Context, v *visit, cred harvest.Credential) (sent bool, err error) {
	r, err := fetch.FormRequest(cred)
	if err != nil {
		w.log.Warn("login cannot be sent", "url", cred.URL, "error", err)
		w.frontier.SetValue(valueLogin+cred.URL, []byte("0"))
		return true, nil
	}
	form := w.prerequisite(v.uri, cred.URL)
	form.Key, form.Priority = loginKey+cred.URL, frontier.Prerequisite
	u, err := w.frontier.Claim(form)
	if err != nil {
		return false, err
	}
	if u == nil {
		_, sent, err = w.frontier.Done(form.Key)
		return sent, err
	}
	hop := &visit{uri: u, target: r.Target, set: v.set, subject: v.subject, detour: true}
	defer w.release(hop)
	if err := w.fetchNow(ctx, hop, r); err != nil {
		return false, err
	}
	x := hop.exchange
	switch {
	case len(hop.records) > 0:
	case ctx.Err() != nil:
		return false, w.drop(u)
	case (x == nil || !x.Permanent) && v.uri.Tries < v.set.MaxRetries:
		v.uri.Status, v.status, v.problem = hop.status, hop.status, fmt.Errorf("login at %s cannot be sent; to be tried again in %v", cred.URL, v.set.RetryDelay)
		if x != nil && x.Err != nil {
			v.problem = fmt.Errorf("%w: %w", v.problem, x.Err)
		}
		return false, w.drop(u)
	default:
		w.log.Warn("login could not be sent; the crawl goes on without it", "url", cred.URL, "status", hop.status)
	}
	w.frontier.SetValue(valueLogin+cred.URL, []byte("1"))
	w.cookies.due.Store(true)
	return true, w.postProcess(ctx, hop)
}
