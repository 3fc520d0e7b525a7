package crawler

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"holdfast/crawler/chain"
	"holdfast/crawler/scope"
	"holdfast/harvest"
	"holdfast/warc"
)

// What rules say by the address that a host has shows in a crawl, whether the address is written in the URI or has to
// be looked up. What they say by its queue decides about a link as soon as that is found.
func TestRulesByAddressAndQueue(t *testing.T) {
	rule := func(name, decision string, values ...string) harvest.Rule {
		return harvest.Rule{Rule: name, Decision: decision, Values: values}
	}
	cel := func(decision, text string) harvest.Rule {
		return harvest.Rule{Rule: "expression", Decision: decision, Expression: text}
	}
	for _, tt := range []struct {
		name string
		set  func(*harvest.Settings)
		want string // what is fetched
	}{
		{"all", func(s *harvest.Settings) { s.Scope = harvest.ScopeAny }, "/ /a /literal /named"},
		{"reject a range", func(s *harvest.Settings) {
			s.Scope, s.Rules = harvest.ScopeAny, []harvest.Rule{rule("ip_address_set", "reject", "127.0.0.0/8", "::1")}
		}, ""},
		{"reject another range", func(s *harvest.Settings) {
			s.Scope, s.Rules = harvest.ScopeAny, []harvest.Rule{rule("ip_address_set", "reject", "192.0.2.0/24")}
		}, "/ /a /literal /named"},
		{"reject one address", func(s *harvest.Settings) {
			s.Scope, s.Rules = harvest.ScopeAny, []harvest.Rule{rule("ip_address_set", "reject", "127.0.0.2")}
		}, "/ /a /named"},
		{"reject all but one address", func(s *harvest.Settings) {
			s.Scope, s.Rules = harvest.ScopeAny, []harvest.Rule{rule("not_ip_address_set", "reject", "127.0.0.1")}
		}, "/ /a /named"},
		{"accept a range alone", func(s *harvest.Settings) {
			s.RulesOnly, s.Rules = true, []harvest.Rule{rule("seed_accept", ""), rule("ip_address_set", "accept", "127.0.0.0/8")}
		}, "/ /a /literal /named"},
		{"accept another range alone", func(s *harvest.Settings) {
			s.RulesOnly, s.Rules = true, []harvest.Rule{rule("seed_accept", ""), rule("ip_address_set", "accept", "192.0.2.0/24")}
		}, "/"},
		{"reject by expression", func(s *harvest.Settings) {
			s.Scope, s.Rules = harvest.ScopeAny, []harvest.Rule{cel("reject", `ip == "127.0.0.2" && !seed`)}
		}, "/ /a /named"},
		{"accept by expression", func(s *harvest.Settings) {
			s.Rules = []harvest.Rule{cel("accept", `ip == "127.0.0.2" || path == "/x"`)}
		}, "/ /a /literal"},
		{"a rule of a sheet", func(s *harvest.Settings) {
			s.Scope = harvest.ScopeAny
			s.Sheets = []harvest.Sheet{{Name: "elsewhere", Regex: "/literal", Settings: patch("rules", []harvest.Rule{rule("ip_address_set", "reject", "127.0.0.0/8")})}}
		}, "/ /a /named"},
		{"reject by queue", func(s *harvest.Settings) {
			s.Scope, s.Rules = harvest.ScopeAny, []harvest.Rule{rule("class_key_matches_regex", "reject", `127\.0\.0\.2:.*`)}
		}, "/ /a /named"},
		{"accept by queue", func(s *harvest.Settings) { s.Rules = []harvest.Rule{cel("accept", `queue.startsWith("localhost")`)} }, "/ /a /named"},
		{"accept by a queue of domains", func(s *harvest.Settings) {
			s.QueueBy, s.Rules = scope.QueueByDomain, []harvest.Rule{rule("class_key_matches_regex", "accept", "localhost")}
		}, "/ /a /named"},
		{"accept by a queue's name", func(s *harvest.Settings) {
			s.Rules = []harvest.Rule{rule("class_key_matches_regex", "accept", "mine")}
			s.Sheets = []harvest.Sheet{{Name: "mine", Regex: "/literal", Settings: patch("queue_name", "mine")}}
		}, "/ /a /literal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			there := newSiteAt(t, "127.0.0.2")
			there.html("/literal", "there")
			s := newSite(t)
			named := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
			s.html("/{$}", "<a href=/a>a</a> <a href="+named+"/named>n</a> <a href="+there.URL+"/literal>l</a>")
			s.html("/a", "a")
			s.html("/named", "n")
			job := newJob(s.URL + "/")
			job.Settings.MaxHops = 1
			tt.set(&job.Settings)
			dir := t.TempDir()
			run(t, dir, job)
			seen := s.counts()
			maps.Copy(seen, there.counts())
			delete(seen, "/robots.txt")
			if got := strings.Join(slices.Sorted(maps.Keys(seen)), " "); got != tt.want {
				t.Errorf("fetched %s, want %s", got, tt.want)
			}
		})
	}
}

