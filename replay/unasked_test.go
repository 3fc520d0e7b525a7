package replay

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/access"
	"holdfast/cdx"
)

// everyKind is an address of each kind of answer about what the archive has of a page.
func everyKind(url string) []string {
	return []string{"/web/2026/" + url, "/web/" + url, "/web/*/" + url, "/web/*/" + url + "*", "/timemap/link/" + url,
		"/timemap/json/" + url, "/timemap/cdxj/" + url, "/cdx?url=" + url, "/cdx?output=link&url=" + url}
}

// Who asks while the index cannot be asked, wholly or in part, is never told that the archive does not have the page.
func TestNothingIsNotFoundWhileTheIndexCannotBeAsked(t *testing.T) {
	t.Parallel()
	const url = "http://example.com/none"
	for name, fail := range map[string]func(*shelf){
		"no part answers": func(s *shelf) { s.broken = errors.New("index is closed") },
		"some do not":     func(s *shelf) { s.missing = []int{1, 2} },
		"all do not":      func(s *shelf) { s.missing = make([]int, 4096) },
		"none but a stream": func(s *shelf) {
			s.broken = errors.Join(errors.New("cut off"),
				&cdx.Incomplete{Shards: []int{7}})
		},
	} {
		s, b := newShelf()
		b.html("20260101000000", "http://example.com/other", "there")
		fail(s)
		srv := server(t, s, Config{})
		for _, path := range everyKind(url) {
			resp, body := get(t, srv, path)
			if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || len(body) == 0 {
				t.Errorf("%s: %s answers %d, Retry-After %q: %.80q", name, path, resp.StatusCode,
					resp.Header.Get("Retry-After"), body)
			}
			if strings.Contains(body, "has no capture") || strings.Contains(body, "holds this page") {
				t.Errorf("%s: %s says what nobody knows: %s", name, path, body)
			}
		}
	}
}

// What is found is shown, and it is said that there may be more.
func TestATimeMapSaysThatItIsIncomplete(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	b.html("20260101000000", "http://example.com/", "one")
	s.missing = []int{1, 2, 3}
	srv := server(t, s, Config{})
	resp, body := get(t, srv, "/timemap/link/http://example.com/")
	if resp.StatusCode != 200 || !strings.Contains(body,
		`rel="memento"`) || resp.Header.Get("X-Archive-Incomplete") != "3" {
		t.Errorf("%d, %q: %s", resp.StatusCode, resp.Header.Get("X-Archive-Incomplete"), body)
	}
}

// A time map's first and last captures are those that may be known of, however many others there are around them.
func TestATimeMapBeyondManyThatAreExcluded(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	for i := range 120 {
		b.html(fmt.Sprintf("2026010100%02d%02d", i/60, i%60), "http://example.com/", "page")
	}
	hidden := func(from, to string) access.Rule {
		return access.Rule{Prefix: "com,example)", From: from, To: to, Access: access.Exclude}
	}
	rules := access.Policy{Rules: []access.Rule{
		hidden("20260101000000", "20260101000050"), hidden("20260101000110", "20260101000200"),
	}}
	srv := server(t, s, Config{Policy: inForce(rules)})
	resp, body := get(t, srv, "/timemap/link/http://example.com/")
	if resp.StatusCode != 200 || strings.Count(body, `rel="memento"`) != 19 {
		t.Fatalf("%d with %d captures: %.300s", resp.StatusCode, strings.Count(body, `rel="memento"`), body)
	}
	if !strings.Contains(body, `from="Thu, 01 Jan 2026 00:00:51 GMT"; until="Thu, 01 Jan 2026 00:01:09 GMT"`) {
		t.Errorf("%.300s", body)
	}
}

// A revisit whose original is not found is not said to have none while a part of the index cannot be asked; and when one
// of several captures cannot be read just now, it is not said that what another refers to is not there.
func TestARevisitWithoutItsOriginalJustNow(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	c := b.record("revisit", "20260201000000", "http://example.com/r",
		"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest", "HTTP/1.1 200 OK\r\n\r\n")
	c.MIME, c.Digest = cdx.RevisitMIME, "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	c.Refers = cdx.Refers{URL: "http://example.com/first", Timestamp: "20260101000000"}
	srv := server(t, s, Config{})
	const path = "/web/20260201000000/http://example.com/r"
	if resp, _ := get(t, srv, path); resp.StatusCode != 404 {
		t.Fatalf("%d", resp.StatusCode)
	}
	s.missing = []int{5}
	if resp, body := get(t, srv, path); resp.StatusCode != 503 {
		t.Errorf("while a part of the index cannot be asked: %d %s", resp.StatusCode, body)
	}
	s.missing = nil
	unread := b.html("20260201000001", "http://example.com/r", "a page")
	unread.File = "gone.warc.gz"
	if resp, body := get(t, srv, "/web/20260201000001/http://example.com/r"); resp.StatusCode != 503 {
		t.Errorf("while one that is nearer cannot be read: %d %s", resp.StatusCode, body)
	}
}
