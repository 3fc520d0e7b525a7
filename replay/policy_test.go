package replay

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/access"
	"holdfast/cdx"
)

// aDay is when readers ask in these tests.
var aDay = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

// ways in are all paths by which a reader may come to know of a capture.
func waysIn(timestamp, url string) map[string]string {
	return map[string]string{
		"page": "/web/" + timestamp + "/" + url, "identity": "/web/" + timestamp + "id_/" + url, "picture": "/web/" + timestamp + "im_/" + url,
		"short timestamp": "/web/2026/" + url, "latest": "/web/" + url, "calendar": "/web/*/" + url, "calendar of a year": "/web/2026*/" + url,
		"prefix search": "/web/*/" + url + "*", "time map": "/timemap/link/" + url, "time map in JSON": "/timemap/json/" + url,
		"time map in CDXJ": "/timemap/cdxj/" + url, "CDX": "/cdx?url=" + url, "CDX, one": "/cdx?limit=1&url=" + url,
		"CDX, last": "/cdx?limit=1&sort=reverse&url=" + url, "CDX, closest": "/cdx?limit=1&closest=2026&url=" + url,
		"CDX, collapsed": "/cdx?collapseTime=4&url=" + url, "CDX of the host": "/cdx?matchType=host&url=" + url,
		"CDX of the domain": "/cdx?matchType=domain&url=" + url, "CDX as links": "/cdx?output=link&url=" + url,
		"CDX, filtered": "/cdx?filter=mime:html&url=" + url, "suggestions of a page that is not there": "/web/2026/" + url + "/none",
		"search page in a language": "/_/de/web/*/" + url,
	}
}

