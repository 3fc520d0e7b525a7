package scope

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"holdfast/harvest"
)

// visitor crawls a made-up site: each URI that is not caught is fetched.
type visitor struct {
	t       *testing.T
	scope   *Scope
	subject Subject
	caught  map[string]int
	fetched int
}

func newVisitor(t *testing.T) *visitor {
	s := harvest.DefaultSettings()
	s.MaxHops, s.MaxPathSegments, s.MaxRepetitions = 10_000, 0, 0
	return &visitor{t: t, scope: newScope(t, s, "http://www.example.org/"), caught: map[string]int{}}
}

// visit fetches a page with that content, unless it is caught, and reports whether it was. It has no text but its path.
func (v *visitor) visit(path, via, digest string, size int64) bool {
	return v.read(path, via, digest, size, `<title>Page `+digest+`</title><a href="`+path+`">The page after this</a>`)
}

// read is visit, with that text and such new links.
func (v *visitor) read(path, via, digest string, size int64, text string, found ...string) bool {
	v.subject.URL, v.subject.Via = "http://www.example.org"+path, "http://www.example.org"+via
	v.subject.Path, v.subject.Now, v.subject.Fetched = "LL", now(), false
	if verdict := v.scope.Decide(&v.subject); !verdict.Accepted() {
		v.caught[verdict.Note]++
		return false
	}
	v.subject.Fetched, v.subject.Status, v.subject.ContentType = true, 200, "text/html; charset=utf-8"
	v.subject.Digest, v.subject.Size = digest, size
	v.scope.Observe(&v.subject, page(text, found...))
	v.fetched++
	return true
}

// page is one with a text and new links, of which those to pictures are parts of it.
func page(text string, found ...string) Page {
	return Page{
		Text: func() []byte { return []byte(text) },
		Found: func(yield func(string, bool) bool) {
			for _, path := range found {
				if !yield("http://www.example.org"+path, strings.HasSuffix(path, ".jpg")) {
					return
				}
			}
		},
	}
}

