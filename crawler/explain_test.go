package crawler

import (
	"strings"
	"testing"

	"holdfast/harvest"
	"holdfast/harvest/act"
)

// What is explained is the URI as the crawl has it: how it was found, what became of it, what its domain may still
// have. Of one that the crawl does not know, a link on a seed; and what is asked for counts before all that. When the
// crawl is over its folder tells.
func TestExplain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.html("/{$}", "<a href=/a>a</a> <a href=/b>b</a> <a href=/c>c</a> <img src=/i.png>")
	for _, path := range []string{"/a", "/b", "/c"} {
		s.html(path, "<a href=/below"+path+">below</a>")
	}
	s.file("/i.png", "image/png", "i")
	s.file("/robots.txt", "text/plain", "User-agent: *\nDisallow: /private\n")
	elsewhere := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	job := newJob(elsewhere+"/", s.URL+"/")
	job.Settings.Workers = 1
	job.Settings.MaxHops = 1
	job.Settings.Rules = []harvest.Rule{{Rule: "ip_address_set", Decision: "reject", Values: []string{"127.0.0.0/8"}}}
	job.Settings.Sheets = []harvest.Sheet{
		{Name: "few", Prefixes: []string{"http://(127.0.0.1"}, Settings: patch("max_domain_objects", 3, "rules", []harvest.Rule{})},
		{Name: "named", Regex: "^http://localhost", Settings: patch("queue_name", "mine")},
	}
	dir := t.TempDir()
	l := startPaused(t, Config{Dir: dir, Job: job})
	l.obey(act.Freeze{Queue: ".*"})
	explain := func(o act.Explain) *harvest.Explained {
		return l.obey(o).Explained
	}
	check := func(what string, got *harvest.Explained, want harvest.Explained) {
		t.Helper()
		if want.Limits != "" && strings.Contains(got.Limits, want.Limits) {
			want.Limits = got.Limits
		}
		if want.Logged != "" && strings.Contains(got.Logged, want.Logged) {
			want.Logged = got.Logged
		}
		if want.Limits == "" {
			want.Limits = got.Limits
		}
		want.URL, want.Canonical, want.Words, want.Settings, want.Robots = got.URL, got.Canonical, got.Words, got.Settings, got.Robots
		a, b := *got, want
		a.Words, b.Words, a.Settings, b.Settings = nil, nil, nil, nil
		if text := strings.Join([]string{a.Known, a.Found, a.Path, a.Via, a.Source, a.Queue, a.Logged, a.Decision, a.DecidedBy, a.Limits}, "|"); text !=
			strings.Join([]string{b.Known, b.Found, b.Path, b.Via, b.Source, b.Queue, b.Logged, b.Decision, b.DecidedBy, b.Limits}, "|") || a.Status != b.Status {
			t.Errorf("%s: %+v\nwant %+v", what, a, b)
		}
	}
	host := s.host()
	check("a seed that waits", explain(act.Explain{URL: s.URL + "/"}), harvest.Explained{Known: "queued", Found: "in its queue", Source: s.URL + "/", Queue: host,
		Decision: "accept", DecidedBy: "scope", Limits: "127.0.0.1 has 0 documents, 0 bytes"})
	check("a link that nobody found", explain(act.Explain{URL: elsewhere + "/x"}), harvest.Explained{Known: "new", Found: "supposed: a link on the seed " + elsewhere + "/", Path: "L",
		Via: elsewhere + "/", Source: elsewhere + "/", Queue: "mine", Decision: "accept", DecidedBy: "scope"})
	check("a link out of scope", explain(act.Explain{URL: "http://other.example/"}), harvest.Explained{Known: "new", Found: "supposed: a link on the seed " + elsewhere + "/", Path: "L",
		Via: elsewhere + "/", Source: elsewhere + "/", Queue: "other.example", Decision: "reject", DecidedBy: "reject", Status: -5000})
	check("as asked", explain(act.Explain{URL: s.URL + "/x", Path: "LL", Via: s.URL + "/y"}), harvest.Explained{Known: "new", Found: "as asked", Path: "LL",
		Via: s.URL + "/y", Source: s.URL + "/", Queue: host, Decision: "reject", DecidedBy: "too_many_hops", Status: -4001})
	l.obey(act.Unfreeze{Queue: ".*"})
	l.obey(act.Resume{})
	l.end()

	past := func(o act.Explain) *harvest.Explained {
		r, err := Past(t.Context(), dir, act.Order{Act: o})
		if err != nil {
			t.Fatal(err)
		}
		return r.Explained
	}
	check("an embed that was fetched", past(act.Explain{URL: s.URL + "/i.png"}), harvest.Explained{Known: "finished with status 200; the crawl is over", Found: "in crawl.log", Path: "E",
		Via: s.URL + "/", Source: s.URL + "/", Queue: host, Logged: " 200 ", Decision: "accept", DecidedBy: "scope"})
	check("what was never found", past(act.Explain{URL: s.URL + "/never"}), harvest.Explained{Known: "not in crawl.log; the crawl is over", Found: "supposed: a link on the seed " + s.URL + "/", Path: "L",
		Via: s.URL + "/", Source: s.URL + "/", Queue: host, Decision: "accept", DecidedBy: "scope"})

	job.Seeds = append(job.Seeds, s.URL+"/more")
	l = startPaused(t, Config{Dir: dir, Job: job})
	limited := ""
	for _, line := range logLines(t, dir) {
		if line[1] == "-5003" {
			limited = line[3]
		}
	}
	check("at its limit", explain(act.Explain{URL: limited}), harvest.Explained{Known: "finished with status -5003", Found: "in crawl.log", Path: "L", Via: s.URL + "/", Source: s.URL + "/",
		Queue: host, Logged: "Q:config-object", Decision: "reject", DecidedBy: "config-object", Status: -5003, Limits: "127.0.0.1 has 3 documents"})
	check("by its address", explain(act.Explain{URL: elsewhere + "/x"}), harvest.Explained{Known: "new", Found: "supposed: a link on the seed " + elsewhere + "/", Path: "L",
		Via: elsewhere + "/", Source: elsewhere + "/", Queue: "mine", Decision: "reject", DecidedBy: "rules[0] ip_address_set", Status: -5000})
	l.obey(act.Stop{})
	l.end()
}

// A crawl that is over is explained also where its folder does not have the password of its proxy.
func TestExplainPastBehindProxy(t *testing.T) {
	t.Parallel()
	s := pages(t, 1, hello)
	job := newJob(s.URL + "/")
	job.Settings.Proxies = []harvest.Route{{Hosts: []string{"*.example"}, Via: "http://anna:verysecret@127.0.0.1:3128"}}
	dir := t.TempDir()
	run(t, dir, job)
	r, err := Past(t.Context(), dir, act.Order{Act: act.Explain{URL: s.URL + "/p/0"}})
	if err != nil || r.Explained.Decision != "accept" || !strings.HasPrefix(r.Explained.Known, "finished with status 200") {
		t.Errorf("%+v, %v", r.Explained, err)
	}
}
