package fetch

import (
	"strings"
	"testing"
)

// Status lines are read as browsers read them.
func TestLenientStatusLines(t *testing.T) {
	for line, want := range map[string]int{
		"HTTP/1.1 200 OK": 200, "HTTP/1.1  404  Not Found": 404, "HTTP/1.1\t200\tOK": 200, "http/1.1 301 Moved": 301, "HTTP/1.1 200": 200,
		"ICY 200 OK": 200, "icy 404": 404, "Http/1.0 204 No": 204, "HTTP/2 200": 200,
		"HTTP/1.1": 0, "HTTP/1.1 20": 0, "HTTP/1.1 2000 OK": 0, "HTTP/1.1 099 x": 0, "HTTPS/1.1 200 OK": 0, "220 ftp ready": 0, "ICYX 200": 0, "HTTP/1.1 2x0 OK": 0, "": 0,
	} {
		h, ok := ParseHead(line + "\r\n\r\n")
		if ok != (want != 0) || h.Status != want {
			t.Errorf("%q: %d, %v; want %d", line, h.Status, ok, want)
		}
	}
}

// Of several media types the last that is one counts, and of equal lengths the length.
func TestRepeatedFields(t *testing.T) {
	for _, tt := range []struct {
		fields, want string
		length       int64
		bad          bool
	}{
		{"", "", -1, false},
		{"Content-Type: text/html\nContent-Type: text/plain", "text/plain", -1, false},
		{"Content-Type: text/html, text/css", "text/css", -1, false},
		{"Content-Type: text/html; charset=\"a,b\"", "text/html; charset=\"a,b\"", -1, false},
		{"Content-Type: text/html; charset=koi8-r\nContent-Type: text/html", "text/html; charset=koi8-r", -1, false},
		{"Content-Type: text/html; charset=koi8-r\nContent-Type: text/plain", "text/plain", -1, false},
		{"Content-Type: text/html\nContent-Type: html", "text/html", -1, false},
		{"Content-Type: html", "", -1, false},
		{"Content-Type: text/html\nContent-Type: */*", "text/html", -1, false},
		{"Content-Length: 53, 53", "", 53, false},
		{"Content-Length: 53\nContent-Length: 53", "", 53, false},
		{"Content-Length: 53, 54", "", -1, true},
		{"Content-Length: 53,", "", -1, true},
		{"Content-Length: +53", "", -1, true},
		{"Content-Length: 0x35", "", -1, true},
	} {
		h, ok := ParseHead("HTTP/1.1 200 OK\r\n" + strings.ReplaceAll(tt.fields, "\n", "\r\n") + "\r\n\r\n")
		if !ok {
			t.Fatal(tt.fields)
		}
		n, bad := h.ContentLength()
		if got := h.ContentType(); got != tt.want || n != tt.length || bad != tt.bad {
			t.Errorf("%q: type %q, length %d, contradicting %v", tt.fields, got, n, bad)
		}
	}
}