func TestTrapsAreCaught(t *testing.T) {
	tests := []struct {
		name, want string
		most       int // pages fetched before it is caught
		pages      int
		page       func(i int) (path, via, digest string, size int64)
	}{
		{"calendar to come", trapCalendar, 40, 1200, func(i int) (string, string, string, int64) {
			return fmt.Sprintf("/calendar/%d/%02d", 2026+i/12, i%12+1), fmt.Sprintf("/calendar/%d/%02d", 2026+(i-1)/12, (i+11)%12+1), fmt.Sprint(i), 5000 + int64(i%9)
		}},
		{"calendar in the query", trapCalendar, 40, 1200, func(i int) (string, string, string, int64) {
			return fmt.Sprintf("/cal.php?month=%d&year=%d", i%12+1, 2026+i/12), fmt.Sprintf("/cal.php?month=%d&year=%d", (i+11)%12+1, 2026+(i-1)/12), fmt.Sprint(i), 5000 + int64(i%9)
		}},
		{"calendar of the past", trapCalendar, 420, 5000, func(i int) (string, string, string, int64) {
			m := 2026*12 - i
			return fmt.Sprintf("/events/%04d-%02d", m/12, m%12+1), fmt.Sprintf("/events/%04d-%02d", (m+1)/12, (m+1)%12+1), fmt.Sprint(i), 5000 + int64(i%9)
		}},
		{"a date far away", trapCalendar, 0, 3, func(i int) (string, string, string, int64) {
			return fmt.Sprintf("/events?date=20%d5-01-01", 7+i), "/", fmt.Sprint(i), int64(i * 1000)
		}},
		{"session ids", trapSession, 20, 500, func(i int) (string, string, string, int64) {
			return fmt.Sprintf("/page%d?sid2=1&sessionid=%032x", i%10, i*7919+1), "/", fmt.Sprint(i), 9000 + int64(i%10)*1000
		}},
		{"session ids in the path", trapSession, 20, 500, func(i int) (string, string, string, int64) {
			return fmt.Sprintf("/shop/(S(a1b2c3d4e5f6%07d))/item%d.aspx", i, i%10), "/", fmt.Sprint(i), 9000 + int64(i%10)*1000
		}},
		{"order of a query", trapPermutation, 120, 600, func(i int) (string, string, string, int64) {
			keys := [3]int{i % 3, (i/3)%2 + 1, 0}
			keys[2] = 3 - keys[0]%3 - (keys[0]+keys[1])%3
			a, b, c := keys[0], (keys[0]+keys[1])%3, keys[2]
			q := [3]string{"color=red", "size=" + fmt.Sprint(i/6), "sort=up"}
			return "/list?" + q[a] + "&" + q[b] + "&" + q[c], "/", fmt.Sprint(i), 9000 + int64(i/6)*300
		}},
		{"one content under all URIs of a form", trapDuplicate, 70, 10_000, func(i int) (string, string, string, int64) {
			return fmt.Sprintf("/a?x=%d", i), "/a", "same", 5000
		}},
		{"one content under all names of a folder", trapDuplicate, 70, 1000, func(i int) (string, string, string, int64) {
			return "/users/" + letters(i), "/users/", "login", 5000
		}},
		{"a page that leads to itself", trapVariants, 1100, 10_000, func(i int) (string, string, string, int64) {
			return fmt.Sprintf("/a?x=%d", i), fmt.Sprintf("/a?x=%d", i-1), fmt.Sprint(i), 5000 + int64(i%10)
		}},
		{"ever deeper", trapDeeper, 10, 60, func(i int) (string, string, string, int64) {
			path := "/docs"
			for j := range i + 1 {
				path += "/" + letters(j)
			}
			return path + "/", "/docs/", "same", 5000
		}},
		{"back to the same folder", trapDeeper, 3, 4, func(i int) (string, string, string, int64) {
			return "/" + []string{"img", "img/css/img", "img/css/img/js/img", "img/css/img/js/img/x/img/"}[i], "/", fmt.Sprint(i), int64(i * 1000)
		}},
		{"a parameter again and again", trapRepeated, 3, 4, func(i int) (string, string, string, int64) {
			return "/x?" + "back=1&back=1&back=1&back=1"[:7*(i+1)-1], "/", fmt.Sprint(i), int64(i * 1000)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := newVisitor(t)
			for i := range tt.pages {
				v.visit(tt.page(i))
			}
			if v.fetched > tt.most || v.caught[tt.want] == 0 || len(v.caught) != 1 {
				t.Errorf("%d fetched, caught %v; want at most %d, and %s", v.fetched, v.caught, tt.most, tt.want)
			}
			last, _, _, _ := tt.page(tt.pages - 1)
			u := &Subject{URL: "http://www.example.org" + last, Path: "LL", Now: now()}
			agrees(t, v.scope, u, v.scope.Decide(u))
		})
	}
}

func letters(i int) string {
	word := ""
	for range 5 {
		word += string(rune('a' + i%26))
		i = i/26*7 + i%26 + 3
	}
	return word + string(rune('a'+i%26))
}

