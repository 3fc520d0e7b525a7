package crawler

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/harvest"
	"holdfast/harvest/act"
	"holdfast/warc"
)

// rule is what a hostile site answers to a path: the first rule counts that fits the request.
type rule struct {
	path   string // with its query
	cookie string // that the request must have; "": any
	times  int    // so often at most; 0: always
	reply  string // status, header fields and the body, separated by |
}

// faultySite is a site that answers by rules. A # in a reply stands for the number of the request.
func faultySite(t *testing.T, rules ...rule) *site {
	s := newSite(t)
	var mu sync.Mutex
	used, number := make([]int, len(rules)), 0
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		number++
		for i, rule := range rules {
			if rule.path != r.URL.RequestURI() && (rule.path != "*" || r.URL.Path == "/robots.txt") || !strings.Contains(r.Header.Get("Cookie"), rule.cookie) ||
				rule.times > 0 && used[i] >= rule.times {
				continue
			}
			used[i]++
			reply(w, strings.ReplaceAll(rule.reply, "#", strconv.Itoa(number)))
			return
		}
		http.NotFound(w, r)
	})
	return s
}

// reply sends a rule's reply.
func reply(w http.ResponseWriter, text string) {
	parts := strings.Split(text, "|")
	status, _ := strconv.Atoi(parts[0])
	w.Header().Set("Content-Type", "text/html")
	body := ""
	for _, p := range parts[1:] {
		if name, value, ok := strings.Cut(p, ": "); ok && body == "" && !strings.ContainsAny(p, "<\n") {
			w.Header().Add(name, value)
		} else {
			body += p
		}
	}
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

const inside = "200|<title>inside</title><a href=/deeper>on</a>"

// A site that answers only who has its cookie is captured, whichever way it sends one back with it; a site that never
// lets one in is given up after a few requests.
func TestCookieWalls(t *testing.T) {
	tests := []struct {
		name  string
		rules []rule
		asked int // the first page
		in    bool
	}{
		{"redirect to itself", []rule{{"/", "a=1", 0, inside}, {"/", "", 0, "302|Location: /|Set-Cookie: a=1"}}, 2, true},
		{"Refresh to itself", []rule{{"/", "a=1", 0, inside}, {"/", "", 0, "200|Refresh: 0; url=/|Set-Cookie: a=1|wait"}}, 2, true},
		{"meta refresh to itself", []rule{{"/", "a=1", 0, inside}, {"/", "", 0, "200|Set-Cookie: a=1|<meta http-equiv=refresh content='0; url=/'>"}}, 2, true},
		{"through a page", []rule{{"/", "a=1", 0, inside}, {"/", "", 0, "302|Location: /wall"}, {"/wall", "", 0, "302|Location: /|Set-Cookie: a=1; path=/"}}, 2, true},
		{"through two pages", []rule{{"/", "a=1", 0, inside}, {"/", "", 0, "302|Location: /x"}, {"/x", "", 0, "303|Location: /y"}, {"/y", "", 0, "200|Set-Cookie: a=1; path=/|Refresh: 0; url=/|<p>hold on"}}, 2, true},
		{"two cookies, one after another", []rule{{"/", "b=2", 0, inside}, {"/", "a=1", 0, "302|Location: /|Set-Cookie: b=2"}, {"/", "", 0, "302|Location: /|Set-Cookie: a=1"}}, 3, true},
		{"a new cookie each time", []rule{{"/", "", 0, "302|Location: /|Set-Cookie: a=#"}}, 4, false},
		{"a new cookie and a new page each time", []rule{{"/", "", 0, "302|Location: /w#|Set-Cookie: a=#; path=/"}, {"*", "", 0, "302|Location: /|Set-Cookie: b=#; path=/"}}, 4, false},
		{"shown anew now and then", []rule{{"/", "", 0, "200|Refresh: 60; url=/|Set-Cookie: a=#|<p>news"}}, 1, false},
		{"shown anew, by a meta element", []rule{{"/", "", 0, "200|Set-Cookie: a=#|<meta http-equiv=refresh content='300; url=/'>news"}}, 1, false},
		{"no cookie", []rule{{"/", "", 0, "302|Location: /"}}, 1, false},
		{"the same cookie", []rule{{"/", "", 0, "302|Location: /|Set-Cookie: a=1"}}, 2, false},
		{"cookies, no wall", []rule{{"/", "", 0, "200|Set-Cookie: a=#; path=/|<a href=/go>"}, {"/go", "", 0, "302|Location: /|Set-Cookie: b=#; path=/"}}, 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := faultySite(t, append(tt.rules, rule{"/deeper", "", 0, "200|<p>deep"})...)
			dir := t.TempDir()
			sum := run(t, dir, newJob(s.URL+"/"))
			asked := s.counts()
			if asked["/"] != tt.asked || (asked["/deeper"] == 1) != tt.in {
				t.Errorf("asked %v; want / %d times, inside %v", asked, tt.asked, tt.in)
			}
			if n := captures(t, dir)[s.URL+"/"]; n != tt.asked {
				t.Errorf("%d answers of the first page are recorded, want %d", n, tt.asked)
			}
			if sum.Seeds.Captured != 1 || sum.Counters.Queued != 0 || len(s.requests()) > 12 {
				t.Errorf("%d requests, summary %+v", len(s.requests()), sum)
			}
			last := ""
			for _, l := range logLines(t, dir) {
				if l[3] == s.URL+"/" {
					last = l[4] + " " + l[11]
				}
			}
			want := "- -" // the path of a seed
			if tt.asked > 1 {
				want = fmt.Sprintf("- askedAgain:%d", tt.asked-1)
			}
			if last != want {
				t.Errorf("the last line of the first page has %q, want %q", last, want)
			}
		})
	}
}

