package chain

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/plan"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// PreFetch is the stage that decides whether a URI is fetched, and whether something else has to be known first. It is
// one worker's.
type PreFetch struct {
	plan     *plan.Current
	frontier *frontier.Frontier
	scope    *scope.Scope
	servers  *hosts.Servers
	quotas   *hosts.Quotas
	giveBack *GiveBack
	login    *Login
	guesses  *hosts.Guesses
}

// run decides whether the URI is to be fetched at all and whether something else has to be known first.
func (p *PreFetch) run(ctx context.Context, v *Visit) (Step, error) {
	u := v.URI
	if moved, err := p.giveBack.toItsSite(u); moved || err != nil {
		return Again, err
	}
	if strings.HasPrefix(u.Key, LoginKey) { // left over from a crash while it was sent
		return Again, p.giveBack.Drop(u)
	}
	if host, ok := strings.CutPrefix(u.URL, "dns:"); ok {
		v.Host = host
		return Next, nil
	}
	target, err := fetch.ParseTarget(u.URL)
	if err != nil {
		v.Status = fetch.CodeUnfetchable
		if errors.Is(err, fetch.ErrScheme) {
			v.Notes = append(v.Notes, "unsupportedScheme")
		}
		return Over, nil
	}
	v.Target, v.Set = target, p.plan.For(target)
	v.Subject.Settings, v.Subject.Queue = v.Set, plan.QueueOf(target, v.Set)
	v.Subject.Unresolved = p.plan.LooksUp(target)
	if to, err := p.Judge(v); to != Next || err != nil {
		return to, err
	}
	if rests(p.guesses, v) {
		return Over, nil
	}
	if to, err := p.addresses(v); to != Next || err != nil {
		return to, err
	}
	if !p.JudgeAddresses(v) {
		return Over, nil
	}
	if IsPrerequisite(u) {
		return Next, nil
	}
	if v.Set.Robots != harvest.RobotsIgnore {
		if to, err := p.robots(v); to != Next || err != nil {
			return to, err
		}
	}
	return p.login.run(ctx, v)
}

// Judge asks the scope again, as settings may have changed since the URI was found, and the limits of its domain.
func (p *PreFetch) Judge(v *Visit) (Step, error) {
	verdict := p.scope.Decide(v.Subject)
	if verdict.Accepted() && !IsPrerequisite(v.URI) {
		var err error
		if verdict, err = p.quotas.Verdict(v.Subject, v.Set); err != nil {
			return Over, err
		}
	}
	if verdict.Accepted() {
		return Next, nil
	}
	v.reject(verdict)
	return Over, nil
}

// needing is the URI that a prerequisite was found at, nil where that cannot be judged.
func (p *PreFetch) needing(v *Visit) *scope.Subject {
	t, err := fetch.ParseTarget(v.URI.Via)
	if err != nil {
		return nil
	}
	return &scope.Subject{URL: v.URI.Via, Path: strings.TrimSuffix(v.URI.Path, "P"), Source: v.URI.Source,
		Queue: v.URI.Queue, Now: time.Now(), Settings: p.plan.For(t)}
}

// JudgeAddresses asks the scope once more when the addresses of a host are known, and keeps the addresses that the
// scope allows; for a robots.txt, the addresses that it allows for the URI that needs it. It reports false if none is
// left.
func (p *PreFetch) JudgeAddresses(v *Visit) bool {
	v.Subject.Unresolved = false
	if len(v.Addrs) == 0 {
		return true
	}
	v.Subject.IP = v.Addrs[0]
	judged := v.Subject
	if IsPrerequisite(v.URI) {
		judged = p.needing(v)
	}
	if judged == nil || !p.scope.ByAddress(judged) {
		return true
	}
	var good []netip.Addr
	var verdict scope.Verdict
	for _, a := range v.Addrs {
		if !p.plan.Allowed(a) {
			continue
		}
		judged.IP = a
		if said := p.scope.Decide(judged); said.Accepted() {
			good = append(good, a)
		} else {
			verdict = said
		}
	}
	if len(good) == 0 && judged != v.Subject {
		return true // that URI is not fetched
	}
	if len(good) == 0 {
		v.reject(verdict)
		return false
	}
	v.Addrs, v.Subject.IP = good, good[0]
	return true
}

// addresses finds where the host is; its name has to be looked up first, as a URI of its own. A proxy looks for itself.
func (p *PreFetch) addresses(v *Visit) (Step, error) {
	if !p.plan.LooksUp(v.Target) {
		return Next, nil
	}
	if addr, err := netip.ParseAddr(v.Target.Host); err == nil {
		v.Addrs = []netip.Addr{addr}
	} else {
		facts, err := p.servers.Host(v.Target.Host, time.Now())
		switch {
		case err != nil:
			return Over, err
		case facts == nil:
			return Again, p.frontier.Defer(v.URI, Prerequisite(v.URI, "dns:"+v.Target.Host))
		case len(facts.Addrs) == 0:
			v.Status = CodeNoDomain
			return Over, nil
		}
		v.Addrs = facts.Addrs
	}
	for _, a := range v.Addrs {
		if p.plan.Allowed(a) {
			return Next, nil
		}
	}
	v.Status = fetch.CodeForbidden
	v.Notes = append(v.Notes, "privateAddress")
	return Over, nil
}

// robots checks the site's robots.txt, which has to be fetched first, and so do the documents that it redirects to.
func (p *PreFetch) robots(v *Visit) (Step, error) {
	facts, first, err := p.servers.Site(v.Target, time.Now(), true)
	switch {
	case err != nil:
		return Over, err
	case facts == nil:
		return Again, p.frontier.Defer(v.URI, Prerequisite(v.URI, first))
	case facts.Unreachable && v.Set.Robots != harvest.RobotsCustom:
		v.Status = CodeNoRobots
		return Over, nil
	}
	if precluded, _ := p.scope.Precluded(v.Subject, facts.RulesFor(v.Set.RobotsAgent())); precluded {
		v.Status = CodePrecluded
		return Over, nil
	}
	return Next, nil
}

// robotsKey begins the frontier's keys of documents that a robots.txt redirects to and that are not called
// robots.txt. Such a document is fetched separately from the URI of the same address, whose links count.
const robotsKey = "robots "

// Prerequisite is a URI that has to be fetched before u, in the same queue.
func Prerequisite(u *frontier.URI, url string) frontier.URI {
	first := frontier.URI{URL: url, Path: u.Path + "P", Via: u.URL, Source: u.Source, Queue: u.Queue, Host: u.Host}
	if t, err := fetch.ParseTarget(url); err == nil {
		first.Host = plan.HostOf(t)
		if !hosts.IsRobots(t) {
			first.Key = robotsKey + url
		}
	}
	return first
}

// IsPrerequisite tells whether a URI is fetched because another needs it.
func IsPrerequisite(u *frontier.URI) bool { return strings.HasSuffix(u.Path, "P") }