// What looks like a trap but is an archive's daily bread is left alone.
func TestArchivesAreNoTraps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	any := func(least, most int) int64 { return int64(least + r.IntN(most-least)) }
	tests := []struct {
		name  string
		pages int
		page  func(i int) (path, via string, size int64)
	}{
		{"posts by date", 8000, func(i int) (string, string, int64) {
			return fmt.Sprintf("/%d/%02d/%02d/%s-%d", 1998+i/300, i%12+1, i%28+1, letters(i), i), "/", any(3000, 90000)
		}},
		{"months of a blog", 340, func(i int) (string, string, int64) {
			return fmt.Sprintf("/archive/%d/%02d/", 1998+i/12, i%12+1), fmt.Sprintf("/archive/%d/%02d/", 1998+(i+1)/12, (i+1)%12+1), any(20000, 21000)
		}},
		{"a newspaper of long ago", 20000, func(i int) (string, string, int64) {
			return fmt.Sprintf("/paper/%d-%02d-%02d/page/%d", 1850+i/360, i/30%12+1, i%28+1, i%8), "/paper", any(2000, 80000)
		}},
		{"events of next year", 300, func(i int) (string, string, int64) {
			return fmt.Sprintf("/events/2027/%02d/%s", i%11+1, letters(i)), "/events", any(4000, 9000)
		}},
		{"reports that name years to come", 30, func(i int) (string, string, int64) {
			return fmt.Sprintf("/climate/%d-outlook-%s", 2030+i, letters(i)), "/climate", any(4000, 90000)
		}},
		{"500 pages of results", 500, func(i int) (string, string, int64) {
			return fmt.Sprintf("/list?page=%d&sort=date", i), fmt.Sprintf("/list?page=%d&sort=date", i-1), any(30000, 30500)
		}},
		{"500 folders of results", 500, func(i int) (string, string, int64) {
			return fmt.Sprintf("/category/news/page/%d/", i), fmt.Sprintf("/category/news/page/%d/", i-1), any(30000, 30500)
		}},
		{"a wiki", 20000, func(i int) (string, string, int64) {
			return fmt.Sprintf("/w/index.php?title=%s&action=%s&oldid=%d", letters(i/3), []string{"view", "history", "edit"}[i%3], i), "/w/index.php?title=Main&action=view&oldid=1", any(8000, 60000)
		}},
		{"a forum", 20000, func(i int) (string, string, int64) {
			return fmt.Sprintf("/viewtopic.php?f=%d&t=%d&start=%d", i%20, i/4, i%4*25), fmt.Sprintf("/viewtopic.php?f=%d&t=%d&start=0", i%20, i/4-1), any(8000, 160000)
		}},
		{"items by number", 20000, func(i int) (string, string, int64) {
			return fmt.Sprintf("/item/%d/%d", 100000+i, i%12), "/items", any(5000, 20000)
		}},
		{"documents with long ids", 5000, func(i int) (string, string, int64) {
			return fmt.Sprintf("/doc?sid=%032x&lang=da", uint64(i)*2654435761), "/docs", any(1000, 200000)
		}},
		{"a manual", 2000, func(i int) (string, string, int64) {
			return fmt.Sprintf("/manual/en/%s/%s/%s/%s.html", letters(i%7), letters(i%31), letters(i%97), letters(i)), "/manual", any(2000, 40000)
		}},
		{"tiles of a map", 2000, func(i int) (string, string, int64) {
			return fmt.Sprintf("/tiles/%d/%d/%d/1/1/1/1/1.html", i%18, i%512, i/18), "/map", any(900, 9000)
		}},
		{"a form's boxes", 100, func(i int) (string, string, int64) {
			return fmt.Sprintf("/search?f[]=1&f[]=2&f[]=3&f[]=4&x=&x=&x=&x=&q=%d", i), "/search", any(900, 90000)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := newVisitor(t)
			for i := range tt.pages {
				path, via, size := tt.page(i)
				if !v.read(path, via, fmt.Sprint(i), size, fmt.Sprintf("<h1>Page %d</h1> Of %s, and of others.", i, letters(i))) {
					t.Fatalf("page %d, %s, is caught: %v", i, path, v.caught)
				}
			}
		})
	}
}

