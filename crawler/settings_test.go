package crawler

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/harvest"
	"holdfast/warc"
)

// kinds is a site with a document of each of some kinds.
func kinds(t *testing.T) *site {
	s := newSite(t)
	s.html("/{$}", `<a href=/page>p</a> <img src=/i.png> <a href=/doc.pdf>d</a> <a href=/private/x>x</a> <a href=/open/y>y</a> <a href=/secret>s</a>`)
	s.html("/page", `<a href=/below>b</a>`)
	s.html("/below", "below")
	s.html("/private/x", "x")
	s.html("/open/y", "y")
	s.html("/secret", `<meta name=robots content="noindex,nofollow"><a href=/secret/below>b</a>`)
	s.html("/secret/below", "b")
	s.file("/i.png", "image/png", "picture")
	s.mux.HandleFunc("/doc.pdf", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/pdf")
		w.Header().Set("Content-Length", "500009")
		fmt.Fprint(w, "%PDF-1.4 "+strings.Repeat("x", 500_000))
	})
	s.file("/robots.txt", "text/plain", "User-agent: *\nDisallow: /private/\nDisallow: /open/\n")
	return s
}

// What the settings say of robots.txt, of meta robots and of what is kept shows in what the server is asked for and in
// the files.
func TestSettingsDecideWhatIsKept(t *testing.T) {
	for _, tt := range []struct {
		name     string
		set      func(*harvest.Settings)
		statuses map[string]string // with the annotation that is looked for
		absent   []string          // not recorded
	}{
		{"keep_types", func(s *harvest.Settings) { s.KeepTypes = []string{"image/*"} },
			map[string]string{"/page": "200 discarded:", "/below": "200 discarded:", "/i.png": "200 -"}, []string{"/page", "/below", "/doc.pdf"}},
		{"discard_types", func(s *harvest.Settings) { s.DiscardTypes = []string{"*pdf*"} },
			map[string]string{"/doc.pdf": "200 discarded:", "/page": "200 -"}, []string{"/doc.pdf"}},
		{"discard_if", func(s *harvest.Settings) { s.DiscardIf = `status == 200 && size > 1000` },
			map[string]string{"/doc.pdf": "200 discarded:", "/page": "200 -"}, []string{"/doc.pdf"}},
		{"mid_fetch_rules by type", func(s *harvest.Settings) {
			s.MidFetchRules = []harvest.Rule{{Rule: "content_type_matches_regex", Decision: "reject", Values: []string{"application/.*"}}}
		}, map[string]string{"/doc.pdf": "200 midFetchTrunc", "/page": "200 -"}, nil},
		{"mid_fetch_rules by length", func(s *harvest.Settings) {
			s.MidFetchRules = []harvest.Rule{{Rule: "content_length", Max: new(int64(4000))}}
		}, map[string]string{"/doc.pdf": "200 midFetchTrunc", "/page": "200 -"}, nil},
		{"robots obey", func(*harvest.Settings) {}, map[string]string{"/private/x": "-9998 ", "/open/y": "-9998 ", "/secret/below": "200 -"}, []string{"/private/x"}},
		{"robots ignore", func(s *harvest.Settings) { s.Robots = harvest.RobotsIgnore }, map[string]string{"/private/x": "200 -", "/open/y": "200 -"}, []string{"/robots.txt"}},
		{"robots custom", func(s *harvest.Settings) {
			s.Robots, s.RobotsText = harvest.RobotsCustom, "User-agent: *\nDisallow: /page\n"
		}, map[string]string{"/private/x": "200 -", "/page": "-9998 "}, []string{"/page"}},
		{"robots some", func(s *harvest.Settings) { s.Robots, s.RobotsPaths = harvest.RobotsSome, []string{"/private/"} },
			map[string]string{"/private/x": "-9998 ", "/open/y": "200 -"}, []string{"/private/x"}},
		{"meta robots", func(s *harvest.Settings) { s.MetaRobots = "obey" }, map[string]string{"/secret": "200 nofollow,discarded:noindex"}, []string{"/secret", "/secret/below"}},
		{"sheet by regex", func(s *harvest.Settings) {
			s.Sheets = []harvest.Sheet{{Name: "open", Regex: "/open/", Settings: patch("robots", "ignore")}}
		}, map[string]string{"/private/x": "-9998 ", "/open/y": "200 -"}, nil},
		{"sheet by prefix", func(s *harvest.Settings) {
			s.Sheets = []harvest.Sheet{{Name: "here", Prefixes: []string{"http://(127.0.0.1"}, Settings: patch("robots", "ignore")},
				{Name: "never", Prefixes: []string{"http://(org,example,"}, Settings: patch("discard_types", []string{"*"})}}
		}, map[string]string{"/private/x": "200 -"}, nil},
		{"sheet by a prefix of https", func(s *harvest.Settings) {
			s.Sheets = []harvest.Sheet{{Name: "here", Prefixes: []string{"HTTPS://(127.0.0.1"}, Settings: patch("robots", "ignore")}}
		}, map[string]string{"/private/x": "200 -"}, nil},
		{"prefix without a scheme", func(s *harvest.Settings) { s.SURTPrefixes = []string{"-(127.0.0.1"} }, map[string]string{"/": "-5000 "}, []string{"/"}},
		{"three writers", func(s *harvest.Settings) { s.WARCWriters, s.WARCBytes, s.HostValence = 3, 1024, 4 }, map[string]string{"/page": "200 -"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := kinds(t)
			job := newJob(s.URL + "/")
			tt.set(&job.Settings)
			dir := t.TempDir()
			sum := run(t, dir, job)
			if sum.Reason != "completed" {
				t.Errorf("summary %+v", sum)
			}
			for path, want := range tt.statuses {
				status, notes := logged(t, dir, s.URL+path)
				if got := status + " " + notes; !strings.HasPrefix(got, want) {
					t.Errorf("%s: %s, want %s", path, got, want)
				}
			}
			seen, got := captures(t, dir), s.counts()
			for _, path := range tt.absent {
				if seen[s.URL+path] != 0 {
					t.Errorf("%s is recorded", path)
				}
			}
			for path, n := range got {
				if n != 1 {
					t.Errorf("%s was asked for %d times", path, n)
				}
			}
			for _, f := range warcFiles(t, dir) {
				eachRecord(t, f, func(r *warc.Record) {
					if truncated := r.Header.Get("WARC-Truncated"); r.Type == warc.TypeResponse && (truncated != "") != (strings.HasPrefix(tt.name, "mid_fetch") && strings.HasSuffix(r.TargetURI(), ".pdf")) {
						t.Errorf("%s: truncated %q", r.TargetURI(), truncated)
					}
				})
			}
		})
	}
}

