package scope

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"holdfast/harvest"
)

const id32 = "0123456789abcdefghijklemopqrstuv"

func TestCanonicalRules(t *testing.T) {
	const base = "http://www.archive.org/index.html"
	tests := []struct{ rule, in, want string }{
		{"lowercase", "http://WWW.aRchive.Org/Index.html?Q=Ä", "http://www.archive.org/index.html?q=ä"},
		{"strip_userinfo", "http://WWW.aRchive.Org/index.html", ""},
		{"strip_userinfo", "http://stack:password@WWW.aRchive.Org/index.html", "http://WWW.aRchive.Org/index.html"},
		{"strip_userinfo", "http://stack:pass@@@@@@word@WWW.aRchive.Org/index.html", "http://WWW.aRchive.Org/index.html"},
		{"strip_userinfo", "ftp://stack:pass@@@@@@word@archive.org/index.html", "ftp://archive.org/index.html"},
		{"strip_userinfo", "FTPS://a@archive.org/", "FTPS://archive.org/"},
		{"strip_userinfo", "http://archive.org/a@b", ""},
		{"strip_userinfo", "http://archive.org?q=a@b/c", "http://b/c"},
		{"strip_userinfo", "http://@archive.org/", ""},
		{"strip_userinfo", "gopher://a@archive.org/", ""},
		{"strip_www", "http://WWW.aRchive.Org/index.html", "http://aRchive.Org/index.html"},
		{"strip_www", "http://wWWW.aRchive.Org/index.html", ""},
		{"strip_www", "http://ww.aRchive.Org/index.html", ""},
		{"strip_www", "http://www001.aRchive.Org/index.html", ""},
		{"strip_www", "https://www.archive.org/a", "https://archive.org/a"},
		{"strip_www", "http://www.archive.org/", ""},
		{"strip_www", "http://www.archive.org", ""},
		{"strip_www", "ftp://www.archive.org/a", ""},
		{"strip_www_n", "http://www001.aRchive.Org/index.html", "http://aRchive.Org/index.html"},
		{"strip_www_n", "http://www3.aRchive.Org/index.html", "http://aRchive.Org/index.html"},
		{"strip_www_n", "http://www.aRchive.Org/index.html", "http://aRchive.Org/index.html"},
		{"strip_www_n", "http://www3.aRchive.Org/", ""},
		{"strip_www_n", "http://www3a.aRchive.Org/x", ""},
		{"strip_session_ids", base + "?jsessionid=" + id32, base + "?"},
		{"strip_session_ids", base + "?jsessionid=" + id32 + "0", ""},
		{"strip_session_ids", base + "?jsessionid=" + id32 + "&x=y", base + "?x=y"},
		{"strip_session_ids", base + "?one=two&jsessionid=" + id32 + "&x=y", base + "?one=two&x=y"},
		{"strip_session_ids", base + "?one=two&jsessionid=" + id32, base + "?one=two&"},
		{"strip_session_ids", base + ";JSESSIONID=" + id32, base + ";"},
		{"strip_session_ids", base + ";jsessionid=" + id32 + "?x=y", ""},
		{"strip_session_ids", base + "?aspsessionidABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&x=y", base + "?x=y"},
		{"strip_session_ids", base + "?ASPSESSIONIDAQBSDSRT=EOHBLBDDPFCLHKPGGKLILNAM", base + "?"},
		{"strip_session_ids", base + "?ASPSESSIONIDAQBSDSR1=EOHBLBDDPFCLHKPGGKLILNAM", ""},
		{"strip_session_ids", base + "?phpsessid=" + id32 + "&x=y", base + "?x=y"},
		{"strip_session_ids", base + "?one=two&PHPSESSID=" + id32, base + "?one=two&"},
		{"strip_session_ids", base + "?sid=9682993c8daa2c5497996114facdc805&x=y", base + "?x=y"},
		{"strip_session_ids", base + "?sid=9682993c8daa2c5497996114facdc805&jsessionid=" + id32, base + "?"},
		{"strip_session_ids", base + "?jsessionid=" + id32 + "&phpsessid=" + id32, base + "?jsessionid=" + id32 + "&"},
		{"strip_session_cfids", "http://a.b.c/boo?CFID=1169580&CFTOKEN=48630702&dtstamp=22%2F08%2F2006%7C06%3A58%3A11", "http://a.b.c/boo?dtstamp=22%2F08%2F2006%7C06%3A58%3A11"},
		{"strip_session_cfids", "http://a.b.c/boo?CFID=12412453&CFTOKEN=15501799&dt=19_08_2006_22_39_28", "http://a.b.c/boo?dt=19_08_2006_22_39_28"},
		{"strip_session_cfids", "http://a.b.c/boo?CFID=14475712&CFTOKEN=2D89F5AF-3048-2957-DA4EE4B6B13661AB&r=468710288378&m=forgotten", "http://a.b.c/boo?r=468710288378&m=forgotten"},
		{"strip_session_cfids", "http://a.b.c/boo?CFID=16603925&CFTOKEN=2AE13EEE-3048-85B0-56CEDAAB0ACA44B8", "http://a.b.c/boo?"},
		{"strip_session_cfids", "http://a.b.c/boo?CFID=&CFTOKEN=1", ""},
		{"strip_session_cfids", "http://a.b.c/boo?CFID=1&x=2&CFTOKEN=1", ""},
		{"fixup_query", base, ""},
		{"fixup_query", base + "?", base},
		{"fixup_query", base + "?&", base},
		{"fixup_query", base + "?&x=y", base + "?x=y"},
		{"fixup_query", base + "?x=y", ""},
		{"fixup_query", base + "?x=y&", base + "?x=y"},
		{"fixup_query", base + "?x=y&&", base + "?x=y&"},
		{"fixup_query", base + "?&x=y&", base + "?x=y&"},
		{"strip_extra_slashes", "http://a.b//c///d", "http://a.b/c/d"},
		{"strip_extra_slashes", "https://a.b/?u=http://c//", "https://a.b/?u=http:/c/"},
		{"strip_extra_slashes", "http:////a", "http:///a"},
		{"strip_extra_slashes", "HTTP://a//b", ""},
		{"strip_extra_slashes", "ftp://a//b", ""},
		{`regex:^(.+)(?:;\$sessionid\$[A-Z0-9]{32})(\?.*)+$=>$1$2`, "http://joann.com/catalog.jhtml;$sessionid$JKOFFNYAAKUTIP4SY5NBHOR50LD3OEPO?CATID=96029", "http://joann.com/catalog.jhtml?CATID=96029"},
		{`regex:(.*)=>$1`, base, ""},
		{`regex:.*x.*=>http://x/\$1`, "http://ax.b/", "http://x/$1"},
		{`regex:(.+)&utm_source=[^&]*=>$12`, "http://a/?b&utm_source=x", "http://a/?b2"},
	}
	for _, tt := range tests {
		c, err := NewCanonicalizer([]string{tt.rule})
		if err != nil {
			t.Errorf("%s: %v", tt.rule, err)
			continue
		}
		want := tt.want
		if want == "" {
			want = tt.in
			if n := testing.AllocsPerRun(10, func() { c.Canonical(tt.in) }); n > 0 && !strings.HasPrefix(tt.rule, "regex") {
				t.Errorf("%s of %s: %v allocations", tt.rule, tt.in, n)
			}
		}
		if got := c.Canonical(tt.in); got != want {
			t.Errorf("%s of %s: %s, want %s", tt.rule, tt.in, got, want)
		}
	}
}