// Pages of nearly the same size, found at one another and dated long ago, or only numbered, are an archive as long as each brings
// something: a text, a picture, links to elsewhere.
func TestDigitisedWorksAreNoTraps(t *testing.T) {
	day := func(i int) string {
		return time.Date(1895, 1, 1+i, 0, 0, 0, 0, time.UTC).Format("/paper/2006-01-02/")
	}
	leaf := func(i int) string { return fmt.Sprintf("/view?id=7&page=%d", i) }
	text := func(i int) string {
		return fmt.Sprintf("<p>Page %d <a href=/x%d>next</a> tells of %s.", i, i+1, letters(i))
	}
	numbered := func(i int) string { return fmt.Sprintf("<p>Page %d <a href=/x%d>next</a>", i, i+1) }
	for _, tt := range []struct {
		name  string
		pages int
		path  func(int) string
		text  func(int) string
		found func(int) []string
	}{
		{"a newspaper's texts", 2000, day, text, func(i int) []string { return []string{day(i + 1)} }},
		{"a newspaper's pictures", 2000, day, numbered, func(i int) []string { return []string{day(i + 1), fmt.Sprintf("/scan/%d.jpg", i)} }},
		{"a newspaper's pages", 2000, day, numbered, func(i int) []string { return []string{day(i + 1), day(i) + "1", day(i) + "2"} }},
		{"a book's texts", 3000, leaf, text, func(i int) []string { return []string{leaf(i + 1)} }},
		{"a book's pictures", 3000, leaf, numbered, func(i int) []string { return []string{leaf(i + 1), fmt.Sprintf("/scan/%d.jpg", i)} }},
		{"a book in its scripts", 3000, leaf, func(i int) string {
			return fmt.Sprintf(`<p>Page %d<script>show("tells of %s")</script>`, i, letters(i))
		}, func(i int) []string { return []string{leaf(i + 1)} }},
		{"a book in its attributes", 3000, leaf, func(i int) string {
			return fmt.Sprintf(`<p>Page %d<div data-page='{"text": "tells of %s"}'>`, i, letters(i))
		}, func(i int) []string { return []string{leaf(i + 1)} }},
		{"documents by sid", 500, func(i int) string { return fmt.Sprintf("/doc?sid=%032x", i*7919) }, text, func(i int) []string { return []string{fmt.Sprintf("/doc?sid=%032x", (i+1)*7919)} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := newVisitor(t)
			for i := range tt.pages {
				if !v.read(tt.path(i), tt.path(i-1), fmt.Sprint(i), 5000+int64(i%9), tt.text(i), tt.found(i)...) {
					t.Fatalf("page %d is caught: %v", i, v.caught)
				}
			}
			if forms, others := v.scope.Traps().All(); len(forms) > 0 || others > 0 {
				t.Errorf("turned away: %+v, %d", forms, others)
			}
		})
	}
}

// A form of which URIs begin to be turned away is told once, and how often they were is counted. An explanation does not count.
func TestTrapsAreTold(t *testing.T) {
	v := newVisitor(t)
	for i := range 100 {
		v.visit(fmt.Sprintf("/a?x=%d", i), "/a", "same", 5000)
	}
	u := &Subject{URL: "http://www.example.org/a?x=1000", Path: "LL", Now: now()}
	v.scope.Judge(u)
	v.scope.Explain(u)
	told := v.scope.Traps().Fresh()
	if len(told) != 1 || told[0].What != trapDuplicate || told[0].Pages != leastSame || told[0].Host != "www.example.org" || told[0].Why() == "" ||
		told[0].URL != fmt.Sprintf("http://www.example.org/a?x=%d", v.fetched) || !told[0].Since.Equal(now()) {
		t.Errorf("told: %+v", told)
	}
	v.visit("/b/cal?date=2099-01-01", "/", "x", 1)
	v.visit("/b/cal?date=2099-01-02", "/", "x", 1)
	if told := v.scope.Traps().Fresh(); len(told) != 1 || told[0].What != trapCalendar {
		t.Errorf("told next: %+v", told)
	}
	forms, others := v.scope.Traps().All()
	if len(forms) != 2 || forms[0].Away != int64(100-v.fetched) || forms[1].Away != 2 || others != 0 {
		t.Errorf("%+v, %d", forms, others)
	}
	for i := range 2 * maxTrapForms {
		v.visit("/b/"+letters(i)+"/cal?date=2099-01-01", "/", "x", 1)
	}
	if forms, others := v.scope.Traps().All(); len(forms) != maxTrapForms || others == 0 {
		t.Errorf("%d forms, and %d others", len(forms), others)
	}
}

// What is remembered has a bound.
// What stands after a session id in a path is part of the URI.
func TestSessionsWithinPaths(t *testing.T) {
	hash := func(url string) (uint64, uint64) {
		var p parts
		p.read(url)
		return sessionHash(&p)
	}
	plain, none := hash("http://h.test/a/b?x=1")
	within, token := hash("http://h.test/a;jsessionid=0123456789abcdef/b?x=1")
	other, _ := hash("http://h.test/a;jsessionid=0123456789abcdef/c?x=1")
	if none != 0 || token == 0 || within != plain || other == plain {
		t.Errorf("%x (%x), %x (%x), %x", plain, none, within, token, other)
	}
}

