package chain

import (
	"context"
	"net/netip"
	"time"

	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/plan"
	"holdfast/crawler/scope"
)

// Fetch is the stage that gets URIs.
type Fetch struct {
	Asker
	resolver *fetch.Resolver
	giveBack *GiveBack
}

// run fetches the URI. If the failure may pass, the URI goes back to the frontier.
func (f *Fetch) run(ctx context.Context, v *Visit) (Step, error) {
	if v.Host != "" {
		a := f.resolver.Lookup(ctx, v.Host)
		v.Answer, v.Status = &a, a.Code
		if a.Code == fetch.CodeDNSOK {
			f.heard.From(frontier.Lookups + v.Host)
			return Next, nil
		}
		return f.giveBack.Failed(ctx, v, a.Err, a.Permanent)
	}
	if err := f.ask(ctx, v); err != nil {
		return Over, err
	}
	if x := v.Exchange; x.Status <= 0 {
		return f.giveBack.Failed(ctx, v, x.Err, x.Permanent)
	}
	if to, given, err := f.giveBack.rules(v); given || err != nil {
		return to, err
	}
	if v.Retry = f.giveBack.answer(v); v.Retry != nil {
		v.Note(NoteRetry)
	}
	return Next, nil
}

// ask sends the request, and once more if the server asks for a login that is configured.
func (f *Fetch) ask(ctx context.Context, v *Visit) error {
	r, err := f.Request(ctx, v)
	if err != nil {
		return err
	}
	for {
		x := f.Send(ctx, v, r)
		v.Note(x.Notes...)
		if x.Status <= 0 || !f.MayAnswer(ctx, v, r) {
			return nil
		}
		r.Authorization = f.Logins.Authorization(v.Target, "GET")
		r.Cookie = f.Cookie(v)
		x.Release()
		v.Exchange, v.Notes = nil, append(v.Notes[:len(v.Notes)-len(x.Notes)], "login")
	}
}

// Asker makes a visit's request and sends it.
type Asker struct {
	Logins    *fetch.Logins
	plan      *plan.Current
	client    *fetch.Client
	jar       *fetch.Jar
	limiters  *hosts.Limiters
	bandwidth *fetch.Limiter
	scope     *scope.Scope
	domains   *scope.Domains
	dedup     *Dedup
	extract   *Extract
	turn      *Turn
	heard     *hosts.Heard
}

// Request is what to ask for the URI.
func (a *Asker) Request(ctx context.Context, v *Visit) (fetch.Request, error) {
	s := v.Set
	r := fetch.Request{Target: v.Target, Addrs: v.Addrs, Referer: v.referer(),
		Authorization: a.Logins.Authorization(v.Target, "GET"), Way: a.plan.Way(v.Target.Host),
		Limiters: [2]*fetch.Limiter{a.limiters.Get(plan.QueueOf(v.Target, s), s.HostBandwidth), a.bandwidth}}
	r.Configure(s)
	r.Cookie = a.Cookie(v)
	if s.Conditional && !IsPrerequisite(v.URI) {
		if err := a.validate(ctx, v, &r); err != nil {
			return r, err
		}
	}
	if len(s.MidFetchRules) > 0 && !IsPrerequisite(v.URI) {
		r.MidFetch = func(head fetch.Head, length int64) bool { return a.midFetch(ctx, v, head, length) }
	}
	return r, nil
}

// Cookie is the header line of the cookies that the URI's server is sent; "" for none.
func (a *Asker) Cookie(v *Visit) string {
	if !v.Set.Cookies {
		return ""
	}
	return a.jar.Cookie(v.Target, time.Now())
}

// Send sends a request of the visit, and stores the cookies of the answer.
func (a *Asker) Send(ctx context.Context, v *Visit, r fetch.Request) *fetch.Exchange {
	r.HideCookies = a.hidesCookies()
	v.Cookie = r.Cookie
	x := a.client.Fetch(ctx, r)
	v.Exchange, v.Status = x, x.Status
	if x.Status > 0 {
		a.heard.From(hosts.SiteOf(v.Target))
	}
	if x.Status > 0 && v.Set.Cookies {
		a.jar.Store(v.Target, x.Head, time.Now())
	}
	return x
}

// hidesCookies tells whether cookies are recorded without their values: from the first login on that the job has,
// those of all sites, as a login at one may let in at another.
func (a *Asker) hidesCookies() bool {
	if a.jar.Hidden() {
		return true
	}
	if !a.plan.Base().HasLogins() && !a.domains.HasLogins() {
		return false
	}
	a.jar.Hide()
	return true
}