func TestCanonicalRulesInOrder(t *testing.T) {
	c, err := NewCanonicalizer([]string{"lowercase", "strip_userinfo", "strip_www_n", "strip_session_ids", "strip_session_cfids", "fixup_query", "strip_extra_slashes"})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Canonical("HTTP://u:p@WWW2.Example.org//A?jsessionid=" + id32); got != "http://example.org/a" {
		t.Error(got)
	}
	for name, want := range map[string]string{"strip_ww": `did you mean "strip_www"?`, "regex:a": "=> is missing", "regex:(=>x": "missing closing", "regex:(a)=>$2": "$0 to $1", "": "allowed: lowercase"} {
		if _, err := NewCanonicalizer([]string{"lowercase", name}); !errors.Is(err, harvest.ErrInvalid) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "canonicalization[1]") {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}

// heritrix is the field's own expressions, in the form that Go's have.
func heritrix(rule, url string) string {
	strip := func(url, expression string) string {
		m := regexp.MustCompile(`(?s)` + expression).FindStringSubmatch(url)
		if m == nil {
			return url
		}
		return m[1] + m[2]
	}
	switch rule {
	case "strip_userinfo":
		return strip(url, `(?i)^((?:(?:https?)|(?:ftps?))://)(?:[^/]+@)(.*)$`)
	case "strip_www":
		return strip(url, `(?i)^(https?://)(?:www\.)([^/]*/.+)$`)
	case "strip_www_n":
		return strip(url, `(?i)^(https?://)(?:www[0-9]*\.)([^/]*/.+)$`)
	case "strip_session_ids":
		url = strip(url, `(?i)^(.+)(?:(?:(?:jsessionid)|(?:phpsessid))=[0-9a-zA-Z]{32})(?:&(.*))?$`)
		url = strip(url, `(?i)^(.+)(?:sid=[0-9a-zA-Z]{32})(?:&(.*))?$`)
		return strip(url, `(?i)^(.+)(?:ASPSESSIONID[a-zA-Z]{8}=[a-zA-Z]{24})(?:&(.*))?$`)
	case "strip_session_cfids":
		return strip(url, `^(.+)(?i)(?:cfid=[^&]+&cftoken=[^&]+(?:jsession=[^&]+)?)(?:&(.*))?$`)
	}
	return url
}

func FuzzCanonical(f *testing.F) {
	for _, url := range []string{"http://u@www.example.org/a?jsessionid=" + id32 + "&sid=" + id32, "https://WWW1.a/b?CFID=1&CFTOKEN=2&x", "http://a//b?ASPSESSIONIDABCDEFGH=ABCDEFGHABCDEFGHABCDEFGH", "ftp://a@b@c/d"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		for _, rule := range canonicalRules() {
			got := rule.apply(url)
			switch rule.name {
			case "strip_userinfo", "strip_www", "strip_www_n", "strip_session_ids", "strip_session_cfids":
				if want := heritrix(rule.name, url); isASCII(url) && got != want {
					t.Fatalf("%s of %q: %q, Heritrix's says %q", rule.name, url, got, want)
				}
			}
		}
	})
}