func TestTrapsForget(t *testing.T) {
	traps := NewTraps()
	u := &Subject{Fetched: true, Status: 200, ContentType: "text/html", Now: now()}
	for i := range 30_000 {
		u.URL = fmt.Sprintf("http://h%d.example/%s/a1?b%d=1&c=2", i, letters(i), i)
		traps.Observe(u, page("a b c"))
	}
	for i := range 100_000 {
		u.URL = fmt.Sprintf("http://one.example/%s/1?b%d=1&c=%d", letters(i), i, i)
		traps.Observe(u, page("a b c"))
	}
	have := 0
	for _, h := range traps.hosts {
		have += h.size()
		if len(h.patterns) > maxTrapPatterns || len(h.equivalents) > maxEquivalents {
			t.Fatal(len(h.patterns), len(h.equivalents))
		}
	}
	if len(traps.hosts) > maxTrapHosts || have != traps.entries || have > maxTrapEntries {
		t.Errorf("%d hosts, %d entries, counted %d", len(traps.hosts), have, traps.entries)
	}
}

// Prerequisites, errors and other than pages teach nothing, and seeds are never caught.
func TestTrapsKeepToPages(t *testing.T) {
	v := newVisitor(t)
	for i := range 200 {
		u := &Subject{URL: fmt.Sprintf("http://www.example.org/thumb?id=%d", i), Path: "LE", Fetched: true, Status: 200, ContentType: "image/gif", Digest: "same", Now: now()}
		v.scope.Observe(u, page("a b c"))
		u.Status, u.ContentType = 404, "text/html"
		v.scope.Observe(u, page("a b c"))
		u.Status, u.Path = 200, "LP"
		v.scope.Observe(u, page("a b c"))
	}
	if !v.visit("/thumb?id=777", "/", "x", 1) {
		t.Error(v.caught)
	}
	seed := &Subject{URL: "http://www.example.org/calendar?date=2099-01-01", Now: now()}
	if got := v.scope.Decide(seed); !got.Accepted() {
		t.Error(got)
	}
	seed.Path = "L"
	if got := v.scope.Decide(seed); got.Note != trapCalendar || got.Status != -5000 || got.Rule != "trap_heuristics" {
		t.Error(got)
	}
}

func FuzzTraps(f *testing.F) {
	f.Add("http://h/calendar/2099/01?year=9&month=2;jsessionid=AAAAAAAAAAAA11", "x")
	f.Add("http://h/(S(abcdefabcdef12))/a?x=1&x=1&x=1&x=1", "")
	f.Fuzz(func(t *testing.T, url, via string) {
		traps := NewTraps()
		u := &Subject{URL: url, Via: via, Path: "L", Fetched: true, Status: 200, Digest: "d", Now: now()}
		for range 60 {
			traps.Observe(u, page("a b c"))
		}
		traps.Caught(u)
		_ = u.SURT()
	})
}

// What was learnt of traps, and what was caught, outlasts that the crawl is opened again.
func TestTrapsOutlastARestart(t *testing.T) {
	t.Parallel()
	kept := map[string][]byte{}
	fetched, caught := 0, 0
	for round := range 6 { // of 20 pages each, of which 50 show the trap
		v := newVisitor(t)
		for name, data := range kept {
			if err := v.scope.Traps().Recall(name, data); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 20 {
			v.visit(fmt.Sprintf("/same/%d", round*20+i), "/", "one and the same", 5000)
		}
		changed, err := v.scope.Traps().Changes()
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range changed {
			kept[name] = data
		}
		if again, err := v.scope.Traps().Changes(); err != nil || len(again) != 0 {
			t.Errorf("%d changes where nothing changed, %v", len(again), err)
		}
		fetched, caught = fetched+v.fetched, caught+v.caught[trapDuplicate]
		forms, _ := v.scope.Traps().All()
		if caught > 0 && (len(forms) != 1 || forms[0].Away != int64(caught) || forms[0].Pages != leastSame) {
			t.Errorf("round %d: %d caught in all, the report has %+v", round, caught, forms)
		}
		if round > 2 && len(v.scope.Traps().Fresh()) > 0 {
			t.Errorf("round %d tells of a trap that was told", round)
		}
	}
	if fetched > leastSame+5 || caught != 120-fetched {
		t.Errorf("%d fetched, %d caught", fetched, caught)
	}
	if err := NewTraps().Recall("host/x", []byte("{")); err == nil {
		t.Error("what cannot be read is taken")
	}
}
