package crawler

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/harvest"
)

// rulesAt answers a site's /robots.txt with a redirect.
func rulesAt(s *site, url string) {
	s.mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, url, http.StatusMovedPermanently) })
}

// What a robots.txt redirects to counts, also where the crawl has fetched that before: as another site's rules, as a
// page, or as the very seed, whose links are followed all the same.
func TestRobotsRedirectToWhatIsKnown(t *testing.T) {
	t.Parallel()
	const rules = "User-agent: *\nDisallow: /private\n"
	main, byRules, byPage, bySeed := newSite(t), newSite(t), newSite(t), newSite(t)
	others := []*site{byRules, byPage, bySeed}
	main.file("/robots.txt", "text/plain", rules)
	main.file("/rules", "text/plain", rules)
	var links strings.Builder
	for _, s := range others {
		fmt.Fprintf(&links, "<a href=%s/private/x>x</a> <a href=%s/open>o</a> ", s.URL, s.URL)
		s.html("/private/x", "x")
		s.html("/open", "o")
	}
	main.html("/{$}", "<a href=/rules>r</a> <a href=/then>t</a>")
	main.html("/then", links.String())
	bySeed.html("/{$}", "<a href=/found>f</a>")
	bySeed.html("/found", "f")
	rulesAt(byRules, main.URL+"/robots.txt")
	rulesAt(byPage, main.URL+"/rules")
	rulesAt(bySeed, bySeed.URL+"/")
	job := newJob(main.URL+"/", bySeed.URL+"/")
	job.Settings.Scope, job.Settings.Workers = harvest.ScopeAny, 1
	dir := t.TempDir()
	run(t, dir, job)
	check := func(path, want string, of ...*site) {
		t.Helper()
		for _, s := range of {
			if status, _ := logged(t, dir, s.URL+path); status != want {
				t.Errorf("%s%s: status %s, want %s", s.URL, path, status, want)
			}
		}
	}
	check("/private/x", "-9998", byRules, byPage)
	check("/open", "200", others...)
	check("/private/x", "200", bySeed) // a page that is no rules
	check("/found", "200", bySeed)
	if n := main.counts(); n["/robots.txt"] != 1 || n["/rules"] != 2 {
		t.Errorf("requests %v: rules that are known are asked for again, or a page is taken for rules", n)
	}

	// The crawl is opened again, and what it knew of the rules has expired.
	c, err := New(Config{Dir: dir, Job: job, Node: "node1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{byRules.URL + "/robots.txt", byPage.URL + "/robots.txt", main.URL + "/robots.txt", main.URL + "/rules"} {
		c.frontier.SetValue("robots/"+url, nil)
	}
	if _, err := c.AddSeeds([]string{byRules.URL + "/private/later", byPage.URL + "/private/later", byRules.URL + "/later"}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("/private/later", "-9998", byRules, byPage)
	check("/later", "404", byRules)
	if n := main.counts(); n["/robots.txt"] != 2 || n["/rules"] != 3 {
		t.Errorf("requests %v", n)
	}
	checkFiles(t, dir)
}

// What a robots.txt says counts however it is coded or said to be; where it cannot be told, nothing is fetched. A page
// that says it is coded and is not has its links.
func TestUntrueCodings(t *testing.T) {
	t.Parallel()
	for coding, want := range map[string]string{"UTF-8": "200", "none": "200", "gzip": "200", "br": "200", "deflate": "200", "gzip, gzip, gzip, gzip, gzip": "-61"} {
		s := newSite(t)
		coded := func(path, kind, body string) {
			s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", kind)
				w.Header().Set("Content-Encoding", coding)
				fmt.Fprint(w, body)
			})
		}
		coded("/robots.txt", "text/plain", "User-agent: *\nDisallow: /private\n")
		coded("/{$}", "text/html", "<a href=/open>o</a><a href=/private>p</a>")
		s.html("/open", "open")
		s.html("/private", "private")
		dir := t.TempDir()
		start(t, Config{Dir: dir, Job: newJob(s.URL+"/", s.URL+"/open")}).end()
		if status, _ := logged(t, dir, s.URL+"/open"); status != want {
			t.Errorf("%s: status %s, want %s", coding, status, want)
		}
		if n := s.counts(); n["/private"] != 0 {
			t.Errorf("%s: what is forbidden was asked for", coding)
		}
		if want != "200" {
			continue
		}
		if status, _ := logged(t, dir, s.URL+"/private"); status != "-9998" {
			t.Errorf("%s: status %s of what is forbidden", coding, status)
		}
		if _, notes := logged(t, dir, s.URL+"/"); notes != "untrueCoding" && coding != "none" {
			t.Errorf("%s: the page is annotated %s", coding, notes)
		}
	}
}

