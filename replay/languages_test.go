package replay

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"holdfast/access"
	"holdfast/internal/words"
	"holdfast/internal/words/wordstest"
)

func TestEveryLanguageHasWhatThePagesSay(t *testing.T) {
	t.Parallel()
	wordstest.Check(t, "replay", os.DirFS("."))
}

// offering returns an offer of these languages.
func offering(t *testing.T, tags ...string) *words.Offer {
	t.Helper()
	w, err := words.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	o, err := w.Offer(tags...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// ownPages are a path of each kind of page of the handler's own, with the status that it has on filled.
func ownPages() map[string]int {
	return map[string]int{
		"/": 200, "/?url=http://:99999/": 400, "/web/*/http://example.com/": 200, "/web/2024*/http://example.com/": 200,
		"/web/*/http://example.com/once": 200, "/web/*/http://example.com/*": 200, "/web/*/*.example.com": 200,
		"/web/*/http://none.example/*": 404, "/web/2026/http://example.com/none": 404, "/web/2026/http://none.example/": 404,
		"/web/20260101000000/http://example.com/blocked": 451, "/nothing": 404, "/web/2026/http://": 400,
		"/timemap/xml/http://example.com/": 404, "/web/20260101000000/http://example.com/lost": 503,
	}
}

// filled is a shelf with captures of all kinds.
func filled() *shelf {
	s, b := newShelf()
	for _, timestamp := range []string{"20240229120000", "20260101000000", "20260101060000", "20261231235959"} {
		b.html(timestamp, "http://example.com/", "x")
	}
	b.html("20260101000000", "http://example.com/once", "x")
	b.html("20260101000000", "http://example.com/blocked", "x")
	lost := b.html("20260101000000", "http://example.com/lost", "x")
	lost.File, lost.Status = "gone.warc.gz", 404
	return s
}

func blocking() access.Policy {
	return access.Policy{Rules: []access.Rule{{Prefix: "com,example)/blocked", Access: access.Block, Message: "By <court> order."}}}
}

// Every page, in every language: has the language, a title, one heading, labels, links that keep the language; no message
// is left in English or as its name, and nothing is inline.
func TestEveryPageInEveryLanguage(t *testing.T) {
	t.Parallel()
	srv := server(t, filled(), Config{Policy: inForce(blocking())})
	heard := map[string]map[string]string{}
	for path, status := range ownPages() {
		heard[path] = map[string]string{}
		for _, tag := range []string{"en", "da", "it", "fr", "de"} {
			resp, body := get(t, srv, "/_/"+tag+path)
			where := tag + " " + path
			if resp.StatusCode != status {
				t.Errorf("%s: status %d, want %d", where, resp.StatusCode, status)
			}
			if got := resp.Header.Get("Content-Language"); got != tag {
				t.Errorf("%s: Content-Language %q", where, got)
			}
			if got := resp.Header.Values("Vary"); strings.Contains(strings.Join(got, ","), "Accept-Language") {
				t.Errorf("%s: Vary %v, though the path has the language", where, got)
			}
			if strings.Contains(body, "replay.") {
				t.Errorf("%s shows the name of a message:\n%s", where, body)
			}
			checkAccessible(t, where, tag, body)
			checkKept(t, where, tag, body)
			heard[path][tag] = heading(t, body)
		}
		for tag, text := range heard[path] {
			if about := strings.HasPrefix(text, "http://"); tag != "en" && !about && text == heard[path]["en"] {
				t.Errorf("%s: the heading in %s is %q, as in English", path, tag, text)
			}
		}
	}
}

// checkAccessible checks what a page needs for all readers, and that it works without script or style of its own.
func checkAccessible(t *testing.T, where, tag, page string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	count, ids := map[string]int{}, map[string]bool{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		count[n.Data]++
		if id := attribute(n, "id"); id != "" {
			if ids[id] {
				t.Errorf("%s: two elements are %q", where, id)
			}
			ids[id] = true
		}
		switch n.Data {
		case "html":
			if attribute(n, "lang") != tag || attribute(n, "dir") != "ltr" {
				t.Errorf("%s: lang %q, dir %q", where, attribute(n, "lang"), attribute(n, "dir"))
			}
		case "title", "button", "h1", "a", "label", "caption", "th":
			if strings.TrimSpace(inner(n)) == "" && attribute(n, "aria-label") == "" {
				t.Errorf("%s: <%s> says nothing", where, n.Data)
			}
		case "input":
			checkLabelled(t, root, n)
		case "nav", "table":
			if n.Data == "nav" && attribute(n, "aria-label") == "" {
				t.Errorf("%s: a <nav> has no name", where)
			}
		}
		for _, a := range n.Attr {
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") || strings.HasPrefix(strings.ToLower(a.Val), "javascript:") {
				t.Errorf("%s: <%s %s=%q>", where, n.Data, a.Key, a.Val)
			}
		}
	}
	for name, want := range map[string]int{"title": 1, "h1": 1, "main": 1, "header": 1, "script": 0, "style": 0} {
		if count[name] != want {
			t.Errorf("%s: %d × <%s>, want %d", where, count[name], name, want)
		}
	}
}

// checkKept checks that all links and forms stay here and in the language, but those that lead to another language.
func checkKept(t *testing.T, where, tag, page string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		to := attribute(n, "href") + attribute(n, "action")
		if to == "" || n.Data == "link" || strings.HasPrefix(to, "#") {
			continue
		}
		if lang := attribute(n, "hreflang"); lang != "" {
			if !strings.HasPrefix(to, "/_/"+lang+"/") {
				t.Errorf("%s: the link to %s leads to %q", where, lang, to)
			}
		} else if !strings.HasPrefix(to, "/_/"+tag+"/") {
			t.Errorf("%s: a link to %q leaves the language", where, to)
		}
	}
}