// TestEachKindOfRuleByEachWayIn: what a rule excludes is found by no way in, and what it blocks is listed and not shown; a
// rule that does not apply changes nothing.
func TestEachKindOfRuleByEachWayIn(t *testing.T) {
	t.Parallel()
	const url, timestamp, secret = "http://example.com/closed", "20260301000000", "the secret text"
	kinds := map[string]struct {
		applies, not access.Rule
	}{
		"exact":         {access.Rule{Prefix: "com,example)/closed", Exact: true}, access.Rule{Prefix: "com,example)/clos", Exact: true}},
		"prefix":        {access.Rule{Prefix: "com,example)/clo"}, access.Rule{Prefix: "com,example)/closet"}},
		"host":          {access.Rule{Prefix: "com,example"}, access.Rule{Prefix: "com,exam"}},
		"everything":    {access.Rule{}, access.Rule{Prefix: "org,"}},
		"capture dates": {access.Rule{From: "2026", To: "202603"}, access.Rule{To: "202602"}},
		"embargo":       {access.Rule{Newer: "6m"}, access.Rule{Newer: "1m"}},
		"age":           {access.Rule{Older: "1m"}, access.Rule{Older: "6m"}},
		"in force":      {access.Rule{Begin: "2026", End: "20260615"}, access.Rule{End: "20260614"}},
		"address":       {access.Rule{Addresses: []string{"127.0.0.0/8"}}, access.Rule{Addresses: []string{"10.0.0.0/8"}}},
		"role":          {access.Rule{}, access.Rule{Role: access.Reader}},
	}
	for name, kind := range kinds {
		for _, decision := range []access.Decision{access.Exclude, access.Block} {
			s, b := newShelf()
			b.html(timestamp, url, secret)
			b.html("20260201000000", "http://example.com/beside", "open text")
			ask := func(rule access.Rule) func(path string) (*http.Response, string) {
				rule.Access, rule.Message = decision, "By order."
				if err := rule.Check(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				srv := server(t, s, Config{Now: func() time.Time { return aDay }, Policy: inForce(access.Policy{Rules: []access.Rule{rule}})})
				return func(path string) (*http.Response, string) { return get(t, srv, path) }
			}
			closed, open := ask(kind.applies), ask(kind.not)
			for way, path := range waysIn(timestamp, url) {
				resp, body := closed(path)
				told := strings.Contains(body, "20260301000000") && way != "page" && way != "identity" && way != "picture"
				switch {
				case strings.Contains(body, secret):
					t.Errorf("%s, %s, %s: the content is shown: %d %.300s", name, decision, way, resp.StatusCode, body)
				case decision == access.Exclude && (told || strings.Contains(resp.Header.Get("Link"), timestamp) || strings.Contains(resp.Header.Get("Location"), timestamp)):
					t.Errorf("%s, %s: %s tells of the capture: %d %v %.300s", name, decision, way, resp.StatusCode, resp.Header, body)
				case decision == access.Block && strings.HasPrefix(path, "/web/2026") && !strings.Contains(path, "*") && !strings.HasSuffix(path, "/none") && resp.StatusCode != http.StatusUnavailableForLegalReasons:
					t.Errorf("%s, %s: %s is answered with %d", name, decision, way, resp.StatusCode)
				case decision == access.Exclude && resp.StatusCode != http.StatusNotFound && strings.HasPrefix(path, "/web/2026"+"0301"):
					t.Errorf("%s, %s: %s is answered with %d", name, decision, way, resp.StatusCode)
				case decision == access.Block && strings.Contains(way, "CDX") && !strings.Contains(body, "closed"):
					t.Errorf("%s, %s: %s does not list what is blocked: %.300s", name, decision, way, body)
				}
				if control := resp.Header.Get("Cache-Control"); !strings.Contains(control, "no-") {
					t.Errorf("%s, %s: caches may keep what %s gave: %q", name, decision, way, control)
				}
				if way == "suggestions of a page that is not there" {
					continue
				}
				if resp, body := open(path); resp.StatusCode != 200 && resp.StatusCode != 302 || way == "page" && !strings.Contains(body, secret) {
					t.Errorf("%s, %s: %s is refused by a rule that does not apply: %d %.200s", name, decision, way, resp.StatusCode, body)
				}
			}
		}
	}
}

// TestWhatIsExcludedCountsForNoLimit: of thirty captures, the first and all but two are excluded.
func TestWhatIsExcludedCountsForNoLimit(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	for day := range 30 {
		b.html(fmt.Sprintf("202603%02d000000", day+1), "http://example.com/", fmt.Sprintf("day %d.", day+1))
	}
	srv := server(t, s, Config{Policy: inForce(access.Policy{Rules: []access.Rule{
		{To: "20260327", Access: access.Exclude}, {From: "20260330", Access: access.Exclude}}})})
	for path, want := range map[string]string{
		"/cdx?url=example.com&limit=1":                  "20260328000000",
		"/cdx?url=example.com&limit=1&sort=reverse":     "20260329000000",
		"/cdx?url=example.com&limit=1&closest=20260301": "20260328000000",
		"/cdx?url=example.com&collapseTime=6":           "20260328000000",
		"/web/20260301000000id_/http://example.com/":    "day 28.",
		"/web/20260328000000/http://example.com/":       "day 28.",
		"/timemap/link/http://example.com/":             `from="Sat, 28 Mar 2026 00:00:00 GMT"; until="Sun, 29 Mar 2026 00:00:00 GMT"`,
	} {
		resp, body := get(t, srv, path)
		if resp.StatusCode != 200 || !strings.Contains(body, want) || strings.Contains(body, "20260301") && !strings.Contains(path, "20260301") {
			t.Errorf("%s: %d %.400s", path, resp.StatusCode, body)
		}
	}
}

// TestABlockedCaptureIsNotReplacedByAnother: who names a second gets that capture or the reason why not, and who names
// none gets one that may be seen.
func TestABlockedCaptureIsNotReplacedByAnother(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	b.html("20260301000000", "http://example.com/", "first")
	b.html("20260302000000", "http://example.com/", "second")
	srv := server(t, s, Config{Policy: inForce(access.Policy{Rules: []access.Rule{{From: "20260302", Access: access.Block, Message: "By order."}}})})
	for path, want := range map[string]int{
		"/web/20260302000000/http://example.com/": 451, "/web/20260302000000id_/http://example.com/": 451,
		"/web/20260301000000/http://example.com/": 200, "/web/20260302000001id_/http://example.com/": 200, "/web/http://example.com/": 302,
	} {
		if resp, body := get(t, srv, path); resp.StatusCode != want || strings.Contains(body, "second") {
			t.Errorf("%s: %d %.300s", path, resp.StatusCode, body)
		}
	}
	req, err := http.NewRequest(http.MethodHead, srv.URL+"/web/20260302000000id_/http://example.com/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", "bytes=0-3")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 451 || resp.Header.Get("Memento-Datetime") != "" {
		t.Errorf("HEAD of a blocked capture: %d %v", resp.StatusCode, resp.Header)
	}
}

// TestARevisitDoesNotOpenWhatIsClosed: its content lies in a record that may not be shown; with another copy of it, that
// one is shown.
func TestARevisitDoesNotOpenWhatIsClosed(t *testing.T) {
	t.Parallel()
	const digest = "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	revisit := func(b *builder, url string) {
		c := b.record("revisit", "20260401000000", url, "Content-Type: application/http;msgtype=response", "HTTP/1.1 200 OK\r\n\r\n")
		c.MIME, c.Digest = cdx.RevisitMIME, digest
		c.Refers = cdx.Refers{URL: "http://closed.example/", Timestamp: "20260301000000"}
	}
	for _, tt := range []struct {
		decision access.Decision
		another  bool
		status   int
	}{{access.Block, false, 451}, {access.Exclude, false, 404}, {access.Block, true, 200}, {access.Exclude, true, 200}} {
		s, b := newShelf()
		b.html("20260301000000", "http://closed.example/", "what it holds").Digest = digest
		if tt.another {
			b.html("20260302000000", "http://third.example/", "what it holds").Digest = digest
		}
		revisit(b, "http://open.example/")
		srv := server(t, s, Config{Policy: inForce(access.Policy{Rules: []access.Rule{{Prefix: "example,closed", Access: tt.decision}}})})
		resp, body := get(t, srv, "/web/20260401000000id_/http://open.example/")
		if resp.StatusCode != tt.status || strings.Contains(body, "what it holds") != tt.another {
			t.Errorf("%+v: %d %.300s", tt, resp.StatusCode, body)
		}
		if !tt.another && strings.Contains(body, "closed.example") {
			t.Errorf("%+v: the answer names what is closed: %s", tt, body)
		}
	}
}

