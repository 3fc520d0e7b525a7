package replay

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestStartPage(t *testing.T) {
	t.Parallel()
	s, _ := newShelf()
	srv := server(t, s, Config{Title: "Library of <Alexandria>"})
	resp, body := get(t, srv, "/")
	if resp.StatusCode != 200 || !strings.Contains(body, "Library of &lt;Alexandria&gt;") || !strings.Contains(body, `name="url"`) {
		t.Errorf("start page: %d %s", resp.StatusCode, body)
	}
	if got := resp.Header.Get("Content-Security-Policy"); got != ownPolicy {
		t.Errorf("policy %q", got)
	}
	for typed, want := range map[string]string{
		"example.com":                 "/web/*/http://example.com",
		"https%3A%2F%2Fexample.com/a": "/web/*/https://example.com/a",
		"example.com/a*":              "/web/*/http://example.com/a*",
		"*.example.com":               "/web/*/*.example.com",
		"http://example.com/?a=b%26c": "/web/*/http://example.com/?a=b&c",
	} {
		if resp, _ := get(t, srv, "/?url="+typed); resp.Header.Get("Location") != want {
			t.Errorf("%s leads to %q, want %q", typed, resp.Header.Get("Location"), want)
		}
	}
	if resp, body := get(t, srv, "/?url=http://:99999/"); resp.StatusCode != 400 || !strings.Contains(body, `role="alert"`) {
		t.Errorf("a bad address: %d", resp.StatusCode)
	}
	_, sheet, _ := strings.Cut(body, `<link rel="stylesheet" href="`)
	sheet, _, _ = strings.Cut(sheet, `"`)
	if resp, _ := get(t, srv, sheet); !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/css") ||
		!strings.Contains(resp.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("style sheet %q: %v", sheet, resp.Header)
	}
}

// Our own pages have no icon, and browsers are told so without an error; an archived page's icon is the archived one.
func TestIcon(t *testing.T) {
	t.Parallel()
	srv := server(t, filled(), Config{})
	if resp, _ := get(t, srv, "/favicon.ico", "Referer", srv.URL+"/"); resp.StatusCode != http.StatusNoContent {
		t.Errorf("for our own page: %d", resp.StatusCode)
	}
	resp, _ := get(t, srv, "/favicon.ico", "Referer", srv.URL+"/web/20260101000000/http://example.com/")
	if got := resp.Header.Get("Location"); got != "/web/20260101000000/http://example.com/favicon.ico" {
		t.Errorf("for an archived page: %d %s", resp.StatusCode, got)
	}
}

