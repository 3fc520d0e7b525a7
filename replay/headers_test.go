package replay

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/cdx"
)

// hostile are headers with which a server acts on the browser, beyond the page that it answers.
const hostile = "Set-Cookie: holdfast=planted; Path=/; HttpOnly\nset-cookie: __Host-holdfast=planted; Secure; Path=/\nSet-Cookie2: a=b\n" +
	"Clear-Site-Data: \"*\"\nStrict-Transport-Security: max-age=1\nRefresh: 0; url=http://localhost:7481/\nLink: </a.css>; rel=stylesheet\n" +
	"Service-Worker-Allowed: /\nAccess-Control-Allow-Origin: *\nAccess-Control-Allow-Credentials: true\nCross-Origin-Resource-Policy: cross-origin\n" +
	"Content-Security-Policy: default-src *\nReferrer-Policy: unsafe-url\nAlt-Svc: h3=\":443\"\nReporting-Endpoints: a=\"https://evil.test\"\nNEL: {}\n" +
	"WWW-Authenticate: Basic realm=a\nProxy-Authenticate: Basic realm=a\nSourceMap: /a.map\nX-Archive-Orig-X: 1\nConnection: upgrade\nUpgrade: h2c\nTrailer: Set-Cookie\n"

// replayed are the headers that an answer with a capture may have, beside X-Archive-Orig ones.
func replayed() []string {
	return []string{"Accept-Ranges", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Length", "Content-Location", "Content-Range",
		"Content-Security-Policy", "Content-Type", "Date", "Link", "Location", "Memento-Datetime", "Referrer-Policy", "Vary"}
}

// What an archived server told browsers, as to set a cookie, reaches none: it is in X-Archive-Orig headers alone, in
// whatever way the capture is asked for.
func TestArchivedHeadersActOnNoBrowser(t *testing.T) {
	t.Parallel()
	s, b := newShelf()
	const time = "20260101000000"
	kinds := map[string]string{"page": "text/html", "style": "text/css", "script": "text/javascript", "picture": "image/png", "none": ""}
	for name, mime := range kinds {
		head := "HTTP/1.1 200 OK\n" + hostile
		if mime != "" {
			head += "Content-Type: " + mime + "\n"
		}
		b.response(time, "http://example.com/"+name, head, "<html><p>"+name)
	}
	for _, status := range []int{204, 206, 302, 304, 401, 404, 407, 421, 500} {
		b.response(time, fmt.Sprintf("http://example.com/%d", status), fmt.Sprintf("HTTP/1.1 %d Odd\nLocation: /page\n", status)+hostile, "")
		kinds[fmt.Sprint(status)] = ""
	}
	c := b.record("revisit", "20260201000000", "http://example.com/page", "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\n"+
		"Content-Type: application/http;msgtype=response", "HTTP/1.1 200 OK\r\n"+strings.ReplaceAll(hostile, "\n", "\r\n")+"\r\n")
	c.MIME, c.Status, c.Refers = cdx.RevisitMIME, 0, cdx.Refers{URL: "http://example.com/page", Timestamp: time}
	srv := server(t, s, Config{})
	archived := 0
	for name := range kinds {
		for _, asked := range []string{time, time + "id_", time + "if_", time + "cs_", time + "js_", time + "im_", "", "20260201000000", "20260201000000id_"} {
			for _, prefer := range []string{"", "original-content"} {
				path := strings.Replace("/web/"+asked+"/http://example.com/"+name, "//http", "/http", 1)
				resp, _ := get(t, srv, path, "Prefer", prefer)
				for header, values := range resp.Header {
					if strings.HasPrefix(header, "X-Archive-Orig-") {
						archived++
						continue
					}
					ours := slices.Contains(replayed(), header) || header == "Preference-Applied" || header == "Connection" && values[0] == "close"
					if text := strings.Join(values, " "); !ours || strings.Contains(text, "planted") || strings.Contains(text, "evil") || strings.Contains(text, "7481") {
						t.Errorf("%s: %d has %s: %s", path, resp.StatusCode, header, values)
					}
				}
				if resp.Header.Get("X-Archive-Orig-Set-Cookie") != "" && resp.Header.Get("Content-Security-Policy") != policy {
					t.Errorf("%s: %d, %q", path, resp.StatusCode, resp.Header.Get("Content-Security-Policy"))
				}
				if len(resp.Trailer) > 0 || resp.StatusCode == http.StatusSwitchingProtocols {
					t.Errorf("%s: %d with the trailer %v", path, resp.StatusCode, resp.Trailer)
				}
			}
		}
	}
	if archived < 1000 {
		t.Errorf("only %d headers of archived servers were told", archived)
	}
}
