package journal

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"

	"holdfast/crawler/chain"
	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/plan"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// Replay accounts for URIs whose records are on disk, though the frontier did not learn of them.
type Replay struct {
	plan     *plan.Current
	entries  *plan.Entries
	frontier *frontier.Frontier
	links    *chain.Links
	walls    *chain.Walls
	dedup    *chain.Dedup
	servers  *hosts.Servers
	quotas   *hosts.Quotas
	jar      *fetch.Jar
	objects  *atomic.Int64
}

// group finishes a URI whose records are on disk, unless the frontier knows it as finished.
func (r *Replay) group(g *group) error {
	asked := frontier.URI{URL: g.uri, Queue: g.uri}
	set := r.plan.Base()
	if t, err := fetch.ParseTarget(g.uri); err == nil {
		set = r.plan.For(t)
		asked = r.entries.Entry(g.uri, t, set)
	}
	asked.Path, asked.Via, asked.Source = g.fields.Get(chain.FieldHops), g.fields.Get(chain.FieldVia),
		g.fields.Get(chain.FieldSource)
	if key := g.fields.Get(chain.FieldKey); key != "" {
		asked.Key = key
	}
	u, err := r.claim(asked, g)
	if err != nil || u == nil {
		return err
	}
	u.Path, u.Via, u.Source = asked.Path, asked.Via, asked.Source
	if g.annotated(chain.NoteRetry) {
		return r.later(u, g, set)
	}
	if g.raw {
		_, err := r.frontier.Finish(u, frontier.Outcome{Status: g.status, Kind: chain.KindOf(g.status),
			Attach: &chain.Outcome{Line: g.line(u), Seed: u.Via == "", Records: g.records()}}, nil)
		return err
	}
	if err := r.relearn(g); err != nil {
		return err
	}
	o := frontier.Outcome{Status: g.status, Kind: chain.KindOf(g.status), Fetched: true, Bytes: g.blockSize}
	out := &chain.Outcome{Line: g.line(u), Seed: u.Via == "", Records: g.records()}
	if out.Seed && fetch.Redirects(g.status) {
		out.Redirect = extract.Result{Links: g.links}.Target()
	}
	o.Attach = out
	var subject scope.Subject
	if !chain.IsPrerequisite(u) {
		r.objects.Add(1)
		subject.URL, subject.Source = g.uri, u.Source
		out.Domain, out.Bytes = r.quotas.Counted(&subject), o.Bytes
		if err := r.quotas.Add(out.Domain, out.Bytes); err != nil {
			return err
		}
		if o.Record, err = r.remember(g, set); err != nil {
			return err
		}
	}
	o.Dedup = g.dedup
	if chain.ForRules(u, g.status) {
		g.links = nil
	}
	found, again, err := r.walls.Pass(u, chain.CookiesUnknown, r.links.Accepted(nil, u, g.links, &subject))
	if err != nil {
		return err
	}
	o.Again = again
	_, err = r.frontier.Finish(u, o, found)
	return err
}

// later gives a URI back whose answer is on disk, and after which it is to be tried again.
func (r *Replay) later(u *frontier.URI, g *group, set *harvest.Settings) error {
	t, err := fetch.ParseTarget(g.uri)
	if err != nil {
		return fmt.Errorf("try %s again: %w", g.uri, err)
	}
	if set.Cookies {
		r.jar.Store(t, g.head, g.date)
	}
	out := &chain.Outcome{Line: g.line(u), Records: g.records(), Seed: u.Via == "", Retried: true}
	r.frontier.Later(u, frontier.Outcome{Bytes: g.blockSize, Attach: out}, chain.RetryPause(set, u.Tries), false)
	return nil
}

// claim takes the URI out of its queue. One that was asked for again is queued first, if the frontier knows only how it
// ended before.
func (r *Replay) claim(asked frontier.URI, g *group) (*frontier.URI, error) {
	u, err := r.frontier.Claim(asked)
	if u != nil || err != nil || !g.annotated(chain.NoteAgain) {
		return u, err
	}
	if _, err := r.frontier.Force(asked); err != nil {
		return nil, err
	}
	return r.frontier.Claim(asked)
}

// relearn stores what a replayed answer says about a server.
func (r *Replay) relearn(g *group) error {
	if host, ok := strings.CutPrefix(g.uri, "dns:"); ok {
		var addrs []netip.Addr
		for line := range strings.Lines(string(g.robots)) {
			words := strings.Fields(line)
			if len(words) == 5 && (words[3] == "A" || words[3] == "AAAA") {
				if addr, err := netip.ParseAddr(words[4]); err == nil {
					addrs = append(addrs, addr)
				}
			}
		}
		return r.servers.LearnHost(host, addrs, hosts.FailureLifetime)
	}
	t, err := fetch.ParseTarget(g.uri)
	if err != nil {
		return nil
	}
	if r.plan.For(t).Cookies {
		r.jar.Store(t, g.head, g.date)
	}
	if url, ok := strings.CutPrefix(g.fields.Get(chain.FieldKey), chain.LoginKey); ok {
		r.frontier.SetValue(chain.ValueLogin+url, []byte("1"))
		return nil
	}
	if !hosts.IsRobots(t) || fetch.Redirects(g.status) || g.unreadable {
		return nil // it is asked for again, as is where a redirect led
	}
	return r.servers.LearnRobots(t, hosts.Answer{Status: g.status, Body: g.robots})
}

// remember keeps of a replayed answer what later URIs of this job, and later jobs, may refer to. It returns the URI's
// record.
func (r *Replay) remember(g *group, set *harvest.Settings) ([]byte, error) {
	c := chain.Capture{URL: g.uri, Date: g.date.UTC(), RecordID: g.recordID, Digest: g.digest, Type: g.head.MediaType(),
		File: g.file, Offset: g.offset, ETag: g.head.ETag(), LastModified: g.head.LastModified()}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("keep the record of %s: %w", g.uri, err)
	}
	r.dedup.RememberRead(c, text, g.dedup == frontier.Novel && g.truncated == "", g.head, set, g.bodySize)
	if !r.plan.Base().Incremental || g.dedup == frontier.NotModified {
		return nil, nil
	}
	return text, nil
}