func heading(t *testing.T, page string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Data == "h1" {
			return inner(n)
		}
	}
	return ""
}

func inner(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// Without a prefix the browser's languages count, and the page says to caches that they do.
func TestTheBrowserChoosesTheLanguage(t *testing.T) {
	t.Parallel()
	srv := server(t, filled(), Config{Languages: offering(t, "da", "de", "en")})
	for header, want := range map[string]string{"": "da", "de-CH, en;q=0.5": "de", "fr, en;q=0.5": "en", "ja": "da", "*": "da"} {
		for _, path := range []string{"/", "/nothing", "/web/*/http://example.com/"} {
			resp, body := get(t, srv, path, "Accept-Language", header)
			if resp.Header.Get("Content-Language") != want || !strings.Contains(body, `<html lang="`+want+`"`) {
				t.Errorf("%s for %q is in %q", path, header, resp.Header.Get("Content-Language"))
			}
			if !strings.Contains(strings.Join(resp.Header.Values("Vary"), ","), "Accept-Language") {
				t.Errorf("%s: Vary %v", path, resp.Header.Values("Vary"))
			}
			if resp.Header.Get("Cache-Control") != "no-cache" {
				t.Errorf("%s: Cache-Control %q", path, resp.Header.Get("Cache-Control"))
			}
		}
	}
	if resp, _ := get(t, srv, "/_/fr/"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a language that is not offered: %d", resp.StatusCode)
	}
	if _, body := get(t, srv, "/"); strings.Contains(body, "/_/fr/") || !strings.Contains(body, `href="/_/de/" hreflang="de" lang="de"`) {
		t.Errorf("the languages to choose from: %s", body)
	}
	alone := server(t, filled(), Config{Languages: offering(t, "it")})
	resp, body := get(t, alone, "/", "Accept-Language", "de")
	if resp.Header.Get("Content-Language") != "it" || len(resp.Header.Values("Vary")) > 0 || strings.Contains(body, "hreflang") {
		t.Errorf("the only language: %v", resp.Header)
	}
}

// Redirects keep the language that the reader chose, and so do the links of archived pages; what has no bar has no prefix.
func TestTheLanguageIsKept(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	b.html("20260101000000", "http://example.com/", `<a href="/next">n</a><img src="/i.png"><form action="f"></form><a href="/web/20260101000000/http://x/">done</a>`)
	c := b.response("20260101000000", "http://example.com/moved", "HTTP/1.1 302 Found\nLocation: /there\n", "")
	c.Redirect, c.Status = "http://example.com/there", 302
	srv := server(t, s, Config{})
	for path, want := range map[string]string{
		"/_/de":                             "/_/de/",
		"/_/de/web":                         "/_/de/",
		"/_/de/?url=example.com":            "/_/de/web/*/http://example.com",
		"/_/de/?url=*.example.com":          "/_/de/web/*/*.example.com",
		"/_/de/web/2026/http://example.com": "/_/de/web/20260101000000/http://example.com/",
		"/_/de/web/20260101000000/http://example.com/moved":      "/_/de/web/20260101000000/http://example.com/there",
		"/_/de/web/20260101000000im_/http://example.com/moved":   "/web/20260101000000im_/http://example.com/there",
		"/web/20260101000000/http://example.com/moved":           "/web/20260101000000/http://example.com/there",
		"/_/da/web/20260101000000mp_/http://www.example.com:80/": "/_/da/web/20260101000000mp_/http://example.com/",
	} {
		if resp, _ := get(t, srv, path); resp.Header.Get("Location") != want {
			t.Errorf("%s leads to %q, want %q", path, resp.Header.Get("Location"), want)
		}
	}
	resp, body := get(t, srv, "/_/fr/web/20260101000000/http://example.com/")
	for _, want := range []string{`href="/_/fr/web/20260101000000/http://example.com/next"`, `src="/web/20260101000000im_/http://example.com/i.png"`,
		`action="/_/fr/web/20260101000000/http://example.com/f"`, `href="/web/20260101000000/http://x/"`, `href="/_/fr/web/*/http://example.com/"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s:\n%s", want, body)
		}
	}
	if got := resp.Header.Get("Content-Location"); got != "/web/20260101000000/http://example.com/" {
		t.Errorf("Content-Location %q", got)
	}
	if got := resp.Header.Get("Link"); strings.Contains(got, "/_/") {
		t.Errorf("a memento's address has the reader's language: %s", got)
	}
	resp, _ = get(t, srv, "/late.js", "Referer", srv.URL+"/_/fr/web/20260101000000/http://example.com/")
	if got := resp.Header.Get("Location"); got != "/_/fr/web/20260101000000/http://example.com/late.js" {
		t.Errorf("a stray request leads to %q", got)
	}
}

func TestTheBar(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	b.response("20261101021405", "http://example.com/é", "HTTP/1.1 200 OK\nContent-Type: text/html; charset=windows-1252\nContent-Language: ja\n", "<body>\xe9</body>")
	b.response("20261101021405", "http://example.com/s.css", "HTTP/1.1 200 OK\nContent-Type: text/css\n", "a{}")
	srv := server(t, s, Config{Title: "Bücher & <Blätter>"})
	for tag, want := range map[string]string{
		"en": "Bücher & <Blätter> · archived 1 November 2026, 02:14:05 UTC · all captures",
		"da": "Bücher & <Blätter> · arkiveret 1. november 2026 kl. 02.14.05 UTC · alle versioner",
		"it": "Bücher & <Blätter> · pagina archiviata: 1º novembre 2026, 02:14:05 UTC · tutte le catture",
		"fr": "Bücher & <Blätter> · page archivée le 1er novembre 2026 à 02:14:05 UTC · toutes les captures",
		"de": "Bücher & <Blätter> · archiviert am 1. November 2026, 02:14:05 UTC · alle Zeitschnitte",
	} {
		for _, prefix := range []string{"", "/_/" + tag} {
			resp, body := get(t, srv, prefix+"/web/20261101021405/http://example.com/é", "Accept-Language", tag)
			_, after, _ := strings.Cut(body, "<body>")
			bar, rest, _ := strings.Cut(after, "</div>")
			if strings.ContainsFunc(bar, func(r rune) bool { return r >= 0x80 }) || rest != "\xe9</body>" {
				t.Errorf("%s: the bar is not ASCII: %q", tag, body)
			}
			root, err := html.Parse(strings.NewReader(bar + "</div>"))
			if err != nil || inner(root) != want {
				t.Errorf("%s: %v %q, want %q", tag, err, inner(root), want)
			}
			if !strings.Contains(bar, `lang="`+tag+`"`) || !strings.Contains(bar, `href="`+prefix+`/web/*/`) {
				t.Errorf("%s: %s", tag, bar)
			}
			varies := strings.Contains(strings.Join(resp.Header.Values("Vary"), ","), "Accept-Language")
			if varies != (prefix == "") || resp.Header.Get("Content-Language") != "ja" {
				t.Errorf("%s%s: Vary %v, Content-Language %q", prefix, tag, resp.Header.Values("Vary"), resp.Header.Get("Content-Language"))
			}
		}
	}
	for _, path := range []string{"/web/20261101021405/http://example.com/s.css", "/web/20261101021405id_/http://example.com/é"} {
		if resp, _ := get(t, srv, path); strings.Contains(fmt.Sprint(resp.Header.Values("Vary")), "Accept-Language") {
			t.Errorf("%s has no bar, but Vary %v", path, resp.Header.Values("Vary"))
		}
	}
}