// A redirect to what canonicalization makes of the URL itself is followed.
func TestRedirectToOwnCanonicalForm(t *testing.T) {
	const session = "?PHPSESSID=0123456789abcdef0123456789abcdef"
	tests := []struct {
		name, seed string
		rules      []rule
		want       string
		asked      int // the canonical form
	}{
		{"an empty query", "/x?", []rule{{"/x?", "", 0, "301|Location: /x"}, {"/x", "", 0, inside}}, "/x", 1},
		{"a session", "/x" + session, []rule{{"/x" + session, "", 0, "301|Location: /x"}, {"/x", "", 0, inside}}, "/x", 1},
		{"a session, through a page", "/x" + session, []rule{{"/x" + session, "", 0, "301|Location: /y"}, {"/y", "", 0, "301|Location: /x"}, {"/x", "", 0, inside}}, "/x", 1},
		{"to and fro", "/x?", []rule{{"/x?", "", 0, "301|Location: /x"}, {"/x", "", 0, "301|Location: /x?"}}, "/x", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := faultySite(t, append(tt.rules, rule{"/deeper", "", 0, "200|<p>deep"})...)
			dir := t.TempDir()
			run(t, dir, newJob(s.URL+tt.seed))
			asked := s.counts()
			if asked[tt.want] != tt.asked || captures(t, dir)[s.URL+tt.want] != tt.asked ||
				asked["/deeper"] != 1 && tt.rules[len(tt.rules)-1].reply == inside {
				t.Errorf("asked %v", asked)
			}
		})
	}
}

// A user's name in a URL is never sent; a redirect to the URL without it is followed.
func TestRedirectToPlainHost(t *testing.T) {
	s := faultySite(t, rule{"/", "", 1, "301|Location: http://HOST/"}, rule{"/", "", 0, inside}, rule{"/deeper", "", 0, "200|<p>deep"})
	wrapped := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wrapped.ServeHTTP(hostWriter{w, s.host()}, r)
	})
	run(t, t.TempDir(), newJob("http://user@"+s.host()+"/"))
	if asked := s.counts(); asked["/"] != 2 || asked["/deeper"] != 1 {
		t.Errorf("asked %v", asked)
	}
}

// hostWriter puts the site's own address into Location.
type hostWriter struct {
	http.ResponseWriter
	host string
}

func (w hostWriter) WriteHeader(status int) {
	if l := w.Header().Get("Location"); l != "" {
		w.Header().Set("Location", strings.ReplaceAll(l, "HOST", w.host))
	}
	w.ResponseWriter.WriteHeader(status)
}

