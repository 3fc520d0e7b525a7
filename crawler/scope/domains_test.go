package scope

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"holdfast/harvest"
)

func newTable(t testing.TB, given *harvest.Domains, by harvest.CountBy) *Domains {
	t.Helper()
	d, err := NewDomains(given, by)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTrapsOfDomains(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf(`.*/many%d-.*`, i))
	}
	given := &harvest.Domains{Traps: []string{`.*/evil/.*`, `.*sid=[0-9]+`}, Configurations: []harvest.Configuration{
		{Domain: "example.org", Name: "all", Traps: []string{`.*/cal/.*`, `.*\.example\.net/.*`}},
		{Domain: "example.com", Name: "all", Traps: many},
		{Domain: "example.com", Name: "second", Traps: []string{`.*`}},
		{Domain: "example.info", Name: "all"},
	}}
	s := harvest.DefaultSettings()
	s.Scope = harvest.ScopeAny
	sheets, err := harvest.NewSheets(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := New(sheets, newTable(t, given, harvest.CountBySeed), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"http://www.example.org/cal/2":         "domain_traps",
		"http://example.net/cal/2":             "",
		"http://www.example.net/":              "", // the trap is another domain's
		"http://www.example.info/cal/2":        "",
		"http://www.example.info/evil/2":       "domain_traps",
		"http://other.dk/evil/2":               "domain_traps",
		"http://other.dk/?sid=7":               "domain_traps",
		"http://other.dk/?sid=7a":              "",
		"http://a.b.example.com/many99-x":      "domain_traps",
		"http://a.b.example.com/many100":       "",
		"http://www.example.org/evil/cal/many": "domain_traps",
	} {
		u := &Subject{URL: url, Path: "L", Settings: sheets.Base()}
		v := sc.Decide(u)
		if v.Accepted() != (want == "") || want != "" && (v.Rule != want || v.Status != codeOutOfScope) {
			t.Errorf("%s: %+v, want %q", url, v, want)
		}
		for _, w := range sc.Explain(u) {
			if w.Rule == "domain_traps" && (w.Decision == Reject) != (want != "") {
				t.Errorf("%s: explained as %+v", url, w)
			}
		}
	}
	if v := sc.Decide(&Subject{URL: "http://x.example.org/cal/robots.txt", Path: "P", Settings: sheets.Base()}); !v.Accepted() {
		t.Errorf("a robots.txt that another URI needs: %+v", v)
	}
	if _, err := NewDomains(&harvest.Domains{Traps: []string{"a)(b"}}, harvest.CountBySeed); !errors.Is(err, harvest.ErrInvalid) {
		t.Errorf("no expression: %v", err)
	}
}

// More expressions than are kept compiled still say what they did.
func TestManyTrapsOfDomains(t *testing.T) {
	t.Parallel()
	const n = maxTableCompiled + 500
	given := &harvest.Domains{}
	for i := range n {
		given.Configurations = append(given.Configurations, harvest.Configuration{Domain: fmt.Sprintf("d%d.org", i), Name: "x",
			Traps: []string{fmt.Sprintf(`.*/trap%d/.*`, i), `.*/any/.*`}})
	}
	d := newTable(t, given, harvest.CountBySeed)
	for range 2 {
		for i := range n {
			for _, tt := range []struct {
				path string
				trap bool
			}{{"trap%d/x", true}, {"trap%dx/", false}, {"any/%d", true}} {
				u := &Subject{URL: fmt.Sprintf("http://www.d%d.org/", i) + fmt.Sprintf(tt.path, i)}
				if d.isTrap(u) != tt.trap {
					t.Fatalf("%s: not %v", u.URL, tt.trap)
				}
			}
		}
	}
}