// A robots.txt that cannot be answered for now is asked for again, as the server says or after retry_delay; nothing of
// the site is asked for before.
func TestRobotsServerErrorsPass(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		after  string
		wait   time.Duration
	}{{503, "1", time.Second}, {500, "", 100 * time.Millisecond}, {429, "", 100 * time.Millisecond}} {
		var asked atomic.Int64
		s := newSite(t)
		s.mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) > 2 {
				fmt.Fprint(w, "User-agent: *\nDisallow: /private\n")
				return
			}
			if tt.after != "" {
				w.Header().Set("Retry-After", tt.after)
			}
			w.WriteHeader(tt.status)
		})
		s.html("/{$}", "<a href=/private>p</a>")
		job := newJob(s.URL + "/")
		job.Settings.MaxRetries, job.Settings.RetryDelay = 2, harvest.Duration(100*time.Millisecond)
		job.Settings.AnswerRetries, job.Settings.AnswerRetryDelay = 2, harvest.Duration(100*time.Millisecond)
		dir := t.TempDir()
		run(t, dir, job)
		for path, want := range map[string]string{"/": "200", "/private": "-9998"} {
			if status, _ := logged(t, dir, s.URL+path); status != want {
				t.Errorf("%d: %s has status %s, want %s", tt.status, path, status, want)
			}
		}
		log := s.requests()
		for i := 1; i < 3; i++ {
			if gap := log[i].at.Sub(log[i-1].at); log[i].path != "/robots.txt" || gap < tt.wait {
				t.Errorf("%d: %s %v after the one before", tt.status, log[i].path, gap)
			}
		}
	}
}

// A robots.txt speaks to the crawler by the name in its User-Agent, or the one that the settings give it; a sheet may
// give another.
func TestRobotsName(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.file("/robots.txt", "text/plain", "User-agent: MyBot\nDisallow: /mine\n\nUser-agent: other-bot\nDisallow: /others\n\nUser-agent: holdfast\nDisallow: /\n")
	s.html("/{$}", "<a href=/mine>m</a><a href=/others>o</a><a href=/sheet/mine>s</a><a href=/sheet/others>s</a>")
	for _, path := range []string{"/mine", "/others"} {
		s.html(path, path)
	}
	for _, tt := range []struct {
		agent, name string
		forbidden   []string
	}{
		{"mybot/1.0 (+http://x.test/)", "", []string{"/mine"}},
		{"Mozilla/5.0 (compatible; MyBot/1.0; +{contact})", "", []string{"/mine"}},
		{"MyBot/1.0", "Other-Bot", []string{"/others"}},
		{"Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0", "", []string{"/"}},
	} {
		job := newJob(s.URL + "/")
		job.Settings.UserAgent, job.Settings.RobotsName = tt.agent, tt.name
		dir := t.TempDir()
		run(t, dir, job)
		var forbidden []string
		for _, l := range logLines(t, dir) {
			if l[1] == "-9998" {
				forbidden = append(forbidden, strings.TrimPrefix(l[3], s.URL))
			}
		}
		if !slices.Equal(forbidden, tt.forbidden) {
			t.Errorf("%s, %q: forbidden %v, want %v", tt.agent, tt.name, forbidden, tt.forbidden)
		}
	}
}
