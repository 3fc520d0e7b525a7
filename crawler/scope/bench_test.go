package scope

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/publicsuffix"

	"holdfast/harvest"
)

// links are what a page of a news site leads to.
func links() []string {
	return []string{
		"http://www.example.org/news/2024/05/12/a-story-with-a-title.html", "https://cdn.example.net/img/a.png?x=1",
		"http://www.example.org/", "http://other.org/x/y", "http://www.example.org/tag/politics?page=3&sort=date",
		"http://static.example.org/css/site.css?v=20240512", "https://social.example.com/share?u=http%3A%2F%2Fwww.example.org%2Fnews", "http://www.example.org/about/contact",
	}
}

// BenchmarkFloor is the least that any scope has to do for a link: count hops, find the host, look it up.
func BenchmarkFloor(b *testing.B) {
	hosts := map[string]struct{}{"www.example.org": {}, "example.org": {}}
	urls := links()
	for _, mode := range []string{"host", "domain"} {
		b.Run(mode, func(b *testing.B) {
			b.ReportAllocs()
			found := 0
			for i := 0; b.Loop(); i++ {
				url := urls[i%len(urls)]
				if countHops("LLL").links > 20 {
					continue
				}
				_, rest, _ := strings.Cut(url, "://")
				host := rest[:strings.IndexAny(rest, "/?#")]
				if mode == "domain" {
					host, _ = publicsuffix.EffectiveTLDPlusOne(host)
				}
				if _, ok := hosts[host]; ok {
					found++
				}
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	traps := make([]string, 1000)
	for i := range traps {
		traps[i] = fmt.Sprintf(`.*/trap%d/calendar\.php\?.*`, i)
	}
	prefixes := make([]string, 1000)
	for i := range prefixes {
		prefixes[i] = fmt.Sprintf("+http://(org,example%d,", i)
	}
	for _, bench := range []struct {
		name   string
		change func(*harvest.Settings)
	}{
		{"host", func(*harvest.Settings) {}},
		{"domain", func(s *harvest.Settings) { s.Scope = "domain" }},
		{"traps100", func(s *harvest.Settings) { s.Traps = traps[:100] }},
		{"traps1000", func(s *harvest.Settings) { s.Traps = traps }},
		{"prefixes1000", func(s *harvest.Settings) { s.SURTPrefixes = prefixes }},
		{"expression", func(s *harvest.Settings) {
			s.Rules = []harvest.Rule{{Rule: "expression", Decision: "reject", Expression: `host.endsWith(".org") && depth > 10`}}
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := harvest.DefaultSettings()
			bench.change(&s)
			sc := newScope(b, s, "http://www.example.org/dir/start.html?q=/z")
			urls := links()
			u := &Subject{Via: "http://www.example.org/", Now: now()}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				u.URL, u.Path = urls[i%len(urls)], "LLL"
				sc.Decide(u)
			}
		})
	}
}

func BenchmarkCanonical(b *testing.B) {
	c, err := NewCanonicalizer(harvest.DefaultSettings().Canonicalization)
	if err != nil {
		b.Fatal(err)
	}
	urls := links()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.Canonical(urls[i%len(urls)])
	}
}

func BenchmarkRobots(b *testing.B) {
	text := "User-agent: *\n" + strings.Repeat("Disallow: /a/*/b\nDisallow: /private/\nAllow: /private/open\n", 20)
	r := ParseRobots([]byte(text), harvest.Product)
	b.ReportAllocs()
	for b.Loop() {
		r.Allowed("/news/2024/05/12/a-story-with-a-title.html")
	}
}
