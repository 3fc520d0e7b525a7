package crawler

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
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
		if name, value, ok := strings.Cut(p, ": "); ok && body == "" && !strings.HasPrefix(p, "<") {
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
