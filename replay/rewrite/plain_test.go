package rewrite

import "testing"

// What is resolved without the parser is resolved as the parser does.
func FuzzPlain(f *testing.F) {
	for _, base := range []string{"http://example.com/a/b.html", "https://example.com", "http://EXAMPLE.com/x", "http://1.2.3.4/",
		"http://0x7f.1/", "http://xn--a.com/", "http://a_b.com/", "http://a.com:80/", "http://a.com/./x/../y", "http://a.b./c?d#e",
		"ftp://a.com/b", "http://a.1/", "http://ab--c.com/a/b?x=/c/d", "nowhere:"} {
		for _, ref := range []string{"x", "/x", "//x", "?x", "#x", "x?y#z", "./x", "../x", "../../../x?y", "./../x", ".././x", ".//x", "..//x", "../", "./?x", "../#x", "../.x", "../..", "x/../y", "x/%2e%2E/y", "x/.y", "a:b", "x/a:b",
			"http://h.com", "http://h.com?x", "https://h.com/a'b?c'd#e'f", "http:x", "/a\\b", "/a b", "/ä", "/\t", "x|y^z`", "http://h.0a/", "/web/x",
			"http://a-.com/", "http://a.-b.com/", "/x?{}[]", "http://h.com/%", "http://h.com/%zz"} {
			f.Add(base, ref)
		}
	}
	f.Fuzz(func(t *testing.T, base, ref string) {
		if ref == "" {
			return
		}
		l := NewLinks("20260101000000", base, "")
		got, ok := l.plain(ref)
		if !ok {
			return
		}
		want, ok := Resolve(base, ref)
		if !ok {
			want, ok = Resolve("", ref)
		}
		if !ok || got != want {
			t.Fatalf("%q against %q is %q, the parser says %q, %t", ref, base, got, want, ok)
		}
	})
}