// pages is a site whose front page links to n others.
func pages(t testing.TB, n int, answer http.HandlerFunc) *site {
	s := newSite(t)
	var links strings.Builder
	for i := range n {
		fmt.Fprintf(&links, "<a href=/p/%d>x</a> ", i)
	}
	s.html("/{$}", links.String())
	s.mux.HandleFunc("/p/", answer)
	return s
}

func hello(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, "hello from "+r.URL.Path)
}

// A domain that has all it may have is asked for no more; the log says which limit it was. What a prerequisite takes
// does not count.
func TestQuotas(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		set  func(*harvest.Settings)
		note string
		most int
	}{
		{func(s *harvest.Settings) { s.MaxDomainObjects = 4 }, "Q:config-object", 4},
		{func(s *harvest.Settings) { s.MaxDomainObjects, s.HarvestDomainObjects = 4, 3 }, "Q:harvest-object", 3},
		{func(s *harvest.Settings) { s.MaxDomainBytes = 1100 }, "Q:config-size", 8},
		{func(s *harvest.Settings) { s.MaxDomainBytes, s.HarvestDomainBytes = 1e9, 1100 }, "Q:harvest-size", 8},
	} {
		s := pages(t, 10, hello)
		job := newJob(s.URL + "/")
		job.Settings.Workers = 1
		tt.set(&job.Settings)
		dir := t.TempDir()
		sum := run(t, dir, job)
		if n := len(s.requests()) - 1; n > tt.most || n < 3 || sum.Reason != "completed" {
			t.Errorf("%s: %d requests, %+v", tt.note, n, sum)
		}
		if status, notes := logged(t, dir, s.URL+"/p/9"); status != "-5003" || notes != tt.note {
			t.Errorf("status %s, %s, want %s", status, notes, tt.note)
		}
	}
}

// No more connections than host_valence at a time, and as many if there is enough to do; each slot rests by itself.
func TestValence(t *testing.T) {
	t.Parallel()
	const rest = 50 * time.Millisecond
	var now, most atomic.Int64
	s := pages(t, 20, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-time.After(100 * time.Millisecond)
		now.Add(-1)
		hello(w, r)
	})
	job := newJob(s.URL + "/")
	job.Settings.HostValence, job.Settings.Workers = 3, 10
	job.Settings.MinDelay, job.Settings.MaxDelay = harvest.Duration(rest), harvest.Duration(rest)
	run(t, t.TempDir(), job)
	if most.Load() != 3 {
		t.Errorf("up to %d at a time", most.Load())
	}
	log := s.requests()[2:]
	for i := 3; i < len(log); i++ { // the third after it is by the same slot at the earliest
		if gap := log[i].at.Sub(log[i-3].at); gap < rest+25*time.Millisecond {
			t.Errorf("four requests within %v", gap)
		}
	}
}