// An answer that may be another the next time is recorded and asked for again, a few times; the last one counts.
func TestFailuresThatPass(t *testing.T) {
	const good = "200|<a href=/deeper>in"
	short := "200|Content-Length: 100|<p>short"
	tests := []struct {
		name  string
		rules []rule
		asked int
		last  string // status and annotations
	}{
		{"408", []rule{{"/", "", 1, "408|busy"}, {"/", "", 0, good}}, 2, "200 2t"},
		{"425", []rule{{"/", "", 1, "425|busy"}, {"/", "", 0, good}}, 2, "200 2t"},
		{"429", []rule{{"/", "", 2, "429|busy"}, {"/", "", 0, good}}, 3, "200 3t"},
		{"500", []rule{{"/", "", 3, "500|busy"}, {"/", "", 0, good}}, 4, "200 4t"},
		{"502", []rule{{"/", "", 1, "502|busy"}, {"/", "", 0, good}}, 2, "200 2t"},
		{"503", []rule{{"/", "", 1, "503|busy"}, {"/", "", 0, good}}, 2, "200 2t"},
		{"504", []rule{{"/", "", 1, "504|busy"}, {"/", "", 0, good}}, 2, "200 2t"},
		{"520", []rule{{"/", "", 1, "520|busy"}, {"/", "", 0, good}}, 2, "200 2t"},
		{"first one, then another", []rule{{"/", "", 1, "502|busy"}, {"/", "", 1, "404|gone"}, {"/", "", 0, good}}, 2, "404 2t"},
		{"not among them", []rule{{"/", "", 1, "501|never"}, {"/", "", 0, good}}, 1, "501 -"},
		{"for ever", []rule{{"/", "", 0, "503|busy"}}, 4, "503 4t"},
		{"cut off", []rule{{"/", "", 1, short}, {"/", "", 0, good}}, 2, "200 2t"},
		{"cut off for ever", []rule{{"/", "", 0, short}}, 4, "200 4t,midFetchTrunc"},
		{"a server that wants a pause", []rule{{"/", "", 5, "503|Retry-After: 1|busy"}, {"/", "", 0, good}}, 2, "503 2t"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := faultySite(t, append(tt.rules, rule{"/deeper", "", 0, "200|<p>deep"})...)
			job := newJob(s.URL + "/")
			job.Settings.AnswerRetries = 3
			dir := t.TempDir()
			sum := run(t, dir, job)
			asked := s.counts()
			if asked["/"] != tt.asked || (asked["/deeper"] == 1) != strings.HasPrefix(tt.last, "200 ") && tt.name[:3] != "cut" {
				t.Errorf("asked %v, want %d", asked, tt.asked)
			}
			lines := logLinesOf(t, dir, s.URL+"/")
			if len(lines) != tt.asked || lines[len(lines)-1] != tt.last {
				t.Errorf("lines %q; want %d of them, the last %q", lines, tt.asked, tt.last)
			}
			for _, l := range lines[:len(lines)-1] {
				if !strings.Contains(l, "triedAgain") {
					t.Errorf("a line before the last says %q", l)
				}
			}
			if n := captures(t, dir)[s.URL+"/"]; n != tt.asked {
				t.Errorf("%d answers are recorded, want %d", n, tt.asked)
			}
			want := 1 // documents
			if asked["/deeper"] == 1 {
				want++
			}
			if sum.Documents.Objects != int64(want) || sum.Counters.Queued != 0 {
				t.Errorf("summary %+v, want %d documents", sum, want)
			}
		})
	}
}

// Guesses are asked for once, and so is what is left of a site that fails in all its tries.
func TestRetriesDoNotFlood(t *testing.T) {
	t.Parallel()
	var links, rules = "", []rule{}
	for i := range 40 {
		links += fmt.Sprintf("<a href=/p%d>", i)
	}
	rules = append(rules, rule{"/", "", 0, "200|" + links + "<script>var a='/guess/one.html'</script>"}, rule{"*", "", 0, "429|no"})
	s := faultySite(t, rules...)
	job := newJob(s.URL + "/")
	job.Settings.AnswerRetries, job.Settings.AnswerRetryDelay = 3, harvest.Duration(time.Millisecond)
	if sum := run(t, t.TempDir(), job); sum.Reason != "completed" {
		t.Errorf("summary %+v", sum)
	}
	asked := s.counts()
	if n := len(s.requests()); n > 2+1+40+3*5 || asked["/guess/one.html"] != 1 {
		t.Errorf("%d requests, the guess %d times", n, asked["/guess/one.html"])
	}
}

