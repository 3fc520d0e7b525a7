package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/disk"
)

func TestLineIsHeritrixs(t *testing.T) {
	begin := time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC)
	tests := []struct {
		name string
		line Line
		want string
	}{
		{"page", Line{Logged: begin.Add(time.Second), Status: 200, Size: 1234, URI: "http://h/a b", Path: "LLE", Via: "http://h/", MIME: "text/html; charset=x", Worker: 7,
			Begin: begin, Duration: 56 * time.Millisecond, Digest: "sha1:ABC", Source: "http://h/", Annotations: []string{"2t", "lenTrunc"}},
			"2026-03-04T05:06:08.089Z   200       1234 http://h/a%20b LLE http://h/ text/html #007 20260304050607089+56 sha1:ABC http://h/ 2t,lenTrunc\n"},
		{"failure", Line{Logged: begin, Status: -2, Size: -1, URI: "http://h/", Worker: 1234},
			"2026-03-04T05:06:07.089Z    -2          - http://h/ - - no-type #1234 - - - -\n"},
		{"robots", Line{Logged: begin, Status: -9998, Size: -1, URI: "http://h/", Path: strings.Repeat("L", 62), Worker: 1},
			"2026-03-04T05:06:07.089Z -9998          - http://h/ 12+" + strings.Repeat("L", 50) + " - no-type #001 - - - -\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(tt.line.AppendTo(nil)); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestLogIsCutToTheCommittedSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crawl.log")
	l, err := OpenLog(disk.New(), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	size, err := l.Append([]byte("one\n"))
	if err != nil || size != 4 {
		t.Fatal(size, err)
	}
	if _, err := l.Append([]byte("two\n")); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if l, err = OpenLog(disk.New(), path, size); err != nil {
		t.Fatal(err)
	}
	if size, err = l.Append([]byte("three\n")); err != nil || size != 10 {
		t.Fatal(size, err)
	}
	l.Close()
	if data, _ := os.ReadFile(path); string(data) != "one\nthree\n" {
		t.Errorf("log %q", data)
	}
}

func TestStatsAndReports(t *testing.T) {
	s := NewStats()
	s.Add(&Line{Status: 200, Size: 10, MIME: "Text/HTML; charset=x"})
	s.Add(&Line{Status: 200, Size: 5, MIME: "text/html"})
	s.Add(&Line{Status: 404, Size: 1})
	s.Add(&Line{Status: -2, Size: -1})
	for i := range 2 * maxTypes {
		s.Add(&Line{Status: 200, Size: 1, MIME: "x/" + strings.Repeat("y", i)})
	}
	if len(s.Types) > maxTypes+1 {
		t.Errorf("%d types", len(s.Types))
	}
	var types, codes, seeds, hosts strings.Builder
	for _, err := range []error{WriteTypes(&types, s), WriteStatuses(&codes, s), WriteSeeds(&seeds, []Seed{{"http://a/", 301, "http://b/"}, {"bad seed", -7, ""}}),
		WriteHosts(&hosts, slices.Values([]Host{{Name: "b", URLs: 1, Bytes: 2}, {Name: "a", URLs: 3, Bytes: 4, Robots: 5, Remaining: 6, Captures: Captures{Novel: Count{3, 4}}}}))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(types.String(), "\n2 15 text/html\n") {
		t.Errorf("types:\n%.200s", types.String())
	}
	if want := "[#urls] [rescode]\n802 200\n1 404\n"; codes.String() != want {
		t.Errorf("codes:\n%s", codes.String())
	}
	if want := "[code] [status] [seed] [redirect]\n-7 NOTCRAWLED bad%20seed\n301 CRAWLED http://a/ http://b/\n"; seeds.String() != want {
		t.Errorf("seeds:\n%s", seeds.String())
	}
	if !strings.Contains(hosts.String(), "\n3 4 a 5 6 3 4 0 0 0 0 \n1 2 b ") {
		t.Errorf("hosts:\n%s", hosts.String())
	}
}
