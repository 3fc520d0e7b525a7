package scope

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/temoto/robotstxt"

	"holdfast/harvest"
)

func TestRobots(t *testing.T) {
	tests := []struct {
		name, txt string
		allowed   []string
		forbidden []string
	}{
		{"empty", "", []string{"/", "/x"}, nil},
		{"all", "User-agent: *\nDisallow: /", []string{"/robots.txt"}, []string{"/", "/x"}},
		{"nothing", "User-agent: *\nDisallow:", []string{"/x"}, nil},
		{"longest wins", "User-agent: *\nDisallow: /a\nAllow: /a/b\n", []string{"/a/b/c", "/c"}, []string{"/a", "/a/c"}},
		{"equal: allow", "User-agent: *\nDisallow: /a\nAllow: /a\n", []string{"/a"}, nil},
		{"wildcards", "User-agent: *\nDisallow: /*.gif$\nDisallow: /x*y\n", []string{"/a.gif?z", "/xz"}, []string{"/a.gif", "/d/a.gif", "/xzy", "/xyy/z"}},
		{"own group only", "User-agent: *\nDisallow: /\n\nUser-agent: Holdfast/2.0\nDisallow: /p\n", []string{"/x"}, []string{"/p"}},
		{"groups merge", "User-agent: holdfast\nDisallow: /a\nUser-agent: other\nDisallow: /b\nUser-agent: HOLDFAST\nDisallow: /c\n", []string{"/b"}, []string{"/a", "/c"}},
		{"shared group", "User-agent: other\nUser-agent: holdfast\nDisallow: /a\n", []string{"/b"}, []string{"/a"}},
		{"a longer name is not ours", "User-agent: holdfastbot\nDisallow: /\n", []string{"/a"}, nil},
		{"escapes", "User-agent: *\nDisallow: /caf%C3%A9\nDisallow: /é\nDisallow: /a%7eb\n", nil, []string{"/caf%c3%a9", "/café", "/%C3%A9", "/a~b", "/a%7Eb"}},
		{"mark, CRLF, comments, case", "\xef\xbb\xbfUSER-AGENT : * # all\r\nDISALLOW :/a#b\r\n", []string{"/b"}, []string{"/a"}},
		{"carriage returns alone", "User-agent: *\rDisallow: /a\r", nil, []string{"/a"}},
		{"without slash", "User-agent: *\nDisallow: a\n", []string{"/b"}, []string{"/a"}},
		{"query", "User-agent: *\nDisallow: /*?\n", []string{"/a"}, []string{"/a?b"}},
		{"rules of nobody", "Disallow: /a\nUser-agent: *\nDisallow: /b\n", []string{"/a"}, []string{"/b"}},
		{"not robots at all", "<html>User-agent: *</html>", []string{"/a"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := ParseRobots([]byte(tt.txt), harvest.Product)
			for _, p := range tt.allowed {
				if !r.Allowed(p) {
					t.Errorf("%s is forbidden", p)
				}
			}
			for _, p := range tt.forbidden {
				if r.Allowed(p) {
					t.Errorf("%s is allowed", p)
				}
			}
		})
	}
	if d := ParseRobots([]byte("User-agent: *\nCrawl-delay: 2.5\n"), "x").Delay(); d != 2500*time.Millisecond {
		t.Errorf("delay %v", d)
	}
	if DenyAll().Allowed("/x") || !DenyAll().Allowed("/robots.txt") {
		t.Error("DenyAll")
	}
}

// A robots.txt made to be slow is not.
func TestRobotsIsBounded(t *testing.T) {
	hostile := "User-agent: *\n" + strings.Repeat("Disallow: /"+strings.Repeat("*a", 100)+"b\n", 2000)
	begin := processorTime(t)
	ParseRobots([]byte(hostile), "x").Allowed("/" + strings.Repeat("a", 2000))
	if took := processorTime(t) - begin; took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

// Where rules are plain, the field's library and we say the same.
func FuzzRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /a*b$\nAllow: /a\n", "/axb")
	f.Add("user-agent:x\n\nuser-agent: holdfast\ncrawl-delay: 1e9\ndisallow: %", "/%")
	f.Fuzz(func(t *testing.T, txt, path string) {
		ParseRobots([]byte(txt), harvest.Product).Allowed(path)
		if len(path) == 0 || path[0] != '/' || strings.ContainsAny(txt+path, "%\x00*$?\ufeff\r#") || !simple(txt) || !simple(path) || strings.HasPrefix(path, "/robots.txt") {
			return
		}
		body := "User-agent: *\nDisallow: /" + strings.ReplaceAll(strings.ReplaceAll(txt, "\n", ""), ":", "") + "\n"
		lib, err := robotstxt.FromBytes([]byte(body))
		if err != nil {
			return
		}
		if got := ParseRobots([]byte(body), harvest.Product).Allowed(path); got != lib.TestAgent(path, harvest.Product) {
			t.Fatalf("%q for %q: %v, the library says otherwise", body, path, got)
		}
	})
}

func simple(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '\n' && (c <= ' ' || c > 0x7e) {
			return false
		}
	}
	return true
}

// Allowed is what Explain says first.
func (r *Robots) Allowed(path string) bool {
	allowed, _ := r.Explain(path)
	return allowed
}

// processorTime is what this process used so far: a busy machine does not change it.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
