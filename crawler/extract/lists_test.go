package extract

import (
	"slices"
	"testing"
)

// Lists in data-src, strings with escaped quotes and slashes, and paths with spaces are links.
func TestListsAndEscapes(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       []string
	}{
		{"one", `<img data-src="/a.jpg">`, []string{"/a.jpg"}},
		{"one with a comma", `<img data-src="/w_300,h_200/a.jpg">`, []string{"/w_300,h_200/a.jpg"}},
		{"one with a space", `<img data-src="/my a.jpg">`, []string{"/my%20a.jpg"}},
		{"two", `<img data-src="/a.jpg, /b.jpg">`, []string{"/a.jpg", "/b.jpg"}},
		{"two without spaces", `<img data-src="/a.jpg,/b.jpg">`, []string{"/a.jpg", "/b.jpg"}},
		{"candidates", `<img data-src="/a.jpg 1x, /b.jpg 2x">`, []string{"/a.jpg", "/b.jpg"}},
		{"JSON", `<img data-src='["/a.jpg","\/b.jpg"]'>`, []string{"/a.jpg", "/b.jpg"}},
		{"quotes escaped", `<script>x("{\u0022u\u0022:\u0022/a/one.jpg\u0022,\u0022v\u0022:\u0022\u002fb\u002ftwo.jpg\u0022}")</script>`, []string{"/a/one.jpg", "/b/two.jpg"}},
		{"escaped twice", `<script>x("{\\u0022u\\u0022:\\u0022/a/one.jpg\\u0022}")</script>`, []string{"/a/one.jpg"}},
		{"apostrophes", `<script>x("f(\u0027/a/one.jpg\u0027)")</script>`, []string{"/a/one.jpg"}},
		{"a document", `<script>var d = "/files/annual report 2024.pdf"</script>`, []string{"/files/annual%20report%202024.pdf"}},
		{"prose", `<script>var d = "read this / or that. See page.html", e = "go to a file.pdf now", f = "/* a comment */ x.zip"</script>`, nil},
	} {
		x := New()
		var got []string
		for _, l := range x.Links(Document{URL: "http://example.org/", ContentType: "text/html", Body: []byte(tt.body)}).Links {
			got = append(got, l.URL[len("http://example.org"):])
		}
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