// names is a name server by which every name has these addresses.
func names(t *testing.T, addresses ...string) (server string) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	s := &dns.Server{PacketConn: conn, NotifyStartedFunc: func() { close(started) }, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, asked *dns.Msg) {
		answer := new(dns.Msg).SetReply(asked)
		for _, a := range addresses {
			if asked.Question[0].Qtype == dns.TypeA {
				answer.Answer = append(answer.Answer, &dns.A{Hdr: dns.RR_Header{Name: asked.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60}, A: net.ParseIP(a)})
			}
		}
		_ = w.WriteMsg(answer)
	})}
	done := make(chan error, 1)
	go func() { done <- s.ActivateAndServe() }()
	<-started
	t.Cleanup(func() {
		if err := errors.Join(s.Shutdown(), <-done); err != nil {
			t.Error(err)
		}
	})
	return conn.LocalAddr().String()
}

// A host with several addresses is asked at those alone that the rules let it be; the head of an answer is judged by
// that which gave it.
func TestRulesChooseAddresses(t *testing.T) {
	t.Parallel()
	wrong := newSiteAt(t, "127.0.0.2")
	wrong.html("/", "wrong")
	_, port, _ := net.SplitHostPort(wrong.host())
	l, err := net.Listen("tcp", "127.0.0.3:"+port)
	if err != nil {
		t.Fatal(err)
	}
	right := &site{mux: http.NewServeMux()}
	right.Server = httptest.NewUnstartedServer(right.mux)
	_ = right.Listener.Close()
	right.Listener = l
	right.Start()
	t.Cleanup(right.Close)
	right.html("/{$}", "<a href=/a>a</a>")
	right.html("/a", strings.Repeat("a", 100_000))

	seed := "http://site.example:" + port + "/"
	job := newJob(seed)
	job.Settings.OperatorContact = "https://library.example/"
	job.Settings.Nameserver = names(t, "127.0.0.2", "127.0.0.3")
	job.Settings.Rules = []harvest.Rule{{Rule: "ip_address_set", Decision: "reject", Values: []string{"127.0.0.2"}}}
	job.Settings.MidFetchRules = []harvest.Rule{{Rule: "expression", Decision: "reject", Expression: `ip == "127.0.0.3" && path == "/a"`}}
	dir := t.TempDir()
	run(t, dir, job)
	if got := wrong.counts(); len(got) > 0 {
		t.Errorf("the address that is rejected was asked for %v", got)
	}
	for path, want := range map[string]string{"": "200 -", "a": "200 midFetchTrunc"} {
		status, notes := logged(t, dir, seed+path)
		if got := status + " " + notes; got != want {
			t.Errorf("/%s: %s, want %s", path, got, want)
		}
	}
}