// MayAnswer reports whether the answer to a request asks for a login that is configured; if so, it has already
// waited as politeness demands.
func (a *Asker) MayAnswer(ctx context.Context, v *Visit, r fetch.Request) bool {
	x := v.Exchange
	return (x.Status == 401 || r.Authorization != "") && a.Logins.Challenged(v.Target, x.Head, r.Authorization) &&
		Pause(ctx, a.turn.Politeness(v))
}

// midFetch tells whether the rest of an answer is to be fetched.
func (a *Asker) midFetch(ctx context.Context, v *Visit, head fetch.Head, length int64) bool {
	subject := *v.Subject
	answered(&subject, head, length)
	var earlier *Capture
	subject.Earlier = a.dedup.validators(ctx, v, &earlier)
	proceed, _ := a.scope.MidFetch(&subject)
	if v.unchanged = !proceed && subject.Unchanged(); v.unchanged {
		v.Earlier = earlier
	}
	return proceed
}

// validate makes the request conditional on the validators of an earlier capture, if it had any. A document that may
// hold links is always fetched completely, because its links are followed.
func (a *Asker) validate(ctx context.Context, v *Visit, r *fetch.Request) error {
	earlier, err := a.dedup.earlierOf(ctx, v)
	if err != nil || earlier == nil || earlier.ETag == "" && earlier.LastModified == "" {
		return err
	}
	x, err := a.extract.extractor(v.Set)
	if err != nil || x.Wants(earlier.Type, v.URI.URL, false) {
		return err
	}
	v.Earlier, r.ETag, r.LastModified = earlier, earlier.ETag, earlier.LastModified
	return nil
}

// Direct takes a visit through fetching, extraction and recording at once, beside the chain.
type Direct struct {
	asker    *Asker
	resolver *fetch.Resolver
	turn     *Turn
	extract  *Extract
	record   *Record
	servers  *hosts.Servers
	frontier *frontier.Frontier
	post     *Post
}

// Lookup looks a host name up, and records the answer.
func (d *Direct) Lookup(ctx context.Context, v *Visit, host string) error {
	a := d.resolver.Lookup(ctx, host)
	v.Host, v.Answer, v.Status = host, &a, a.Code
	if ctx.Err() != nil || a.Code != fetch.CodeDNSOK {
		return nil
	}
	_, err := d.record.Run(ctx, v)
	return err
}

// Fetch fetches a visit with the request's target, method and form. It waits for nothing but its turn at the host.
func (d *Direct) Fetch(ctx context.Context, v *Visit, r fetch.Request) error {
	if addr, err := netip.ParseAddr(v.Target.Host); err == nil {
		v.Addrs = []netip.Addr{addr}
	} else if v.Addrs == nil && d.asker.plan.LooksUp(v.Target) {
		if err := d.find(ctx, v); err != nil || len(v.Addrs) == 0 {
			v.Status = CodeNoDomain
			return err
		}
	}
	if !d.turn.await(ctx, v) {
		return nil
	}
	full, err := d.asker.Request(ctx, v)
	if err != nil {
		return err
	}
	full.Method, full.Form, full.Referer = r.Method, r.Form, ""
	x := d.asker.Send(ctx, v, full)
	v.Note(x.Notes...)
	if x.Status <= 0 {
		return nil
	}
	if _, err := d.extract.Run(ctx, v); err != nil {
		return err
	}
	_, err = d.record.Run(ctx, v)
	return err
}

// find looks up where a visit's host is, unless that is known, and records the answer.
func (d *Direct) find(ctx context.Context, v *Visit) error {
	u := Prerequisite(v.URI, frontier.Lookups+v.Target.Host)
	u.Via = v.URI.URL
	for v.Addrs == nil {
		known, err := d.servers.Host(v.Target.Host, time.Now())
		if err != nil {
			return err
		}
		if known != nil {
			v.Addrs = known.Addrs
			return nil
		}
		if _, done, err := d.frontier.Done(plan.KeyOf(&u)); err != nil {
			return err
		} else if done { // the answer is no longer valid
			if _, err := d.frontier.Force(u); err != nil {
				return err
			}
		}
		at, err := d.frontier.Claim(u)
		if err != nil {
			return err
		}
		if at == nil { // another worker is at it
			if !Pause(ctx, hosts.TurnPoll) {
				return nil
			}
			continue
		}
		first := &Visit{URI: at, Worker: v.Worker, Set: v.Set, Subject: v.Subject}
		if err := d.Lookup(ctx, first, v.Target.Host); err != nil {
			return err
		}
		if ctx.Err() != nil && len(first.Records) == 0 {
			d.frontier.Return(at, 0)
			return nil
		}
		if err := d.post.Run(ctx, first); err != nil {
			return err
		}
	}
	return nil
}
