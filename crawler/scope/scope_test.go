package scope

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"holdfast/harvest"
)

func newScope(t testing.TB, s harvest.Settings, seeds ...string) *Scope {
	t.Helper()
	if err := Check(s); err != nil {
		t.Fatal(err)
	}
	sheets, err := harvest.NewSheets(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := New(sheets, nil, seeds, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func TestDecide(t *testing.T) {
	tests := []struct {
		name     string
		scope    harvest.ScopeMode
		prefixes []string
		url      string
		path     string
		want     int
	}{
		{"seed", "host", nil, "http://www.example.org/", "", 0},
		{"same host", "host", nil, "http://www.example.org/x", "L", 0},
		{"https too", "host", nil, "https://www.example.org/x", "L", 0},
		{"other host", "host", nil, "http://other.org/x", "L", codeOutOfScope},
		{"other port", "host", nil, "http://www.example.org:81/x", "L", codeOutOfScope},
		{"embed of another", "host", nil, "http://cdn.net/x.png", "LE", 0},
		{"embed of an embed", "host", nil, "http://cdn.net/x.png", "LEE", 0},
		{"three embeds", "host", nil, "http://cdn.net/x.png", "LEEE", codeTooManyEmbeds},
		{"redirect out", "host", nil, "http://cdn.net/", "LR", 0},
		{"prerequisite", "host", nil, "http://cdn.net/robots.txt", "LEP", 0},
		{"domain", "domain", nil, "http://a.b.example.org/x", "L", 0},
		{"other domain", "domain", nil, "http://example.com/x", "L", codeOutOfScope},
		{"path", "path", nil, "http://www.example.org/dir/y", "L", 0},
		{"other path", "path", nil, "http://www.example.org/dirt", "L", codeOutOfScope},
		{"any", "any", nil, "http://x.y/", "L", 0},
		{"too many hops", "any", nil, "http://x.y/", strings.Repeat("L", 21), codeTooManyHops},
		{"endless redirects", "any", nil, "http://x.y/", strings.Repeat("R", 21), codeTooManyEmbeds},
		{"accepted prefix", "host", []string{"+http://(net,cdn,"}, "http://img.cdn.net/x", "L", 0},
		{"rejected prefix", "any", []string{"-http://(net,cdn,)/private"}, "http://cdn.net/private/x", "L", codeOutOfScope},
		{"last prefix wins", "any", []string{"-http://(net,cdn,", "+http://(net,cdn,)/ok"}, "https://cdn.net/ok/x", "L", 0},
		{"prefix as URL", "host", []string{"+http://cdn.net/ok/"}, "http://cdn.net/ok/x", "L", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := harvest.DefaultSettings()
			s.Scope, s.SURTPrefixes = tt.scope, tt.prefixes
			sc := newScope(t, s, "http://www.example.org/dir/start.html?q=/z")
			u := &Subject{URL: tt.url, Path: tt.path, Via: "http://www.example.org/dir/", Now: now()}
			got := sc.Decide(u)
			if got.Status != tt.want {
				t.Errorf("%+v, want %v", got, tt.want)
			}
			agrees(t, sc, u, got)
		})
	}
}

func now() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// agrees holds an explanation against the verdict.
func agrees(t testing.TB, sc *Scope, u *Subject, v Verdict) {
	t.Helper()
	decided := 0
	for _, w := range sc.Explain(u) {
		if w.Why == "" {
			t.Errorf("%s: %s says nothing of why", u.URL, w.Rule)
		}
		if !w.Decided {
			continue
		}
		decided++
		if (w.Decision == Accept) != v.Accepted() || w.Rule != v.Rule {
			t.Errorf("%s: explained %+v, decided %+v", u.URL, w, v)
		}
	}
	if decided != 1 {
		t.Errorf("%s: %d rules decided", u.URL, decided)
	}
}
