package front

import (
	"net/netip"
	"strings"
	"testing"

	"holdfast/node/config"
)

// originOf reads an origin.
func originOf(t *testing.T, text string) (o config.Origin) {
	t.Helper()
	if err := o.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return o
}

// site is the settings of a node that listens, as far as they concern browsers.
type site struct {
	api, access      string // as in "127.0.0.1:7481"
	pagesURL, accURL string
	tls, proxies     bool
	name             string // in addresses
}

func (s site) origins(t *testing.T) Origins {
	t.Helper()
	cfg := config.Config{Listen: config.Listen{API: s.api, Access: s.access}, PagesURL: originOf(t, s.pagesURL), AccessURL: originOf(t, s.accURL)}
	if s.tls {
		cfg.Secure.Certificate = "/c.pem"
	}
	if s.proxies {
		cfg.Secure.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.10/32")}
	}
	if s.name != "" {
		cfg.Table.Addresses = []string{s.name}
	}
	return OriginsOf(cfg)
}

// Where browsers reach a node follows from the settings, else from where it listens; and so does whether people may
// sign in there. The node shares a host name between pages and captures only if the settings say so.
func TestOriginsOf(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		site
		pages, captures string
		reason          string // why there are no pages; empty: there are
		shared          bool
	}{
		"the defaults":                 {site{api: "127.0.0.1:7481", access: "127.0.0.1:7482"}, "http://localhost:7481", "http://127.0.0.1:7482", "", false},
		"the defaults, a proxy here":   {site{api: "127.0.0.1:7481", access: "127.0.0.1:7482", proxies: true}, "http://localhost:7481", "http://127.0.0.1:7482", "", false},
		"the defaults, a certificate":  {site{api: "127.0.0.1:7481", access: "127.0.0.1:7482", tls: true}, "http://localhost:7481", "http://127.0.0.1:7482", "", false},
		"IPv6":                         {site{api: "[::1]:7481", access: "[::1]:7482"}, "http://localhost:7481", "http://[::1]:7482", "", false},
		"the scheme's own port":        {site{api: "127.0.0.1:80", access: "127.0.0.1:7482"}, "http://localhost", "http://127.0.0.1:7482", "", false},
		"another loopback address":     {site{api: "127.0.21.1:7481", access: "127.0.21.1:7482"}, "http://127.0.21.1:7481", "http://127.0.21.1:7482", "both listen at 127.0.21.1", false},
		"two loopback addresses":       {site{api: "127.0.21.1:7481", access: "127.0.22.1:7482"}, "http://127.0.21.1:7481", "http://127.0.22.1:7482", "", false},
		"a public address":             {site{api: "192.0.2.1:7481", access: "192.0.2.1:7482", tls: true}, "https://192.0.2.1:7481", "https://192.0.2.1:7482", "both listen at 192.0.2.1", false},
		"two public addresses":         {site{api: "192.0.2.1:443", access: "[2001:db8::1]:443", tls: true}, "https://192.0.2.1", "https://[2001:db8::1]", "", false},
		"a public address for proxies": {site{api: "192.0.2.1:7481", access: "192.0.2.2:7482", proxies: true}, "", "", "set pages-url", false},
		"all addresses":                {site{api: "[::]:7481", access: "0.0.0.0:7482", tls: true}, "", "", "set pages-url", false},
		"all addresses, pages named":   {site{api: "[::]:7481", access: "[::]:7482", tls: true, pagesURL: "https://a.example"}, "https://a.example", "", "set access-url", false},
		"captures named":               {site{api: "127.0.0.1:7481", access: "127.0.0.1:7482", accURL: "https://c.example"}, "http://localhost:7481", "https://c.example", "", false},
		"pages named, captures here":   {site{api: "127.0.0.1:7481", access: "127.0.0.1:7482", proxies: true, pagesURL: "https://a.example"}, "https://a.example", "", "set access-url", false},
		"both named":                   {site{api: "[::]:7481", access: "[::]:7482", tls: true, pagesURL: "https://a.example", accURL: "https://c.example"}, "https://a.example", "https://c.example", "", false},
		"both named, a proxy":          {site{api: "127.0.0.1:7481", access: "127.0.0.1:7482", proxies: true, pagesURL: "https://a.example", accURL: "https://c.example"}, "https://a.example", "https://c.example", "", false},
		"named alike":                  {site{api: "[::]:443", access: "[::]:8443", tls: true, pagesURL: "https://a.example", accURL: "https://a.example:8443"}, "https://a.example", "https://a.example:8443", "", true},
		"named as the other listens":   {site{api: "127.0.0.1:7481", access: "127.0.0.1:7482", pagesURL: "http://127.0.0.1:7481"}, "http://127.0.0.1:7481", "http://127.0.0.1:7482", "", true},
		"both localhost":               {site{api: "127.0.0.1:7481", access: "127.0.0.1:7482", accURL: "http://localhost:7482"}, "http://localhost:7481", "http://localhost:7482", "", true},
		"in clear":                     {site{api: "[::]:80", access: "[::]:7482", tls: true, pagesURL: "http://a.example", accURL: "https://c.example"}, "http://a.example", "https://c.example", "in clear", false},
		"in clear, alike":              {site{api: "[::]:80", access: "[::]:7482", tls: true, pagesURL: "http://a.example", accURL: "https://a.example"}, "http://a.example", "https://a.example", "in clear", false},
		"a proxy that is not named":    {site{api: "127.0.0.1:7481", access: "127.0.0.1:7482", pagesURL: "https://a.example", accURL: "https://c.example"}, "https://a.example", "https://c.example", "trusted-proxies", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := tt.origins(t)
			if o.Pages.String() != tt.pages || o.Captures.String() != tt.captures || o.Shared() != tt.shared {
				t.Errorf("pages at %q, captures at %q, shared %v; want %q, %q, %v", o.Pages, o.Captures, o.Shared(), tt.pages, tt.captures, tt.shared)
			}
			allowed, reason := o.PagesAllowed()
			if allowed != (tt.reason == "") || allowed != (reason == "") || !strings.Contains(reason, tt.reason) {
				t.Errorf("pages are allowed: %v, %q, want %q", allowed, reason, tt.reason)
			}
		})
	}
}