// A page's own styles do not override the bar's.
func TestEachPropertyOfTheBarIsImportant(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	b.html("20260101000000", "http://example.com/", "<style>div,b,time,a{display:none!important}</style><body>x</body>")
	srv := server(t, s, Config{})
	_, body := get(t, srv, "/web/20260101000000/http://example.com/")
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	styled := 0
	for n := range root.Descendants() {
		if style := attribute(n, "style"); style != "" {
			styled++
			for one := range strings.SplitSeq(style, ";") {
				if !strings.HasSuffix(one, "!important") {
					t.Errorf("<%s>: %s", n.Data, one)
				}
			}
		}
	}
	if styled != 4 {
		t.Errorf("%d elements of the bar have a style", styled)
	}
}

// Whatever a path holds, nobody is led to another host by it, and nothing of it becomes markup or a header.
func TestNobodyIsLedAway(t *testing.T) {
	t.Parallel()
	shelf := filled()
	h, err := New(Config{Policy: inForce(blocking())}, shelf, shelf, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	answered := 0
	shapes := []string{"//evil.test/", "/\\evil.test/", "/%2F%2Fevil.test/", "/%5Cevil.test/", "/%09//evil.test/", "/%0d%0aSet-Cookie:%20a=b", "/https://evil.test/",
		"/https:/evil.test", "/javascript:alert(1)", "/..//evil.test/", "/%2e%2e//evil.test/", "/./\\/evil.test/", "/@evil.test/",
		"//evil.test/web", "//evil.test/..", "/%00//evil.test", "///evil.test", "/web//evil.test/", "/web/\\\\evil.test", "/?url=//evil.test/",
		"/?url=javascript:alert(1)", "/?url=http://x/%0d%0aSet-Cookie:%20a=b", "/?url=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "/%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
		"/web/*/http://x/%22%3E%3Cscript%3E", "/web/2026/http://x/\"><script>alert(1)</script>", "/?\"><script>alert(1)</script>",
		"", "//", "/web", "/web/", "/web?//evil.test/"}
	for _, prefix := range []string{"", "/_/de", "/_/xx", "/_/%64e", "/_/de%2f", "/_/de/_/fr", "/_/", "/_", "/_/de%3Cscript%3E"} {
		for _, shape := range shapes {
			path := prefix + shape
			// As it comes over the wire: a client would tidy the path.
			raw := "GET " + path + " HTTP/1.1\r\nHost: archive.test\r\nReferer: http://archive.test/_/de//evil.test/web/2026/http://x/\r\n\r\n"
			r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
			if err != nil {
				continue // the server answers 400
			}
			answered++
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			resp, body := w.Result(), w.Body.String()
			checkStays(t, path, resp, body)
		}
	}
	if answered < 200 {
		t.Errorf("only %d of the requests came through", answered)
	}
}

// checkStays checks an answer to a hostile path.
func checkStays(t *testing.T, path string, resp *http.Response, body string) {
	t.Helper()
	if to := resp.Header.Get("Location"); to != "" && !strings.HasPrefix(to, "/web/") && to != "/" && !strings.HasPrefix(to, "/_/de/") && !strings.HasPrefix(to, "/_/en/") {
		t.Errorf("%q leads to %q", path, to)
	}
	if len(resp.Header.Values("Set-Cookie")) > 0 || strings.ContainsAny(fmt.Sprint(resp.Header), "\r\n") {
		t.Errorf("%q sets a header: %v", path, resp.Header)
	}
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Data == "script" && n.Type == html.ElementNode {
			t.Errorf("%q became a script: %s", path, body)
		}
		for _, a := range n.Attr {
			if (a.Key == "href" || a.Key == "action") && (!strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") ||
				strings.HasPrefix(a.Val, "//") || strings.HasPrefix(a.Val, "/\\")) {
				t.Errorf("%q: a link to %q", path, a.Val)
			}
		}
	}
}