// TestReadersAreRefusedWithoutAPolicy, and told when it may not be the agreed one any more.
func TestReadersAreRefusedWithoutAPolicy(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	b.html("20260301000000", "http://example.com/", "secret")
	none := server(t, s, Config{Policy: func() (access.InForce, error) { return access.InForce{}, errors.New("unknown") }})
	since := aDay.Add(-time.Hour)
	old := server(t, s, Config{Policy: func() (access.InForce, error) {
		return access.InForce{Compiled: access.Policy{}.Compile(), Unconfirmed: since}, nil
	}})
	empty := server(t, s, Config{Policy: func() (access.InForce, error) { return access.InForce{}, nil }})
	for way, path := range waysIn("20260301000000", "http://example.com/") {
		if resp, body := get(t, none, path); resp.StatusCode != 503 || strings.Contains(body, "20260301") && !strings.Contains(path, "20260301") || strings.Contains(body, "secret") {
			t.Errorf("%s without a policy: %d %.200s", way, resp.StatusCode, body)
		}
		if resp, body := get(t, empty, path); resp.StatusCode == 200 && strings.Contains(body, "20260301") || strings.Contains(body, "secret") {
			t.Errorf("%s with no policy and no error: %d %.200s", way, resp.StatusCode, body)
		}
		if resp, _ := get(t, old, path); resp.Header.Get(unconfirmedHeader) != since.Format(http.TimeFormat) {
			t.Errorf("%s by a policy that nobody confirms: %v", way, resp.Header)
		}
	}
	for _, srv := range []string{none.URL, empty.URL} {
		resp, err := http.Get(srv + "/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("the start page: %d", resp.StatusCode)
		}
	}
}