// A server that asks to be left alone is, for as long as it says and the settings allow, and asked again then.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, status := range []int{429, 503} {
		var asked atomic.Int64
		s := pages(t, 3, func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) == 1 {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(status)
				return
			}
			hello(w, r)
		})
		job := newJob(s.URL + "/")
		job.Settings.MaxRetryAfter = harvest.Duration(700 * time.Millisecond)
		dir := t.TempDir()
		run(t, dir, job)
		log := s.requests()
		if gap := log[3].at.Sub(log[2].at); gap < 700*time.Millisecond || len(log) != 6 {
			t.Errorf("%d: asked again after %v, %d requests", status, gap, len(log))
		}
		if lines := logLinesOf(t, dir, s.URL+"/p/0"); len(lines) != 2 || lines[0] != fmt.Sprint(status, " triedAgain") || lines[1] != "200 2t" {
			t.Errorf("%d: lines %q", status, lines)
		}
		text, err := os.ReadFile(filepath.Join(dir, "logs", "nonfatal-errors.log"))
		if lines := strings.Split(string(text), "\n"); err != nil || len(lines) != 3 || !strings.Contains(lines[0], fmt.Sprint("   ", status, " ")) ||
			!strings.Contains(lines[0], s.URL+"/p/0 L ") || !strings.Contains(lines[1], "asks for a pause of 1h0m0s") {
			t.Errorf("%d: nonfatal-errors.log %v:\n%s", status, err, text)
		}
	}
}

// Names and ports that share an address, a domain or a queue's name are polite together, by the servers' clock.
func TestWhatIsPoliteTogether(t *testing.T) {
	t.Parallel()
	const rest = 60 * time.Millisecond
	for _, tt := range []struct {
		name  string
		seeds func(a, b *site) []string
		set   func(s *harvest.Settings, a, b *site)
	}{
		{"address", func(a, _ *site) []string {
			return []string{a.URL + "/", strings.Replace(a.URL, "127.0.0.1", "localhost", 1) + "/"}
		},
			func(s *harvest.Settings, _, _ *site) { s.QueueBy = "ip" }},
		{"domain", func(a, b *site) []string { return []string{a.URL + "/", b.URL + "/"} }, func(s *harvest.Settings, _, _ *site) { s.QueueBy = "domain" }},
		{"queue", func(a, b *site) []string { return []string{a.URL + "/", b.URL + "/"} }, func(s *harvest.Settings, a, b *site) {
			port := regexp.MustCompile(`:(\d+)`)
			for _, of := range []*site{a, b} {
				var n int
				fmt.Sscan(port.FindStringSubmatch(of.host())[1], &n)
				s.Sheets = append(s.Sheets, harvest.Sheet{Name: fmt.Sprint("port ", n), Ports: []int{n}, Settings: patch("queue_name", "shared")})
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := pages(t, 5, hello), pages(t, 5, hello)
			job := newJob(tt.seeds(a, b)...)
			job.Settings.Robots = harvest.RobotsIgnore
			job.Settings.MinDelay, job.Settings.MaxDelay = harvest.Duration(rest), harvest.Duration(rest)
			tt.set(&job.Settings, a, b)
			run(t, t.TempDir(), job)
			log := append(a.requests(), b.requests()...)
			if len(log) != 12 {
				t.Fatalf("%d requests", len(log))
			}
			for i, x := range log {
				for _, y := range log[i+1:] {
					if gap := y.at.Sub(x.at).Abs(); gap < rest {
						t.Errorf("%s and %s came within %v", x.path, y.path, gap)
					}
				}
			}
		})
	}
}

// A pause is as long as the fetch took, times the factor, from min_delay up to max_delay, by the server's clock; a
// sheet may say otherwise at some times.
func TestDelays(t *testing.T) {
	const took = 60 * time.Millisecond
	for _, tt := range []struct {
		name       string
		set        func(*harvest.Settings)
		from, upTo time.Duration // between one answer's end and the next request
	}{
		{"factor", func(s *harvest.Settings) { s.DelayFactor, s.MaxDelay = 3, harvest.Duration(time.Minute) }, 3 * took, 5 * time.Second},
		{"at most", func(s *harvest.Settings) { s.DelayFactor, s.MaxDelay = 100, harvest.Duration(2*took) }, 2 * took, 5 * time.Second},
		{"now", func(s *harvest.Settings) {
			s.MaxDelay = harvest.Duration(time.Minute)
			s.Sheets = []harvest.Sheet{{Name: "all day", From: "00:00", Until: "00:00", Settings: patch("min_delay", "200ms")}}
		}, 200 * time.Millisecond, 5 * time.Second},
		{"not today", func(s *harvest.Settings) {
			day := strings.ToLower(time.Now().UTC().AddDate(0, 0, 3).Weekday().String()[:3])
			s.MaxDelay = harvest.Duration(time.Minute)
			s.Sheets = []harvest.Sheet{{Name: "another day", Days: []string{day}, Settings: patch("min_delay", "30s")}}
		}, 0, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := pages(t, 4, func(w http.ResponseWriter, r *http.Request) { <-time.After(took); hello(w, r) })
			job := newJob(s.URL + "/")
			tt.set(&job.Settings)
			run(t, t.TempDir(), job)
			log := s.requests()[2:]
			for i := 1; i < len(log); i++ {
				if gap := log[i].at.Sub(log[i-1].at) - took; gap < tt.from || gap > tt.upTo {
					t.Errorf("%s came %v after the one before had its answer, want %v to %v", log[i].path, gap, tt.from, tt.upTo)
				}
			}
		})
	}
}
