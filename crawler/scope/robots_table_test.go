package scope

import (
	"strings"
	"testing"
	"time"

	"holdfast/harvest"
)

// What RFC 9309 and Google's published cases say of robots.txt, in our own words. Where we differ from Google's parser, the
// name says so: the RFC compares paths unescaped, and a crawler's robots.txt may always be had.
func TestRobotsCases(t *testing.T) {
	const foo, all = "user-agent: FooBot\n", "user-agent: *\n"
	groups := "allow: /foo/bar/\n\n" + foo + "disallow: /\nallow: /x/\nuser-agent: BarBot\ndisallow: /\nallow: /y/\n\n\nallow: /w/\nuser-agent: BazBot\n\n" + foo + "allow: /z/\ndisallow: /\n"
	tests := []struct {
		name, txt, agent string
		allowed, denied  []string
	}{
		{"unknown lines", "foo: FooBot\nbar: /\n", "FooBot", []string{"/x/y"}, nil},
		{"colon left out", "user-agent FooBot\ndisallow /\n", "FooBot", nil, []string{"/x/y"}},
		{"groups FooBot", groups, "FooBot", []string{"/x/b", "/z/d"}, []string{"/y/c", "/foo/bar/"}},
		{"groups BarBot", groups, "BarBot", []string{"/y/c", "/w/a"}, []string{"/z/d", "/foo/bar/"}},
		{"groups BazBot", groups, "BazBot", []string{"/z/d"}, []string{"/foo/bar/"}},
		{"sitemap does not end names", "User-agent: BarBot\nSitemap: https://foo.bar/sitemap\nUser-agent: *\nDisallow: /\n", "BarBot", nil, []string{"/"}},
		{"unknown line does not end names", foo + "Invalid-Unknown-Line: unknown\nUser-agent: *\nDisallow: /\n", "FooBot", nil, []string{"/"}},
		{"crawl-delay ends names", all + "Crawl-delay: 10\n\nUser-agent: BadBot\nDisallow: /\n", "FooBot", []string{"/"}, nil},
		{"crawl-delay ends names, for the last", all + "Crawl-delay: 10\n\nUser-agent: BadBot\nDisallow: /\n", "BadBot", nil, []string{"/"}},
		{"host does not end names", foo + "Host: foo.bar\nUser-agent: *\nDisallow: /\n", "FooBot", nil, []string{"/"}},
		{"cut at the limit", all + "Disallow: /b\n#" + strings.Repeat("x", MaxRobots-len(all)-len("Disallow: /b\n#\nDisallow: /a")) + "\nDisallow: /archive/private\n", "FooBot", []string{"/about"}, []string{"/b"}},
		{"case of keys", "uSeR-aGeNt: FooBot\nAlLoW: /x/\ndIsAlLoW: /\n", "FooBot", []string{"/x/y"}, []string{"/a/b"}},
		{"case of agents", "User-Agent: FoO bAr\nAllow: /x/\nDisallow: /\n", "foo", []string{"/x/y"}, []string{"/a/b"}},
		{"agent to the first space", all + "Disallow: /\nUser-Agent: Foo Bar\nAllow: /x/\nDisallow: /\n", "Foo", []string{"/x/y"}, []string{"/y"}},
		{"agent with version", all + "Disallow: /\nUser-Agent: Foo/2.1\nAllow: /\n", "Foo", []string{"/x/y"}, nil},
		{"agent that only begins so", "User-Agent: FooBot-News\nDisallow: /\n", "FooBot", []string{"/x"}, nil},
		{"secondary global group", all + "allow: /\n" + foo + "disallow: /\n", "FooBot", nil, []string{"/x/y"}},
		{"secondary global group, others", all + "allow: /\n" + foo + "disallow: /\n", "BarBot", []string{"/x/y"}, nil},
		{"only others named", foo + "allow: /\nuser-agent: BarBot\ndisallow: /\n", "QuxBot", []string{"/x/y"}, nil},
		{"star with words", "User-agent: * (all)\nDisallow: /\n", "FooBot", nil, []string{"/x"}},
		{"star in a name", "User-agent: *Bot\nDisallow: /\n", "FooBot", []string{"/x"}, nil},
		{"case of paths", foo + "disallow: /X/\n", "FooBot", []string{"/x/y"}, []string{"/X/y"}},
		{"longest: disallow", foo + "disallow: /x/page.html\nallow: /x/\n", "FooBot", []string{"/x/"}, []string{"/x/page.html"}},
		{"longest: allow", foo + "allow: /x/page.html\ndisallow: /x/\n", "FooBot", []string{"/x/page.html"}, []string{"/x/"}},
		{"both empty", foo + "disallow: \nallow: \n", "FooBot", []string{"/x/page.html"}, nil},
		{"equal", foo + "disallow: /\nallow: /\n", "FooBot", []string{"/x/page.html"}, nil},
		{"slash counts", foo + "disallow: /x\nallow: /x/\n", "FooBot", []string{"/x/"}, []string{"/x"}},
		{"longer pattern", foo + "allow: /page\ndisallow: /*.html\n", "FooBot", []string{"/page"}, []string{"/page.html"}},
		{"longer pattern, allow", foo + "allow: /x/page.\ndisallow: /*.html\n", "FooBot", []string{"/x/page.html"}, []string{"/x/y.html"}},
		{"own group alone", all + "Disallow: /x/\n" + foo + "Disallow: /y/\n", "FooBot", []string{"/x/page"}, []string{"/y/page"}},
		{"query", foo + "Disallow: /\nAllow: /foo/bar?qux=taz&baz=http://foo.bar?tar&par\n", "FooBot", []string{"/foo/bar?qux=taz&baz=http://foo.bar?tar&par"}, []string{"/foo/bar"}},
		{"letters of other scripts (Google: only escaped)", foo + "Disallow: /\nAllow: /foo/bar/ツ\n", "FooBot", []string{"/foo/bar/%E3%83%84", "/foo/bar/ツ"}, nil},
		{"escapes of other scripts (Google: only escaped)", foo + "Disallow: /\nAllow: /foo/bar/%e3%83%84\n", "FooBot", []string{"/foo/bar/%E3%83%84", "/foo/bar/ツ"}, nil},
		{"escaped letters (Google: not equal)", foo + "Disallow: /\nAllow: /foo/bar/%62%61%7A\n", "FooBot", []string{"/foo/bar/baz", "/foo/bar/%62%61%7A"}, nil},
		{"escaped slash is another", foo + "Disallow: /a%2Fb\n", "FooBot", []string{"/a/b"}, []string{"/a%2fb"}},
		{"star", foo + "Disallow: /foo/bar/quz\nAllow: /foo/*/qux\n", "FooBot", []string{"/foo/quz", "/foo//quz", "/foo/bax/quz"}, []string{"/foo/bar/quz"}},
		{"dollar", foo + "Disallow: /foo/bar$\nAllow: /foo/bar/qux\n", "FooBot", []string{"/foo/bar/qux", "/foo/bar/", "/foo/bar/baz"}, []string{"/foo/bar"}},
		{"comments", foo + "# Disallow: /\nDisallow: /foo/quz#qux\nAllow: /\n", "FooBot", []string{"/foo/bar"}, []string{"/foo/quz"}},
		{"index.html is a file (Google: and the folder)", all + "Allow: /allowed-slash/index.html\nDisallow: /\n", "foobot", []string{"/allowed-slash/index.html"}, []string{"/allowed-slash/", "/allowed-slash/index.htm"}},
		{"fish", foo + "disallow: /\nallow: /fish\n", "FooBot", []string{"/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fish.html?id=anything"}, []string{"/bar", "/Fish.asp", "/catfish", "/?id=fish"}},
		{"fish*", foo + "disallow: /\nallow: /fish*\n", "FooBot", []string{"/fish", "/fishheads/yummy.html"}, []string{"/bar", "/Fish.bar", "/catfish", "/?id=fish"}},
		{"fish/", foo + "disallow: /\nallow: /fish/\n", "FooBot", []string{"/fish/", "/fish/salmon", "/fish/?salmon"}, []string{"/fish", "/fish.html", "/Fish/Salmon.html"}},
		{"*.php", foo + "disallow: /\nallow: /*.php\n", "FooBot", []string{"/filename.php", "/folder/filename.php?parameters", "//folder/any.php.file.html", "/filename.php/", "/index?f=filename.php/"}, []string{"/bar", "/php/", "/index?php", "/windows.PHP"}},
		{"*.php$", foo + "disallow: /\nallow: /*.php$\n", "FooBot", []string{"/filename.php", "/folder/filename.php"}, []string{"/filename.php?parameters", "/filename.php/", "/filename.php5", "/filename?php", "/aaaphpaaa"}},
		{"fish*.php", foo + "disallow: /\nallow: /fish*.php\n", "FooBot", []string{"/fish.php", "/fishheads/catfish.php?parameters"}, []string{"/bar", "/Fish.PHP"}},
		{"root alone", foo + "allow: /$\ndisallow: /\n", "FooBot", []string{"/", ""}, []string{"/page.html"}},
		{"a real star", all + "Disallow: /a-%2A.html\n", "x", []string{"/a-b.html"}, []string{"/a-*.html", "/a-%2A.html"}},
		{"a real dollar", all + "Disallow: /a%24\nDisallow: /b$c\n", "x", []string{"/a", "/b"}, []string{"/a$", "/a$x", "/b$c", "/b%24cd"}},
		{"NULs", "User-agent: *\x00\nDis\x00allow: /a\n", "x", []string{"/b"}, []string{"/a"}},
		{"UTF-16", "\xff\xfeU\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*\x00\n\x00D\x00i\x00s\x00a\x00l\x00l\x00o\x00w\x00:\x00/\x00a\x00", "x", []string{"/b"}, []string{"/a"}},
		{"broken mark", "\xef\x11\xbfUser-agent: *\nDisallow: /a\n", "x", []string{"/a"}, nil},
		{"line too long is cut", foo + "disallow: /x/" + strings.Repeat("a", 20000) + "\n", "FooBot", []string{"/fux"}, []string{"/x/" + strings.Repeat("a", 17000) + "/fux"}},
		{"mixed line ends", "User-agent: *\r\n\r\nDisallow: /a\rDisallow: /b\n\rDisallow: /c", "x", []string{"/d"}, []string{"/a", "/b", "/c"}},
		{"beyond the limit", all + "Disallow: /a\n" + strings.Repeat("#\n", MaxRobots/2) + "Disallow: /b\n", "x", []string{"/b"}, []string{"/a"}},
		{"many rules", all + strings.Repeat("Disallow: /x\n", 30_000) + "Disallow: /b\n", "x", []string{"/a"}, []string{"/b"}},
		{"within the limit", all + strings.Repeat("#\n", 500<<9) + "Disallow: /b\n", "x", []string{"/a"}, []string{"/b"}},
		{"robots.txt itself", all + "Disallow: /\n", "x", []string{"/robots.txt", "/robots.txt?x"}, []string{"/robots.txt2"}},
	}
	for _, tt := range tests {
		r := ParseRobots([]byte(tt.txt), tt.agent)
		for _, path := range tt.allowed {
			if ok, line := r.Explain(path); !ok {
				t.Errorf("%s: %.60s is forbidden by %.60s", tt.name, path, line)
			}
		}
		for _, path := range tt.denied {
			if ok, line := r.Explain(path); ok {
				t.Errorf("%s: %.60s is allowed by %.60q", tt.name, path, line)
			}
		}
	}
}