func TestCalendar(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	for _, timestamp := range []string{"20240229120000", "20260101000000", "20260101060000", "20261231235959"} {
		b.html(timestamp, "http://example.com/?q=<script>", "x")
	}
	srv := server(t, s, Config{})
	resp, body := get(t, srv, "/web/*/http://example.com/?q=<script>")
	if resp.StatusCode != 200 {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	checkLinks(t, body)
	body = strings.ToLower(body) // escapes may be of either case
	for _, want := range []string{"<strong>4</strong> captures", `<a href="/web/2024*/http://example.com/?q=%3cscript%3e"`,
		`<a class="some" href="#d20260101" title="2 captures">1</a>`, `<tr id="d20260101">`,
		`<a class="few" href="/web/20261231235959/http://example.com/?q=%3cscript%3e" title="1 capture">31</a>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the calendar lacks %s", want)
		}
	}
	if strings.Contains(body, "<script>") {
		t.Error("a URL became markup")
	}
	_, body = get(t, srv, "/web/2024*/http://example.com/?q=<script>")
	if !strings.Contains(body, "29 February 2024") || strings.Contains(body, "31 December 2026, ") {
		t.Error("the calendar of 2024 shows another year")
	}
	_, body = get(t, srv, "/web/*/*.example.com")
	if !strings.Contains(body, `<td class="number">4</td>`) {
		t.Errorf("addresses of the domain: %s", body)
	}
}

// checkLinks checks that every link of a page of ours stays here, and that its inputs have labels.
func checkLinks(t *testing.T, page string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "href" && !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") {
				t.Errorf("a link to %q", a.Val)
			}
		}
		if n.Data == "input" {
			checkLabelled(t, root, n)
		}
	}
}

func checkLabelled(t *testing.T, root, input *html.Node) {
	t.Helper()
	for n := range root.Descendants() {
		if n.Data == "label" && attribute(n, "for") == attribute(input, "id") {
			return
		}
	}
	t.Errorf("input %q has no label", attribute(input, "id"))
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func TestCDXServer(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	b.html("20240101000000", "http://example.com/", "x").Digest = "sha1:AAAA"
	b.html("20250101000000", "http://example.com/", "x").Status = 404
	b.html("20260101000000", "http://example.com/", "x")
	b.html("20260101000000", "http://sub.example.com/", "x")
	for i := range s.captures {
		s.captures[i].Offset, s.captures[i].Length = int64(i), 7
	}
	srv := server(t, s, Config{})
	for _, tt := range []struct{ query, contentType, want string }{
		{"url=example.com&limit=1", "text/plain; charset=utf-8",
			`com,example)/ 20240101000000 {"url": "http://example.com/", "mime": "text/html", "status": "200", "digest": "sha1:AAAA", "length": "7", "offset": "0", "filename": "test.warc.gz"}`},
		{"url=example.com&output=json&fields=timestamp,status,redirect", "text/x-ndjson",
			`{"timestamp": "20240101000000", "status": "200"}|{"timestamp": "20250101000000", "status": "404"}|{"timestamp": "20260101000000", "status": "200"}`},
		{"url=example.com&fl=timestamp,statuscode,redirect&filter=!=status:200", "text/plain; charset=utf-8", "20250101000000 404 -"},
		{"url=*.example.com&fl=urlkey&from=2026", "text/plain; charset=utf-8", "com,example)/|com,example,sub)/"},
		{"url=http://example.com/*&fl=timestamp&to=2024", "text/plain; charset=utf-8", "20240101000000"},
		{"url=example.com&fl=timestamp&sort=reverse&limit=2", "text/plain; charset=utf-8", "20260101000000|20250101000000"},
		{"url=example.com&fl=timestamp&closest=20250301&limit=2", "text/plain; charset=utf-8", "20250101000000|20260101000000"},
		{"url=example.com&fl=timestamp&closest=20250301&sort=closest&limit=100&filter=~status:4..", "text/plain; charset=utf-8", "20250101000000"},
		{"url=example.com&fl=offset&output=cdxj&limit=1", "text/x-cdxj", `com,example)/ 20240101000000 {"offset": "0"}`},
		{"url=example.com&showNumPages=true", "application/json", `{"blocks": 1, "pages": 1, "pageSize": 1}`},
		{"url=nowhere.example", "text/plain; charset=utf-8", ""},
	} {
		resp, body := get(t, srv, "/cdx?"+tt.query)
		got := strings.ReplaceAll(strings.TrimSpace(body), "\n", "|")
		if resp.StatusCode != 200 || got != tt.want || resp.Header.Get("Content-Type") != tt.contentType {
			t.Errorf("%s: %d %s\ngot  %s\nwant %s", tt.query, resp.StatusCode, resp.Header.Get("Content-Type"), got, tt.want)
		}
	}
	s.missing = []int{7}
	resp, _ := get(t, srv, "/cdx?url=example.com")
	if resp.Trailer.Get("X-Archive-Incomplete") != "1" {
		t.Errorf("an incomplete answer is not marked: %v", resp.Trailer)
	}
}

func TestTimeMap(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	b.html("20240101000000", "http://example.com/", "x")
	b.html("20260101000000", "https://example.com/", "x")
	srv := server(t, s, Config{BaseURL: "https://archive.example/"})
	_, body := get(t, srv, "/timemap/link/http://example.com/")
	want := `<https://archive.example/timemap/link/http://example.com/>; rel="self"; type="application/link-format"; from="Mon, 01 Jan 2024 00:00:00 GMT"; until="Thu, 01 Jan 2026 00:00:00 GMT",
<https://archive.example/web/http://example.com/>; rel="timegate",
<http://example.com/>; rel="original",
<https://archive.example/web/20240101000000/http://example.com/>; rel="memento"; datetime="Mon, 01 Jan 2024 00:00:00 GMT",
<https://archive.example/web/20260101000000/https://example.com/>; rel="memento"; datetime="Thu, 01 Jan 2026 00:00:00 GMT"
`
	if body != want {
		t.Errorf("got\n%s\nwant\n%s", body, want)
	}
	if _, body = get(t, srv, "/timemap/cdxj/http://example.com/"); strings.Count(body, "\n") != 2 {
		t.Errorf("as CDXJ: %q", body)
	}
}

// A redirect to the exact place must end, however the address is spelled.
func TestNoRedirectLoops(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://example.com/a b?c d", "http://example.com/ü", "http://example.com", "http://EXAMPLE.com:80/x", "http://example.com/a#frag", "example.com/plain", "http://example.com/%7Ex?<>"} {
		s, b := newShelf()
		b.html("20260101000000", url, "found it")
		srv := server(t, s, Config{})
		path := "/web/2026/" + strings.NewReplacer(" ", "%20", "#", "%23").Replace(url)
		if strings.Contains(url, "#") {
			path = "/web/2026/http://example.com/a"
		}
		body := ""
		for hops := 0; ; hops++ {
			var resp *http.Response
			resp, body = get(t, srv, path)
			if resp.StatusCode != http.StatusFound {
				break
			}
			if path = resp.Header.Get("Location"); hops > 2 {
				t.Errorf("%s: still redirected to %s", url, path)
				break
			}
		}
		if !strings.Contains(body, "found it") {
			t.Errorf("%s: %.200s", url, body)
		}
	}
}

func FuzzTarget(f *testing.F) {
	for _, s := range []string{"2026/http://x/", "*/x", "2026*/x", "id_/x", "20260101000000im_/http:/x", "http://a:1/", "////", "?"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got := parseTarget(path)
		if len(got.timestamp) > 14 || got.modifier != "" && !isModifier(got.modifier) {
			t.Errorf("parseTarget(%q) = %+v", path, got)
		}
		for _, q := range nearby(got.url) {
			if q.URL == "" {
				t.Errorf("nearby(%q) asks for nothing", got.url)
			}
		}
		for i, c := range []byte(linkSafe(got.url)) {
			if c <= ' ' || c >= 0x7f {
				t.Errorf("linkSafe(%q): byte %#x at %d", got.url, c, i)
			}
		}
	})
}