// Documents count for the domain of the configuration that has their seed, else for that of the seed, or by their URL;
// a seed of several configurations counts for the first.
func TestCountedDomains(t *testing.T) {
	t.Parallel()
	given := &harvest.Domains{Configurations: []harvest.Configuration{
		{Domain: "a.org", Name: "all", Seeds: []string{"http://www.a.org/", "http://shared.net/", "HTTP://b.org/of-a"}},
		{Domain: "b.org", Name: "all", Seeds: []string{"http://b.org", "http://shared.net/", "http://b.org/of-a", "http://b.org/own"}},
		{Domain: "c.org", Name: "all", Seeds: []string{"http://b.org/own"}},
	}}
	for _, tt := range []struct{ url, source, seed, by string }{
		{"http://www.a.org/x", "http://www.a.org/", "a.org", "a.org"},
		{"http://img.cdn.net/x", "http://www.a.org/", "a.org", "cdn.net"},
		{"http://img.cdn.net/x", "http://shared.net/", "a.org", "cdn.net"},
		{"http://b.org/x", "http://b.org/of-a", "a.org", "b.org"},
		{"http://b.org/x", "http://b.org/own", "b.org", "b.org"},
		{"http://x.org/", "http://www.later.co.uk/", "later.co.uk", "x.org"},
		{"http://x.org/", "", "x.org", "x.org"},
	} {
		u := &Subject{URL: tt.url, Source: tt.source}
		if got := newTable(t, given, harvest.CountBySeed).Counted(u); got != tt.seed {
			t.Errorf("%s from %s counts for %s, want %s", tt.url, tt.source, got, tt.seed)
		}
		if got := newTable(t, given, harvest.CountByURL).Counted(u); got != tt.by {
			t.Errorf("by URL, %s from %s counts for %s, want %s", tt.url, tt.source, got, tt.by)
		}
	}
}

// A limit of 0 in the table lets nothing be fetched; an absent one is none; of the table's and the settings' the least holds.
func TestLimitsOfDomains(t *testing.T) {
	t.Parallel()
	given := &harvest.Domains{Bytes: harvest.AtMost(1000), Configurations: []harvest.Configuration{
		{Domain: "none.org", Name: "x", Objects: harvest.AtMost(0)},
		{Domain: "few.org", Name: "x", Objects: harvest.AtMost(2), Bytes: harvest.AtMost(500)},
		{Domain: "few.org", Name: "again", Objects: harvest.AtMost(0)},
		{Domain: "all.org", Name: "x"},
	}}
	d := newTable(t, given, harvest.CountBySeed)
	s := harvest.DefaultSettings()
	s.MaxDomainObjects = 10
	for _, tt := range []struct {
		domain         string
		objects, bytes int64
		want           string
	}{
		{"none.org", 0, 0, ConfigObjects},
		{"few.org", 0, 0, ""}, {"few.org", 2, 2, ConfigObjects}, {"few.org", 1, 500, ConfigBytes},
		{"all.org", 9, 999, ""}, {"all.org", 10, 10, ConfigObjects}, {"all.org", 1, 1000, HarvestBytes},
		{"other.org", 1, 1000, HarvestBytes}, {"other.org", 9, 999, ""},
	} {
		q := Quota{Objects: tt.objects, Bytes: tt.bytes}
		if got := q.Stop(d.Limits(tt.domain, &s)); got != tt.want {
			t.Errorf("%s with %d documents of %d bytes: %q, want %q", tt.domain, tt.objects, tt.bytes, got, tt.want)
		}
	}
}

func TestLoginsOfDomains(t *testing.T) {
	t.Parallel()
	login := func(domain string) []harvest.Credential {
		return []harvest.Credential{{Domain: domain, Kind: "basic", User: domain, Password: "secret"}}
	}
	d := newTable(t, &harvest.Domains{Configurations: []harvest.Configuration{
		{Domain: "a.org", Name: "x", Logins: login("members.a.org")}, {Domain: "b.org", Name: "x", Logins: login("sso.net")}}}, harvest.CountBySeed)
	for host, want := range map[string]string{"www.a.org": "members.a.org", "login.sso.net": "sso.net", "b.org": "", "sso.net": "sso.net"} {
		var users []string
		for _, c := range d.Logins(host) {
			users = append(users, c.User)
		}
		if got := strings.Join(users, " "); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
	if !d.HasLogins() || newTable(t, nil, harvest.CountBySeed).HasLogins() {
		t.Error("whether there are any")
	}
}