func TestRobotsDelay(t *testing.T) {
	r := ParseRobots([]byte("Sitemap: http://foo.bar/a.xml\nUser-Agent: foo\nCrawl-delay: 7\nAllow: /some/path\nUser-Agent: *\nCrawl-Delay: 1.5\n\nsitemap:http://foo.bar/b.xml#x\nSitemap:\n"), "holdfast")
	if r.Delay() != 1500*time.Millisecond {
		t.Error(r.Delay())
	}
	for _, wrong := range []string{"-1", "x", "1e999", "NaN", "Inf"} {
		if d := ParseRobots([]byte("User-agent: *\nCrawl-delay: "+wrong), "x").Delay(); d < 0 || d > 1e6*time.Second {
			t.Error(wrong, d)
		}
	}
}

func TestRobotsPolicies(t *testing.T) {
	site := ParseRobots([]byte("User-agent: *\nDisallow: /private\nDisallow: /img\n"), harvest.Product)
	tests := []struct {
		policy    harvest.RobotsPolicy
		text      string
		paths     []string
		path      string
		precluded bool
		site      *Robots
		why       string
	}{
		{harvest.RobotsObey, "", nil, "/private/x", true, site, "Disallow: /private"},
		{harvest.RobotsObey, "", nil, "/x", false, site, ""},
		{harvest.RobotsObey, "", nil, "/x", true, DenyAll(), "robots.txt could not be fetched"},
		{harvest.RobotsIgnore, "", nil, "/private/x", false, site, "robots: ignore"},
		{harvest.RobotsCustom, "Disallow: /x", nil, "/private/x", false, site, ""},
		{harvest.RobotsCustom, "Disallow: /x", nil, "/x", true, nil, "Disallow: /x"},
		{harvest.RobotsCustom, "User-agent: holdfast\nDisallow: /y\nUser-agent: *\nDisallow: /x", nil, "/x", false, nil, ""},
		{harvest.RobotsSome, "", []string{"/img/*.png"}, "/img/a.png", true, site, "Disallow: /img"},
		{harvest.RobotsSome, "", []string{"/img/*.png"}, "/private/x", false, site, "robots_paths"},
	}
	for _, tt := range tests {
		s := harvest.DefaultSettings()
		s.Robots, s.RobotsText, s.RobotsPaths = tt.policy, tt.text, tt.paths
		got, why := newScope(t, s).Precluded(&Subject{URL: "http://h.example" + tt.path}, tt.site)
		if got != tt.precluded || why != tt.why {
			t.Errorf("%s %s: %v %q, want %v %q", tt.policy, tt.path, got, why, tt.precluded, tt.why)
		}
	}
}
