package scope

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/internal/seed"
)

// A screen says of any text what trying its patterns one after the other does.
func TestScreenIsTheSameAsTryingAll(t *testing.T) {
	r := seed.Rand(t)
	pieces := []string{".*", "/cal", "endar", "a", "http://", "www.", `\.php\?`, "(x|yz)", "[0-9]+", "trap", "/", "é", "(?i:Login)", `\d{4}`}
	draw := func(n int, of []string) string {
		var b strings.Builder
		for range n {
			b.WriteString(of[r.IntN(len(of))])
		}
		return b.String()
	}
	parts := []string{"/cal", "endar", "a", "http://", "www.", ".php?", "x", "yz", "17", "2024", "trap", "/", "é", "login", "LOGIN", "q"}
	found := 0
	for range 300 {
		var texts []string
		for range 1 + r.IntN(40) {
			texts = append(texts, draw(1+r.IntN(5), pieces))
		}
		all, err := compilePatterns(texts)
		if err != nil {
			t.Fatal(err)
		}
		s := newScreen(all)
		for range 50 {
			text := draw(r.IntN(8), parts)
			want := all.first(text) != nil
			if s.matches(text) != want {
				t.Fatalf("%q with %q: %v", text, texts, !want)
			}
			if want {
				found++
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d texts matched", found)
	}
}

// BenchmarkScreen holds links against many traps.
func BenchmarkScreen(b *testing.B) {
	for _, n := range []int{10, 1000, 50_000} {
		texts := make([]string, n)
		for i := range texts {
			texts[i] = fmt.Sprintf(`.*www\.site%d\.example/.*calendar\.php\?.*`, i)
		}
		all, err := compilePatterns(texts)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, urls := newScreen(all), links()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.matches(urls[i%len(urls)])
			}
		})
		b.Run(fmt.Sprint(n, "-one-by-one"), func(b *testing.B) {
			urls := links()
			for i := 0; b.Loop(); i++ {
				all.first(urls[i%len(urls)])
			}
		})
	}
}