// What an answer's head says breaks a fetch off, and what all of it says keeps it from being recorded; nothing is lost
// of what is not.
func TestRulesOverAnAnswer(t *testing.T) {
	const size = 300_000
	whole := strings.Repeat("x", size)
	for _, tt := range []struct {
		name     string
		set      func(*harvest.Settings)
		want     map[string]string // status and annotations, as they begin
		recorded string
	}{
		{"none", func(*harvest.Settings) {}, map[string]string{"/1.png": "200 -", "/same.bin": "200 -", "/chunked": "200 -"}, "/1.png /chunked /new.bin /same.bin"},
		{"digest", func(s *harvest.Settings) { s.RecordRules = []harvest.Rule{{Rule: "identical_digest"}} },
			map[string]string{"/1.png": "200 -", "/2.png": "200 discarded:record_rules"}, "/1.png /chunked /new.bin /same.bin"},
		{"digest by expression", func(s *harvest.Settings) { s.DiscardIf = `identical && type == "image/png"` },
			map[string]string{"/1.png": "200 -", "/2.png": "200 discarded:discard_if"}, "/1.png /chunked /new.bin /same.bin"},
		{"length received", func(s *harvest.Settings) {
			s.RecordRules = []harvest.Rule{{Rule: "response_content_length", Decision: "reject", Min: new(int64(1000))}}
		}, map[string]string{"/1.png": "200 -", "/chunked": "200 discarded:record_rules", "/same.bin": "200 discarded:record_rules"}, "/1.png"},
		{"length declared", func(s *harvest.Settings) {
			s.MidFetchRules = []harvest.Rule{{Rule: "resource_longer_than", Decision: "reject", Max: new(int64(1000))}}
		}, map[string]string{"/chunked": "200 -", "/new.bin": "200 midFetchTrunc", "/same.bin": "200 duplicate:"}, "/1.png /chunked /new.bin"},
		{"length declared, discarded", func(s *harvest.Settings) { s.DiscardIf = "length == 300000" },
			map[string]string{"/chunked": "200 -", "/same.bin": "200 discarded:discard_if"}, "/1.png /chunked"},
		{"validators", func(s *harvest.Settings) { s.MidFetchRules = []harvest.Rule{{Rule: "same_validators"}} },
			map[string]string{"/same.bin": "200 duplicate:", "/new.bin": "200 -", "/1.png": "200 -"}, "/1.png /chunked /new.bin"},
		{"validators by expression", func(s *harvest.Settings) {
			s.MidFetchRules = []harvest.Rule{{Rule: "expression", Decision: "reject", Expression: "unchanged && length > 1000"}}
		}, map[string]string{"/same.bin": "200 duplicate:", "/new.bin": "200 -", "/1.png": "200 -"}, "/1.png /chunked /new.bin"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.html("/{$}", "<img src=/1.png><a href=/2.png>2</a><a href=/same.bin>s</a><a href=/new.bin>n</a><a href=/chunked>c</a>")
			s.file("/1.png", "image/png", "picture")
			s.file("/2.png", "image/png", "picture")
			s.file("/chunked", "text/x-long", whole)
			for path, etag := range map[string]string{"/same.bin": `"one"`, "/new.bin": `"two"`} {
				s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("ETag", etag)
					w.Header().Set("Content-Type", "application/x-large")
					w.Header().Set("Content-Length", strconv.Itoa(size))
					fmt.Fprint(w, whole[len(path):]+path)
				})
			}
			job := newJob(s.URL + "/")
			job.Settings.Workers, job.Settings.Conditional, job.Settings.Deduplicate = 1, false, "digest"
			job.Settings.DeduplicateTypes = []string{"image/*"}
			tt.set(&job.Settings)
			earlier := &archive{urls: map[string]*chain.Capture{}, digests: map[string]*chain.Capture{}}
			for _, path := range []string{"/same.bin", "/new.bin"} {
				earlier.urls[s.URL+path] = &chain.Capture{URL: s.URL + path, Date: time.Now().Add(-time.Hour), RecordID: "<urn:uuid:1b4e28ba-2fa1-11d2-883f-0016d3cca427>",
					Digest: "sha1:" + strings.Repeat("A", 32), Type: "application/x-large", File: "earlier.warc.gz", ETag: `"one"`}
			}
			dir := t.TempDir()
			c, err := New(Config{Dir: dir, Job: job, Node: "node1", Earlier: earlier})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkFiles(t, dir)
			for path, want := range tt.want {
				status, notes := logged(t, dir, s.URL+path)
				if got := status + " " + notes; !strings.HasPrefix(got, want) {
					t.Errorf("%s: %s, want %s", path, got, want)
				}
			}
			seen := []string{}
			for url := range captures(t, dir) {
				if path := strings.TrimPrefix(url, s.URL); path != "/" && path != "/robots.txt" {
					seen = append(seen, path)
				}
			}
			slices.Sort(seen)
			if got := strings.Join(seen, " "); got != tt.recorded {
				t.Errorf("recorded %s, want %s", got, tt.recorded)
			}
			same := revisits(t, dir)[s.URL+"/same.bin"]
			if want := strings.HasPrefix(tt.want["/same.bin"], "200 duplicate:"); (same.Get("WARC-Profile") == warc.ProfileNotModified) != want ||
				want && same.Get("WARC-Payload-Digest") != earlier.urls[s.URL+"/same.bin"].Digest {
				t.Errorf("revisit of what is unchanged: %v", same)
			}
		})
	}
}