// What a process that was killed between an answer and the next try has recorded is accounted for, and tried again.
func TestKilledBeforeARetry(t *testing.T) {
	t.Parallel()
	s := faultySite(t, rule{"/", "", 1, "503|busy"}, rule{"/", "", 0, inside}, rule{"/deeper", "", 0, "200|<p>deep"})
	job := newJob(s.URL + "/")
	job.Settings.AnswerRetries, job.Settings.AnswerRetryDelay = 3, harvest.Duration(time.Hour)
	dir, copied := t.TempDir(), t.TempDir()
	c, err := New(Config{Dir: dir, Job: job, Node: "node1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(copied, "state"), os.DirFS(filepath.Join(dir, "state"))); err != nil { // before anything was fetched
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := c.Run(ctx); done <- err }()
	for deadline := time.Now().Add(30 * time.Second); s.counts()["/"] == 0 || len(logLinesOf(t, dir, s.URL+"/")) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the first answer is not in the log")
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	// The folder as a kill after the records were written, and before they were committed, would leave it.
	for _, f := range warcFiles(t, dir) {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(copied, "warcs"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(copied, "warcs", filepath.Base(f)+".open"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	job.Settings.AnswerRetryDelay = harvest.Duration(time.Millisecond)
	run(t, copied, job)
	lines := logLinesOf(t, copied, s.URL+"/")
	if len(lines) != 2 || lines[0] != "503 triedAgain" || lines[1] != "200 2t" {
		t.Errorf("lines %q", lines)
	}
	if asked := s.counts(); asked["/"] != 2 || asked["/deeper"] != 1 || captures(t, copied)[s.URL+"/"] != 2 {
		t.Errorf("asked %v", asked)
	}
}

// logLinesOf are status and annotations of a URI's lines in the log.
func logLinesOf(t *testing.T, dir, uri string) (lines []string) {
	for _, l := range logLines(t, dir) {
		if l[3] == uri {
			lines = append(lines, l[1]+" "+l[11])
		}
	}
	return lines
}

// A host that never answered has its own number of tries, one that did has that of all; while nothing else is left to
// do, the crawl says what it waits for.
func TestSilentHosts(t *testing.T) {
	t.Parallel()
	s := faultySite(t, rule{"/", "", 0, "200|<a href=/dead>on"})
	s.mux.HandleFunc("/dead", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := l.Addr().String()
	l.Close()
	job := newJob(s.URL+"/", "http://"+silent+"/")
	job.Settings.MaxRetries, job.Settings.RetryDelay = 4, harvest.Duration(10*time.Millisecond)
	job.Settings.SilentRetries, job.Settings.SilentRetryDelay = 2, harvest.Duration(2*time.Second)
	dir := t.TempDir()
	c, err := New(Config{Dir: dir, Job: job, Node: "node1"})
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan *harvest.Waiting, 1)
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	asking.Go(func() {
		for ctx.Err() == nil {
			if reply, err := c.Obey(ctx, act.Order{Act: act.Live{}}); err == nil && reply.Live.Waiting != nil && reply.Live.Waiting.Queue == silent {
				select {
				case said <- reply.Live.Waiting:
				default:
				}
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	sum, err := c.Run(t.Context())
	cancel()
	asking.Wait()
	if err != nil || sum.Reason != "completed" {
		t.Fatalf("%+v, %v", sum, err)
	}
	select {
	case w := <-said:
		if !strings.Contains(w.Why, "no connection") || w.Until.IsZero() || w.Queued == 0 {
			t.Errorf("waits for %+v", w)
		}
	default:
		t.Error("the crawl did not say what it waited for")
	}
	if _, notes := logged(t, dir, s.URL+"/dead"); notes != "5t" {
		t.Errorf("at a host that answered before: %s, want 5 tries", notes)
	}
	if _, notes := logged(t, dir, "http://"+silent+"/robots.txt"); !strings.HasPrefix(notes, "3t") {
		t.Errorf("robots.txt of a silent host: %s, want 3 tries", notes)
	}
}

// A seed that was captured before, and is recorded as a revisit or answered with 304, counts as captured.
func TestRevisitsAreCaptured(t *testing.T) {
	t.Parallel()
	s := faultySite(t)
	s.mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"one"`)
		w.Header().Set("Content-Type", "image/png")
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, "always the same")
	})
	first := t.TempDir()
	run(t, first, newJob(s.URL+"/"))
	for _, conditional := range []bool{false, true} {
		job := newJob(s.URL + "/")
		job.Settings.Deduplicate, job.Settings.DeduplicateTypes, job.Settings.Conditional = "url", []string{"*"}, conditional
		dir := t.TempDir()
		c, err := New(Config{Dir: dir, Job: job, Node: "node1", Earlier: archived(t, first)})
		if err != nil {
			t.Fatal(err)
		}
		sum, err := c.Run(t.Context())
		if err != nil || sum.Seeds.Captured != 1 || sum.Seeds.Nothing() {
			t.Errorf("conditional %v: %+v, %v", conditional, sum, err)
		}
		status, _ := logged(t, dir, s.URL+"/")
		if want := map[bool]string{false: "200", true: "304"}[conditional]; status != want {
			t.Errorf("conditional %v: status %s", conditional, status)
		}
	}
}

// What is no HTTP is recorded as it came, and asked for again.
func TestNoHTTPIsRecorded(t *testing.T) {
	t.Parallel()
	const junk = "220 ftp ready\r\n\r\nand more"
	for _, times := range []int64{1, 100} {
		var asked atomic.Int64
		url := rawServer(t, reading(func(c net.Conn) {
			if asked.Add(1) <= times {
				io.WriteString(c, junk)
				return
			}
			io.WriteString(c, "HTTP/1.1 200 fine\r\nContent-Type: text/html\r\n\r\n<p>good")
		})) + "/"
		job := newJob(url)
		job.Settings.Robots, job.Settings.AnswerRetries = harvest.RobotsIgnore, 2
		dir := t.TempDir()
		run(t, dir, job)
		want := []string{"-3 triedAgain,badStatusLine", "200 2t"}
		if times > 1 {
			want = []string{"-3 triedAgain,badStatusLine", "-3 2t,triedAgain,badStatusLine", "-3 3t,badStatusLine"}
		}
		lines := logLinesOf(t, dir, url)
		for i, l := range lines {
			if parts := strings.Fields(l); len(parts) == 2 {
				notes := strings.Split(parts[1], ",")
				slices.Sort(notes)
				lines[i] = parts[0] + " " + strings.Join(notes, ",")
			}
		}
		for i, l := range want {
			parts := strings.Fields(l)
			notes := strings.Split(parts[1], ",")
			slices.Sort(notes)
			want[i] = parts[0] + " " + strings.Join(notes, ",")
		}
		if !slices.Equal(lines, want) {
			t.Errorf("lines %q, want %q", lines, want)
		}
		kept := 0
		for _, f := range warcFiles(t, dir) {
			eachRecord(t, f, func(r *warc.Record) {
				if block, err := io.ReadAll(r.Block); r.Type == warc.TypeMetadata && r.TargetURI() == url && err == nil && string(block) == junk {
					kept++
				}
			})
		}
		if n := captures(t, dir)[url]; kept != len(want)-n || n != int(2-min(times, 2)) {
			t.Errorf("%d recorded as they came, %d as responses", kept, n)
		}
	}
}

// A crawl that was killed behind a wall goes on there: what was recorded is accounted for, and not asked for once more.
func TestKilledBehindAWall(t *testing.T) {
	t.Parallel()
	s := faultySite(t, rule{"/", "a=1", 0, inside}, rule{"/", "", 0, "302|Location: /wall"}, rule{"/wall", "", 0, "302|Location: /|Set-Cookie: a=1; path=/"},
		rule{"/deeper", "", 0, "200|<p>deep"})
	dir, copied := t.TempDir(), t.TempDir()
	run(t, dir, newJob(s.URL+"/"))
	before := len(s.requests())
	if err := os.MkdirAll(filepath.Join(copied, "warcs"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range warcFiles(t, dir) { // the records are there, the frontier knows nothing of them
		data, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(copied, "warcs", filepath.Base(f)+".open"), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if sum := run(t, copied, newJob(s.URL+"/")); sum.Counters.Queued != 0 || sum.Counters.Finished != 5 {
		t.Errorf("summary %+v", sum)
	}
	if n := len(s.requests()); n != before {
		t.Errorf("%d requests more: %v", n-before, s.counts())
	}
	if lines := logLinesOf(t, copied, s.URL+"/"); len(lines) != 2 || lines[1] != "200 askedAgain:1" {
		t.Errorf("lines %q", lines)
	}
}
