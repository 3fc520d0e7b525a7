package fetch

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// answered is the head of a response with these lines.
func answered(t testing.TB, lines ...string) Head {
	h, ok := parseHead([]byte("HTTP/1.1 200 OK\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n"))
	if !ok {
		t.Fatalf("no head: %q", lines)
	}
	return h
}

func TestJar(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, set, from, to, want string
	}{
		{"simple", "a=b", "http://h.test/x/y", "http://h.test/x/z", "a=b"},
		{"other folder", "a=b", "http://h.test/x/y", "http://h.test/", ""},
		{"path", "a=b; Path=/", "http://h.test/x/y", "http://h.test/", "a=b"},
		{"path is no prefix of a name", "a=b; Path=/x", "http://h.test/x", "http://h.test/xy", ""},
		{"host only", "a=b", "http://h.test/", "http://s.h.test/", ""},
		{"domain", "a=b; Domain=.Example.org", "http://www.example.org/", "http://a.example.org/", "a=b"},
		{"domain of another", "a=b; Domain=example.com", "http://example.org/", "http://example.com/", ""},
		{"public suffix", "a=b; Domain=co.uk", "http://a.co.uk/", "http://b.co.uk/", ""},
		{"the suffix itself", "a=b; Domain=github.io", "http://github.io/", "http://github.io/", "a=b"},
		{"end of a name", "a=b; Domain=ample.org", "http://example.org/", "http://example.org/", ""},
		{"address", "a=b; Domain=0.0.1", "http://127.0.0.1/", "http://127.0.0.1/", ""},
		{"secure", "a=b; Secure", "https://h.test/", "http://h.test/", ""},
		{"secure from a plain site", "a=b; Secure", "http://h.test/", "https://h.test/", ""},
		{"expired", "a=b; Expires=Wed, 09 Jun 2021 10:18:14 GMT", "http://h.test/", "http://h.test/", ""},
		{"not expired", "a=b; Expires=Wed, 09-Jun-2027 10:18:14 GMT", "http://h.test/", "http://h.test/", "a=b"},
		{"max-age wins", "a=b; Max-Age=10; Expires=Wed, 09 Jun 2021 10:18:14 GMT", "http://h.test/", "http://h.test/", "a=b"},
		{"max-age past", "a=b; Max-Age=-1", "http://h.test/", "http://h.test/", ""},
		{"port and scheme are shared", "a=b", "http://h.test:8080/", "https://h.test/", "a=b"},
		{"host prefix", "__Host-a=b; Secure; Path=/", "https://h.test/", "https://h.test/", "__Host-a=b"},
		{"host prefix broken", "__Host-a=b; Secure", "https://h.test/", "https://h.test/", ""},
		{"too long", "a=" + strings.Repeat("b", 5000), "http://h.test/", "http://h.test/", ""},
		{"control", "a=b\x01c", "http://h.test/", "http://h.test/", ""},
		{"no name", "b", "http://h.test/", "http://h.test/", "b"},
	}
	for _, tt := range tests {
		j := NewJar(0)
		j.Store(target(t, tt.from), answered(t, "Set-Cookie: "+tt.set), noon)
		if got := j.Cookie(target(t, tt.to), noon); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestJarOrderAndExport(t *testing.T) {
	t.Parallel()
	j, h := NewJar(0), target(t, "https://www.example.org/a/b?c")
	j.Store(h, answered(t, "Set-Cookie: one=1; Path=/", "Set-Cookie: two=2; Path=/a", "Set-Cookie: gone=x; Path=/; Max-Age=60", "Set-Cookie: safe=s; Secure; Path=/"), noon)
	j.Store(h, answered(t, "Set-Cookie: three=3; Path=/", "Set-Cookie: one=new; Path=/"), noon.Add(time.Second))
	j.Store(target(t, "http://www.example.org/"), answered(t, "Set-Cookie: safe=taken; Path=/"), noon)
	want := "two=2; one=new; safe=s; three=3"
	later := noon.Add(time.Hour)
	if got := j.Cookie(h, later); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	data, err := j.Export()
	if err != nil {
		t.Fatal(err)
	}
	again := NewJar(0)
	if err := again.Import(data, later); err != nil || again.Len() != 4 {
		t.Errorf("%d cookies, %v", again.Len(), err)
	}
	if got := again.Cookie(h, later); got != want {
		t.Errorf("after import %q, want %q", got, want)
	}
	for _, bad := range []string{"", "{}", `{"version":2}`, `[]`} {
		if again.Import([]byte(bad), later) == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	n, err := again.ImportText([]byte("# Netscape HTTP Cookie File\n#HttpOnly_.example.org\tTRUE\t/\tTRUE\t0\ttext\tv\r\nold.test\tFALSE\t/\tFALSE\t1\ta\tb\n"), later)
	if err != nil || n != 1 || !strings.Contains(again.Cookie(h, later), "text=v") {
		t.Errorf("%d taken, %v, %q", n, err, again.Cookie(h, later))
	}
	if _, err := again.ImportText([]byte("a b c"), later); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("%v", err)
	}
}

// However many cookies servers set, a jar and a header stay within their bounds.
func TestJarIsBounded(t *testing.T) {
	t.Parallel()
	j := NewJar(500)
	for i := range 30 {
		for k := range 4 {
			h := target(t, fmt.Sprintf("http://h%d.site%d.test/", k, i))
			var lines []string
			for n := range 60 {
				lines = append(lines, fmt.Sprintf("Set-Cookie: c%d=%s; Domain=site%d.test", k*100+n, strings.Repeat("v", 300), i))
			}
			j.Store(h, answered(t, lines...), noon.Add(time.Duration(i)*time.Second))
		}
	}
	if j.Len() > 500 || j.Len() < 100 || j.bytes > 500*meanCookie || exportSize(t, j) > j.MaxExport() || j.recent.Len() != len(j.domains) {
		t.Errorf("%d cookies of %d bytes, %d domains", j.Len(), j.bytes, len(j.domains))
	}
	last := j.Cookie(target(t, "http://site29.test/"), noon)
	if last == "" || len(last) > maxCookieHeader {
		t.Errorf("a header of %d bytes", len(last))
	}
}

func exportSize(t *testing.T, j *Jar) int {
	t.Helper()
	data, err := j.Export()
	if err != nil {
		t.Fatal(err)
	}
	if j.bytes > len(data) || len(data) > j.bytes+exportFrame {
		t.Errorf("%d bytes are counted of an export of %d", j.bytes, len(data))
	}
	return len(data)
}

// Whatever JSON makes of the characters in cookies, an export is no larger than said, and gives the same cookies back.
func TestExportIsBounded(t *testing.T) {
	t.Parallel()
	for _, letter := range []string{"<", "\"", "\\", "\u2028", "\xe6", "v"} {
		j, again := NewJar(500), NewJar(500)
		for i := range 200 {
			h := target(t, fmt.Sprintf("http://site%d.test/", i))
			value := "v" + strings.Repeat(letter, 4000/len(letter)) + "v"
			j.Store(h, answered(t, "Set-Cookie: a="+value, "Set-Cookie: b="+value, "Set-Cookie: a="+value[:901]+"v"), noon)
		}
		if size := exportSize(t, j); size > j.MaxExport() || size < j.MaxExport()/2 {
			t.Errorf("%q: an export of %d bytes, at most %d were meant", letter, size, j.MaxExport())
		}
		data, err := j.Export()
		if err == nil {
			err = again.Import(data, noon)
		}
		last := target(t, "http://site199.test/")
		if want, got := j.Cookie(last, noon), again.Cookie(last, noon); err != nil || got != want || want == "" {
			t.Errorf("%q: %q after the import, before it %q; %v", letter, got, want, err)
		}
		if j.Len() != again.Len() {
			t.Errorf("%q: %d of %d cookies came back", letter, again.Len(), j.Len())
		}
	}
}

// A cookie whose name and value are UTF-8 only together comes back as it was.
func TestExportOfBytes(t *testing.T) {
	t.Parallel()
	j, again, h := NewJar(0), NewJar(0), target(t, "http://a.test/")
	j.Store(h, answered(t, "Set-Cookie: \xc3=\xa6"), noon)
	data, err := j.Export()
	if err == nil {
		err = again.Import(data, noon)
	}
	if got := again.Cookie(h, noon); err != nil || got != "\xc3=\xa6" {
		t.Errorf("it came back as %q, %v", got, err)
	}
}

// A cookie of a cookies.txt that never expires does not keep all others from being exported.
func TestEndlessCookie(t *testing.T) {
	t.Parallel()
	for _, expires := range []string{"9e18", "1e300", "Inf", "253402300800"} {
		j, again := NewJar(0), NewJar(0)
		n, err := j.ImportText([]byte("a.test\tFALSE\t/\tFALSE\t"+expires+"\tname\tvalue"), noon)
		if err != nil || n != 1 {
			t.Fatalf("%s: %d cookies, %v", expires, n, err)
		}
		data, err := j.Export()
		if err == nil {
			err = again.Import(data, noon)
		}
		if err != nil || again.Len() != 1 {
			t.Errorf("%s: %d cookies came back, %v", expires, again.Len(), err)
		}
	}
}

func FuzzSetCookie(f *testing.F) {
	f.Add("a=b; Domain=.example.org; Path=/x; Secure; Max-Age=5; Expires=Wed, 09 Jun 2027 10:18:14 GMT", "www.example.org", "/x/y")
	f.Add("=; ; ;=;Path", "h", "/")
	f.Add("a=b; expires=1:2:3 31 feb 99999", "1.2.3.4", "")
	f.Fuzz(func(t *testing.T, line, host, path string) {
		to, err := ParseTarget("https://" + host + "/" + path)
		if err != nil {
			return
		}
		j := NewJar(10)
		c, gone, ok := parseCookie(line, to, noon)
		if ok {
			j.put(&c, gone, true, noon)
		}
		header := j.Cookie(to, noon)
		if strings.ContainsAny(header, "\r\n\x00") {
			t.Fatalf("header %q", header)
		}
		data, err := j.Export()
		if err != nil {
			t.Fatal(err)
		}
		if err := NewJar(10).Import(data, noon); err != nil {
			t.Fatal(err)
		}
	})
}
