package crawler

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/harvest"
	"holdfast/warc"
)

// replayGroup finishes a URI whose records are on disk, unless the frontier knows it as finished.
func (c *Crawl) replayGroup(g *group) error {
	asked := frontier.URI{URL: g.uri, Queue: g.uri}
	set := c.base()
	if t, err := fetch.ParseTarget(g.uri); err == nil {
		set = c.settingsOf(t)
		asked = c.entry(g.uri, t, set)
	}
	asked.Path, asked.Via, asked.Source = g.fields.Get(fieldHops), g.fields.Get(fieldVia), g.fields.Get(fieldSource)
	if key := g.fields.Get(fieldKey); key != "" {
		asked.Key = key
	}
	u, err := c.frontier.Claim(asked)
	if err != nil || u == nil {
		return err
	}
	u.Path, u.Via, u.Source = asked.Path, asked.Via, asked.Source
	if err := c.relearn(g); err != nil {
		return err
	}
	took, _ := strconv.ParseInt(g.fields.Get(fieldFetchTime), 10, 64)
	worker, _ := strconv.Atoi(g.fields.Get(fieldWorker))
	took = max(took, 0)
	line := report.Line{Logged: time.Now(), Status: g.status, Size: g.bodySize, URI: u.URL, Path: u.Path, Via: u.Via, MIME: g.mime, Worker: worker,
		Begin: g.date, Duration: time.Duration(took) * time.Millisecond, Digest: g.digest, Source: u.Source}
	if notes := g.fields.Get(fieldAnnotation); notes != "" {
		line.Annotations = strings.Split(notes, ",")
	}
	out := &outcome{line: line, seed: u.Via == "", records: []warc.Position{{File: g.file, Offset: g.offset, Length: g.end - g.offset}}}
	if out.seed && redirects(g.status) {
		out.redirect = extract.Result{Links: g.links}.Target()
	}
	o := frontier.Outcome{Status: g.status, Kind: kindOf(g.status), Attach: out, Fetched: true, Bytes: g.blockSize}
	var subject scope.Subject
	if !isPrerequisite(u) {
		c.objects.Add(1)
		subject.URL = g.uri
		out.domain, out.bytes = subject.Domain(), o.Bytes
		if err := c.quotas.add(out.domain, out.bytes); err != nil {
			return err
		}
		if o.Record, err = c.rememberGroup(g, set); err != nil {
			return err
		}
	}
	o.Dedup = g.dedup
	if forRules(u, g.status) {
		g.links = nil
	}
	_, err = c.frontier.Finish(u, o, c.accepted(nil, u, g.links, &subject))
	return err
}

// relearn keeps what a replayed answer said of a server.
func (c *Crawl) relearn(g *group) error {
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
		return c.servers.learnHost(host, addrs, failureLifetime)
	}
	t, err := fetch.ParseTarget(g.uri)
	if err != nil {
		return nil
	}
	if c.settingsOf(t).Cookies {
		c.jar.Store(t, g.head, g.date)
	}
	if url, ok := strings.CutPrefix(g.fields.Get(fieldKey), loginKey); ok {
		c.frontier.SetValue(valueLogin+url, []byte("1"))
		return nil
	}
	if !isRobots(t) || redirects(g.status) || g.unreadable {
		return nil // it is asked for again, as is where a redirect led
	}
	return c.servers.learnRobots(t, answer{status: g.status, body: g.robots})
}

// rememberGroup keeps of a replayed answer what later URIs of this job, and later jobs, may refer to. It returns the URI's record.
func (c *Crawl) rememberGroup(g *group, set *harvest.Settings) ([]byte, error) {
	text, err := json.Marshal(Capture{URL: g.uri, Date: g.date.UTC(), RecordID: g.recordID, Digest: g.digest, Type: g.head.MediaType(), File: g.file, Offset: g.offset,
		ETag: g.head.ETag(), LastModified: g.head.LastModified()})
	if err != nil {
		return nil, fmt.Errorf("keep the record of %s: %w", g.uri, err)
	}
	subject := scope.Subject{URL: g.uri, Settings: set, Now: g.date}
	answered(&subject, g.head, -1)
	if g.dedup == frontier.Novel && g.truncated == "" && (browses(c.base()) || set.Deduplicate != dedupURL && c.comparable(&subject, set, g.bodySize)) {
		c.frontier.SetValue(valueDigest+g.digest, text)
	}
	if !c.base().Incremental || g.dedup == frontier.NotModified {
		return nil, nil
	}
	return text, nil
}
