package chain

import (
	"fmt"
	"testing"
)

// A link is known until the frontier forgets a URI, and whatever else is taken in, none is known that was not.
func TestKnownLinks(t *testing.T) {
	t.Parallel()
	k := NewKnown()
	k.add("http://a.example/", 0)
	if !k.has("http://a.example/", 0) || k.has("http://a.example/", 1) || k.has("http://b.example/", 0) {
		t.Error("known: another link, or one from before something was forgotten, or not the one that was added")
	}
	k.add("http://a.example/", 1)
	if !k.has("http://a.example/", 1) {
		t.Error("not known though it was added again")
	}
	kept := 0
	for i := range 2 * maxKnown {
		k.add(fmt.Sprintf("http://a.example/%d", i), 1)
	}
	for i := range 2 * maxKnown {
		if k.has(fmt.Sprintf("http://a.example/%d", i), 1) {
			kept++
		}
		if k.has(fmt.Sprintf("http://a.example/%d/", i), 1) {
			t.Fatalf("link %d with a slash was never added", i)
		}
	}
	if kept < maxKnown/2 || kept > maxKnown {
		t.Errorf("%d links kept of room for %d", kept, maxKnown)
	}
}

func BenchmarkKnownLinks(b *testing.B) {
	k := NewKnown()
	k.add("http://www.example.org/news/2024/05/12/a-story-with-a-title.html", 0)
	b.ReportAllocs()
	for b.Loop() {
		k.has("http://www.example.org/news/2024/05/12/a-story-with-a-title.html", 0)
	}
}
