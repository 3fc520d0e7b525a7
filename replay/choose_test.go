package replay

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/cdx"
)

// TestTheVeryURLComesFirst: others of its key come when it was captured at quite another time.
func TestTheVeryURLComesFirst(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	b.html("20260101000000", "http://example.com/wiki/JAVA", "the acronym")
	b.html("20260101000005", "http://example.com/wiki/java", "the island")
	b.html("20230101000000", "http://example.com/wiki/Java", "the language")
	b.html("20260101000000", "http://plain.example/", "by http")
	b.html("20260101000000", "https://plain.example/", "by https")
	b.html("20200101000000", "http://moved.example/", "before it moved")
	b.html("20260101000000", "https://moved.example/", "after it moved")
	b.html("20260101000000", "http://often.example/x", "the very one")
	for i := range 40 {
		b.html(fmt.Sprintf("202601010001%02d", i), "http://often.example/X", "another")
	}
	srv := server(t, s, Config{})
	for path, want := range map[string]string{
		"/web/20260101000000id_/http://example.com/wiki/java": "the island",
		"/web/20260101000005id_/http://example.com/wiki/JAVA": "the acronym",
		"/web/20260101000000id_/http://example.com/wiki/Java": "the acronym", // three years are too far
		"/web/20260101000000id_/https://plain.example/":       "by https",
		"/web/20260101000000id_/http://plain.example/":        "by http",
		"/web/20260101000000id_/http://moved.example/":        "after it moved",
		"/web/20260101000130id_/http://often.example/x":       "the very one",
	} {
		if resp, body := get(t, srv, path); resp.StatusCode != 200 || body != want {
			t.Errorf("%s: %d %q, want %q", path, resp.StatusCode, body, want)
		}
	}
}

// TestAShortTimestampMeansItsSpan, of which the first capture comes first, and around which the nearest.
func TestAShortTimestampMeansItsSpan(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	b.html("20131231000000", "http://example.com/", "December 2013")
	b.html("20141001000000", "http://example.com/", "October 2014")
	b.html("20150102000000", "http://example.com/", "January 2015")
	b.html("20160701000000", "http://example.com/", "July 2016")
	srv := server(t, s, Config{})
	for stamp, want := range map[string]string{
		"2014": "October 2014", "201410": "October 2014", "20141002": "October 2014", "2015": "January 2015", "2016": "July 2016",
		"2013": "December 2013", "201312": "December 2013", "2012": "December 2013", "2017": "July 2016", "201501": "January 2015",
		"201412": "January 2015", "20131231000001": "December 2013", "99": "July 2016",
	} {
		if resp, body := get(t, srv, "/web/"+stamp+"id_/http://example.com/"); resp.StatusCode != 200 || body != want {
			t.Errorf("%s: %d %q, want %q", stamp, resp.StatusCode, body, want)
		}
	}
}

// TestWhatAPageEmbedsWasAnswered: a picture that the server refused just then is another time's; a page is as it was.
func TestWhatAPageEmbedsWasAnswered(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	for _, c := range []struct {
		timestamp string
		status    int
	}{{"20260101000000", 503}, {"20260101000500", 429}, {"20260301000000", 200}, {"20260105000000", 404}} {
		b.response(c.timestamp, "http://example.com/a", fmt.Sprintf("HTTP/1.1 %d X\nContent-Type: image/png\n", c.status), fmt.Sprint(c.status)).Status = c.status
	}
	srv := server(t, s, Config{})
	for path, want := range map[string]string{
		"/web/20260101000001im_/http://example.com/a": "404", "/web/20260215000000im_/http://example.com/a": "200",
		"/web/20260101000000/http://example.com/a": "503", "/web/20260101000000id_/http://example.com/a": "503",
	} {
		if _, body := get(t, srv, path); body != want {
			t.Errorf("%s: %q, want %q", path, body, want)
		}
	}
}

// TestA304NamesAnEarlierPage although many later captures are nearer.
func TestA304NamesAnEarlierPage(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	b.html("20250101000000", "http://example.com/", "the page")
	c := b.record("revisit", "20260101000000", "http://example.com/", "Content-Type: application/http;msgtype=response", "HTTP/1.1 304 Not Modified\r\n\r\n")
	c.MIME, c.Status = cdx.RevisitMIME, 0
	for i := range 25 {
		b.html(fmt.Sprintf("202601010000%02d", i+1), "http://example.com/", "later")
	}
	srv := server(t, s, Config{})
	resp, body := get(t, srv, "/web/20260101000000id_/http://example.com/")
	if resp.StatusCode != 200 || !strings.Contains(body, "the page") {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
}