// The page of a hostile Accept-Language is a page like others, and small.
func TestAHostileAcceptLanguage(t *testing.T) {
	t.Parallel()
	srv := server(t, filled(), Config{})
	for name, header := range map[string]string{"huge": strings.Repeat("de-x-aaaaaaaa;q=0.1,", 40_000), "one tag": strings.Repeat("a-", 400_000),
		"markup": `"><script>alert(1)</script>`, "path": "../../../etc/passwd", "de with markup": `de"><script>`} {
		resp, body := get(t, srv, "/", "Accept-Language", header)
		if resp.StatusCode != 200 || len(body) > 10_000 || strings.Contains(body, "<script") || strings.Contains(body, "passwd") {
			t.Errorf("%s: %d, %d bytes", name, resp.StatusCode, len(body))
		}
		if got := resp.Header.Get("Content-Language"); len(got) != 2 {
			t.Errorf("%s: Content-Language %q", name, got)
		}
	}
	long := "/nothing?" + strings.Repeat("x", 500_000)
	if resp, body := get(t, srv, long); resp.StatusCode != 404 || len(body) > 10_000 {
		t.Errorf("a long address: %d, %d bytes", resp.StatusCode, len(body))
	}
}

// A reason that the archive's people wrote stands apart from the program's own words, as text.
func TestAReasonIsText(t *testing.T) {
	t.Parallel()
	srv := server(t, filled(), Config{Policy: inForce(blocking())})
	_, body := get(t, srv, "/_/de/web/20260101000000/http://example.com/blocked")
	if !strings.Contains(body, "<bdi>By &lt;court&gt; order.</bdi>") || !strings.Contains(body, "darf aber nicht gezeigt werden") {
		t.Errorf("%s", body)
	}
}

// What nobody knows is said so in every language.
func TestIncompleteInEveryLanguage(t *testing.T) {
	t.Parallel()
	s := filled()
	srv := server(t, s, Config{})
	s.missing = make([]int, 1234)
	for tag, want := range map[string]string{"en": "(1,234 of 4,096 shards)", "da": "(1.234 af 4.096 partitioner)", "it": "(1234 partizioni su 4096)",
		"fr": "(1\u202f234 partitions sur 4\u202f096)", "de": "(1.234 von 4.096 Partitionen)"} {
		resp, body := get(t, srv, "/_/"+tag+"/web/*/http://example.com/")
		if resp.StatusCode != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", tag, resp.StatusCode, body)
		}
	}
	s.missing, s.broken = nil, errors.New("index is closed")
	resp, body := get(t, srv, "/_/da/web/*/http://example.com/")
	if resp.StatusCode != 503 || !strings.Contains(body, "Indekset kan ikke") || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
