package config

import (
	"errors"
	"strings"
	"testing"
)

// Origins are read as browsers write them, and written the same.
func TestOrigins(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		origin   Origin
		written  string
		loopback bool
	}{
		"":                                  {Origin{}, "", false},
		"https://archive.example.org":       {Origin{"https", "archive.example.org", 443}, "https://archive.example.org", false},
		"https://Archive.Example.ORG.:443/": {Origin{"https", "archive.example.org", 443}, "https://archive.example.org", false},
		"http://archive.example.org:443":    {Origin{"http", "archive.example.org", 443}, "http://archive.example.org:443", false},
		"HTTP://localhost:7481/":            {Origin{"http", "localhost", 7481}, "http://localhost:7481", true},
		"http://127.0.21.1:80":              {Origin{"http", "127.0.21.1", 80}, "http://127.0.21.1", true},
		"https://[2001:DB8:0::1]:8443":      {Origin{"https", "2001:db8::1", 8443}, "https://[2001:db8::1]:8443", false},
		"http://[::1]":                      {Origin{"http", "::1", 80}, "http://[::1]", true},
		"https://localhost.example.org":     {Origin{"https", "localhost.example.org", 443}, "https://localhost.example.org", false},
		"https://xn--arkv-dra.example":      {Origin{"https", "xn--arkv-dra.example", 443}, "https://xn--arkv-dra.example", false},
	} {
		var got Origin
		err := got.UnmarshalText([]byte(text))
		if err != nil || got != want.origin || got.String() != want.written || got.Loopback() != want.loopback {
			t.Errorf("%q is read as %+v (%s, loopback %v), %v", text, got, got, got.Loopback(), err)
		}
		var again Origin
		if err := again.UnmarshalText([]byte(want.written)); err != nil || again != got {
			t.Errorf("%q is read again as %+v, %v", want.written, again, err)
		}
	}
}

// What is more than an origin, or none, is refused with what was meant.
func TestBadOriginsAreRefused(t *testing.T) {
	t.Parallel()
	const none, more, host = "is not a URL such as", "more than scheme, host and port: want a URL such as \"https://a.example\"", "want a host of letters"
	for text, want := range map[string]string{
		"archive.example.org": none, "localhost:7481": none, "//archive.example.org": none, "ftp://a.example": none, "https://": none, "https://:443": none,
		"https:a.example": none, "https://a b": none, "javascript:alert(1)": none, "https://[::1": none, " https://a.example": none,
		"https://a.example/pages": more, "https://a.example//": more, "https://u@a.example": more, "https://u:p@a.example": more, "https://a.example?": more,
		"https://a.example/?q=1": more, "https://a.example#": more, "https://a.example/#x": more,
		"https://arkæv.example": host, "https://a_b.example": host, "https://-a.example": host, "https://.": host, "https://a%2eexample": none, "https://*.example": host,
		"https://a.example:0": "port 0: want a number from 1 to 65535", "https://a.example:65536": "port 65536", "https://a.example:http": none,
		"https://0.0.0.0": "browsers cannot open the address 0.0.0.0", "https://[::]": "cannot open the address ::", "http://[fe80::1%25eth0]": "cannot open the address fe80::1%eth0",
		"http://127.1": "neither a name nor a whole IP address", "http://0x7f.1": "neither a name", "http://2130706433": "neither a name", "http://a.0x1": "neither a name",
	} {
		_, err := configWith(t, "pages-url = \""+text+"\"")
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "cluster.toml:3: pages-url: ") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The two settings count for a node as others do, and are shown.
func TestOriginsOfANode(t *testing.T) {
	t.Parallel()
	c, err := configWith(t, "pages-url = \"https://archive.example.org/\"\naccess-url = \"https://captures.example.org:8443\"")
	if err != nil || c.PagesURL.String() != "https://archive.example.org" || c.AccessURL.String() != "https://captures.example.org:8443" {
		t.Fatalf("%v: %s and %s", err, c.PagesURL, c.AccessURL)
	}
	var shown strings.Builder
	if err := c.Write(&shown); err != nil || !strings.Contains(shown.String(), `pages-url = "https://archive.example.org"`) ||
		!strings.Contains(shown.String(), `access-url = "https://captures.example.org:8443"`) {
		t.Errorf("%v: %s", err, shown.String())
	}
	if _, err = configWith(t, "pages-url = \"https://a.example\"\naccess-url = \"https://A.example:443/\""); err == nil || !strings.Contains(err.Error(), "are both \"https://a.example\"") {
		t.Errorf("one address for both: %v", err)
	}
	if _, err = configWith(t, "pages-url = \"https://a.example\"\naccess-url = \"https://a.example:8443\""); err != nil {
		t.Errorf("one host name for both, which an alert is about: %v", err)
	}
	if _, err = configWith(t, `page-url = "https://a.example"`); err == nil || !strings.Contains(err.Error(), `did you mean "pages-url"?`) {
		t.Errorf("a mistyped key: %v", err)
	}
}