// A name that a browser was led to by is that of the pages, or one under which no capture may be shown, or neither.
func TestWhatANameIs(t *testing.T) {
	t.Parallel()
	here := site{api: "127.0.0.1:7481", access: "127.0.0.1:7482"}.origins(t)
	public := site{api: "[::]:443", access: "[::]:8443", tls: true, pagesURL: "https://a.example", accURL: "https://c.a.example"}.origins(t)
	alike := site{api: "[::]:443", access: "[::]:8443", tls: true, pagesURL: "https://a.example", accURL: "https://a.example:8443"}.origins(t)
	unknown := site{api: "[::]:443", access: "[::]:8443", tls: true}.origins(t)
	for _, tt := range []struct {
		of               Origins
		browsed          browsed
		pages, misplaced bool
	}{
		{here, browsed{"http", "localhost", false}, true, true},
		{here, browsed{"http", "localhost", true}, false, false},
		{here, browsed{"https", "localhost", false}, false, true},
		{here, browsed{"http", "127.0.0.1", false}, false, false},
		{here, browsed{"http", "::1", false}, false, false},
		{here, browsed{"http", "", false}, false, false},
		{here, browsed{"http", "evil.test", false}, false, false},
		{here, browsed{"http", "localhost.", false}, false, true}, // browsers do not agree on whose its cookies are
		{here, browsed{"http", "a.localhost", false}, false, true},
		{here, browsed{"http", "alocalhost", false}, false, false},
		{here, browsed{"http", "localhost.evil.test", false}, false, false},
		{public, browsed{"https", "a.example", false}, true, true},
		{public, browsed{"https", "a.example", true}, true, true},
		{public, browsed{"http", "a.example", false}, false, true},
		{public, browsed{"https", "c.a.example", false}, false, false},
		{public, browsed{"https", "b.a.example", false}, false, true},
		{public, browsed{"https", "localhost", false}, false, false},
		{alike, browsed{"https", "a.example", false}, true, false},
		{alike, browsed{"https", "b.a.example", false}, false, false},
		{unknown, browsed{"https", "", false}, false, false},
		{unknown, browsed{"https", "a.example", false}, false, false},
		{unknown, browsed{}, false, false},
	} {
		if pages, misplaced := tt.of.isPages(tt.browsed), tt.of.misplaced(tt.browsed); pages != tt.pages || misplaced != tt.misplaced {
			t.Errorf("%+v with pages at %s and captures at %s: pages %v, misplaced %v", tt.browsed, tt.of.Pages, tt.of.Captures, pages, misplaced)
		}
	}
}
