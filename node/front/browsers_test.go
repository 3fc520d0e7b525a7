package front

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"holdfast/node/config"
)

// proxied are the settings of a node that trusts the proxy at 192.0.2.10.
func proxied() config.Secure {
	return config.Secure{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/32")}}
}

// answers lets a handler answer a request as it comes over the wire, from an address, as Port.Serve would.
func answers(t *testing.T, s config.Secure, h http.Handler, from, wire string) *http.Response {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(strings.ReplaceAll(wire, "\n", "\r\n") + "\r\n\r\n")))
	if err != nil {
		return nil // the server answers 400
	}
	r.RemoteAddr = from
	w := httptest.NewRecorder()
	forwarded(s, h).ServeHTTP(w, r)
	return w.Result()
}

// shows answers as a page or a capture would.
func shows(what string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, what+" at "+r.Host) }
}

func bodyOf(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The pages answer at their own address alone. What another name leads to the port gets a text, and no redirect.
func TestPagesAnswerAtTheirAddress(t *testing.T) {
	t.Parallel()
	here := site{api: "127.0.0.1:7481", access: "127.0.0.1:7482"}
	public := site{api: "127.0.0.1:7481", access: "127.0.0.1:7482", proxies: true, pagesURL: "https://a.example", accURL: "https://c.example", name: "North-1.internal:7480"}
	const local, proxy, stranger = "127.0.0.1:4000", "192.0.2.10:4000", "203.0.113.9:4000"
	for name, tt := range map[string]struct {
		site site
		from string
		head string
		want string // that the pages see as Host; empty: not let through
	}{
		"the address":                       {here, local, "Host: localhost:7481", "localhost:7481"},
		"the address in capitals":           {here, local, "Host: LOCALHOST:7481", "LOCALHOST:7481"},
		"a tunnel's other port":             {here, local, "Host: localhost:9000", "localhost:9000"},
		"the node's IP address":             {here, local, "Host: 127.0.0.1:7481", ""},
		"the node's IPv6 address":           {here, local, "Host: [::1]:7481", ""},
		"another name (DNS rebinding)":      {here, local, "Host: evil.test:7481", ""},
		"the name in another":               {here, local, "Host: localhost.evil.test:7481", ""},
		"a name under it":                   {here, local, "Host: evil.localhost:7481", ""},
		"the name with a dot":               {here, local, "Host: localhost.:7481", ""},
		"no name":                           {here, local, "Host:", ""},
		"a port that is none":               {here, local, "Host: localhost:7481@evil.test", ""},
		"another port that is none":         {here, local, "Host: localhost:a", ""},
		"two hosts":                         {here, local, "Host: localhost, evil.test", ""},
		"two headers":                       {here, local, "Host: localhost\nHost: evil.test", ""},
		"a page that says where it is":      {here, local, "Host: evil.test:7481\nX-Forwarded-Host: localhost:7481", ""},
		"a page that says much":             {here, local, "Host: evil.test:7481\nX-Forwarded-Host: localhost\nX-Forwarded-For: 127.0.0.1\nForwarded: host=localhost", ""},
		"an unknown proxy writes localhost": {here, local, "Host: localhost:7481\nX-Forwarded-For: 203.0.113.9\nX-Forwarded-Host: a.example", ""},

		"the proxy, Host as it was":          {public, proxy, "Host: a.example\nX-Forwarded-For: 203.0.113.9\nX-Forwarded-Proto: https", "a.example"},
		"the proxy, Host with a port":        {public, proxy, "Host: a.example:7481\nX-Forwarded-Proto: https", "a.example"},
		"the proxy, Host rewritten":          {public, proxy, "Host: 10.0.0.1:7481\nX-Forwarded-Host: a.example\nX-Forwarded-Proto: https", "a.example"},
		"the proxy, Host is localhost":       {public, proxy, "Host: localhost:7481\nX-Forwarded-Host: a.example:443\nX-Forwarded-Proto: HTTPS", "a.example"},
		"the proxy, the node's name":         {public, proxy, "Host: north-1.internal:7481\nX-Forwarded-Host: a.example\nX-Forwarded-Proto: https", "a.example"},
		"the proxy after a lie":              {public, proxy, "Host: 10.0.0.1:7481\nX-Forwarded-Host: evil.test, a.example\nX-Forwarded-Proto: http, https", "a.example"},
		"a lie before the proxy, reversed":   {public, proxy, "Host: 10.0.0.1:7481\nX-Forwarded-Host: a.example, evil.test\nX-Forwarded-Proto: https", ""},
		"a lie in a line of its own":         {public, proxy, "Host: 10.0.0.1:7481\nX-Forwarded-Host: a.example\nX-Forwarded-Host: evil.test\nX-Forwarded-Proto: https", ""},
		"the proxy, without TLS":             {public, proxy, "Host: a.example\nX-Forwarded-Proto: http", ""},
		"the proxy does not say whether TLS": {public, proxy, "Host: a.example", ""},
		"the proxy hides the Host":           {public, proxy, "Host: 10.0.0.1:7481\nX-Forwarded-Proto: https", ""},
		"the proxy passes a page's lie":      {public, proxy, "Host: evil.test\nX-Forwarded-Host: a.example\nX-Forwarded-Proto: https", ""},
		"the captures' address":              {public, proxy, "Host: c.example\nX-Forwarded-Proto: https", ""},
		"a stranger who says he is a proxy":  {public, stranger, "Host: a.example\nX-Forwarded-Proto: https", ""},
		"a stranger with another's Host":     {public, stranger, "Host: 10.0.0.1\nX-Forwarded-Host: a.example\nX-Forwarded-Proto: https", ""},
		"the proxy leads others to here":     {site{api: "127.0.0.1:7481", access: "127.0.0.1:7482", proxies: true}, proxy, "Host: localhost:7481\nX-Forwarded-For: 203.0.113.9", ""},
		"the same, and it says localhost":    {site{api: "127.0.0.1:7481", access: "127.0.0.1:7482", proxies: true}, proxy, "Host: localhost:7481\nX-Forwarded-For: 203.0.113.9\nX-Forwarded-Host: localhost", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := tt.site.origins(t)
			secure := config.Secure{}
			if tt.site.proxies {
				secure = proxied()
			}
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				resp := answers(t, secure, o.ForPages(shows("a page")), tt.from, method+" /today HTTP/1.1\n"+tt.head)
				if resp == nil && tt.want == "" {
					continue
				}
				body := bodyOf(t, resp)
				if tt.want != "" {
					if resp.StatusCode != http.StatusOK || body != "a page at "+tt.want {
						t.Errorf("%s: %d %s, want %s", method, resp.StatusCode, body, tt.want)
					}
					continue
				}
				if resp.StatusCode != http.StatusMisdirectedRequest || !strings.Contains(body, "Open "+o.Pages.String()+"/ instead.") {
					t.Errorf("%s: %d %s", method, resp.StatusCode, body)
				}
				isText(t, resp)
			}
		})
	}
}

// isText checks that no browser takes an answer for a page, follows it, or keeps it.
func isText(t *testing.T, r *http.Response) {
	t.Helper()
	h := r.Header
	if !strings.HasPrefix(h.Get("Content-Type"), "text/plain") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" ||
		!strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") || h.Get("Set-Cookie") != "" || (h.Get("Location") != "") != (r.StatusCode == http.StatusTemporaryRedirect) {
		t.Errorf("%d %v", r.StatusCode, h)
	}
}

// With a certificate of its own, the node answers the pages over TLS alone: not in clear on its own machine either.
func TestPagesOverTLS(t *testing.T) {
	t.Parallel()
	secure, text := writePair(t, t.TempDir(), "a.example")
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	o := site{api: "[::]:443", access: "[::]:8443", tls: true, pagesURL: "https://a.example", accURL: "https://c.example"}.origins(t)
	for _, tt := range []struct {
		from, scheme, host string
		status             int
	}{
		{"203.0.113.9:4000", "https", "a.example", 200}, {"203.0.113.9:4000", "https", "c.example", 421},
		{"127.0.0.1:4000", "https", "a.example", 200}, {"127.0.0.1:4000", "http", "a.example", 421},
	} {
		address := served(t, secure, tt.from, o.ForPages(shows("a page")))
		transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tt.scheme+"://"+address+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = tt.host
		resp, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != tt.status {
			t.Errorf("%+v: %d %s", tt, resp.StatusCode, bodyOf(t, resp))
		}
		_ = resp.Body.Close()
	}
}

// Where nobody may sign in, the pages do not answer at all, and the reason is told.
func TestNoPagesWithoutTLS(t *testing.T) {
	t.Parallel()
	o := site{api: "[::]:80", access: "[::]:7482", tls: true, pagesURL: "http://a.example", accURL: "https://c.example"}.origins(t)
	resp := answers(t, config.Secure{}, o.ForPages(shows("a page")), "203.0.113.9:4000", "GET / HTTP/1.1\nHost: a.example")
	if body := bodyOf(t, resp); resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "passwords would be sent in clear to http://a.example") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	isText(t, resp)
}

// Captures are not shown under the host name of the pages: readers are led on, and nowhere else than to the captures.
func TestCapturesLeaveTheNameToThePages(t *testing.T) {
	t.Parallel()
	here := site{api: "127.0.0.1:7481", access: "127.0.0.1:7482"}
	atProxy := site{api: "127.0.0.1:7481", access: "127.0.0.1:7482", proxies: true}
	public := site{api: "[::]:443", access: "[::]:8443", proxies: true, tls: true, pagesURL: "https://a.example", accURL: "https://c.example"}
	alike := site{api: "[::]:443", access: "[::]:8443", tls: true, pagesURL: "https://a.example", accURL: "https://a.example:8443"}
	const local, proxy = "127.0.0.1:4000", "192.0.2.10:4000"
	for name, tt := range map[string]struct {
		site   site
		from   string
		head   string
		status int
		want   string // the address that it leads to
	}{
		"the captures' address":            {here, local, "GET / HTTP/1.1\nHost: 127.0.0.1:7482", 200, ""},
		"the pages' name":                  {here, local, "GET / HTTP/1.1\nHost: localhost:7482", 307, "http://127.0.0.1:7482/"},
		"in capitals, without a port":      {here, local, "GET / HTTP/1.1\nHost: LocalHost", 307, "http://127.0.0.1:7482/"},
		"with a dot":                       {here, local, "GET / HTTP/1.1\nHost: localhost.:7482", 307, "http://127.0.0.1:7482/"},
		"a name under it":                  {here, local, "GET / HTTP/1.1\nHost: a.b.localhost:7482", 307, "http://127.0.0.1:7482/"},
		"a capture":                        {here, local, "GET /web/20260101000000/http://x.example/a%2Fb?q=%20&r HTTP/1.1\nHost: localhost:7482", 307, "http://127.0.0.1:7482/web/20260101000000/http://x.example/a%2Fb?q=%20&r"},
		"a query without anything":         {here, local, "GET /cdx? HTTP/1.1\nHost: localhost:7482", 307, "http://127.0.0.1:7482/cdx?"},
		"the head of one":                  {here, local, "HEAD /web/2026/http://x.example/ HTTP/1.1\nHost: localhost:7482", 307, "http://127.0.0.1:7482/web/2026/http://x.example/"},
		"a form":                           {here, local, "POST /web/2026/http://x.example/ HTTP/1.1\nHost: localhost:7482", 421, ""},
		"a preflight":                      {here, local, "OPTIONS / HTTP/1.1\nHost: localhost:7482\nAccess-Control-Request-Headers: x-forwarded-host", 421, ""},
		"a client without a host":          {here, local, "GET / HTTP/1.0", 200, ""},
		"any other name":                   {here, local, "GET / HTTP/1.1\nHost: archive.test:7482", 200, ""},
		"a path to elsewhere":              {here, local, "GET //evil.test/ HTTP/1.1\nHost: localhost", 307, "http://127.0.0.1:7482//evil.test/"},
		"a path of backslashes":            {here, local, "GET /\\evil.test/ HTTP/1.1\nHost: localhost", 307, "http://127.0.0.1:7482/%5Cevil.test/"},
		"a path with a header":             {here, local, "GET /%0d%0aSet-Cookie:%20a=b HTTP/1.1\nHost: localhost", 307, "http://127.0.0.1:7482/%0d%0aSet-Cookie:%20a=b"},
		"a path like a host":               {here, local, "GET @evil.test/ HTTP/1.1\nHost: localhost", 0, ""},
		"a whole URL":                      {here, local, "GET http://localhost:7482/x HTTP/1.1\nHost: evil.test", 307, "http://127.0.0.1:7482/x"},
		"a URL without a path":             {here, local, "GET http://localhost:7482 HTTP/1.1\nHost: localhost", 307, "http://127.0.0.1:7482/"},
		"a query in UTF-8":                 {here, local, "GET /?url=\u00e6 HTTP/1.1\nHost: localhost", 307, "http://127.0.0.1:7482/?url=%C3%A6"},
		"a proxy for others, as localhost": {atProxy, proxy, "GET / HTTP/1.1\nHost: localhost:7482\nX-Forwarded-For: 203.0.113.9", 200, ""},
		"a proxy that nobody named":        {here, local, "GET / HTTP/1.1\nHost: localhost:7482\nX-Forwarded-For: 203.0.113.9\nX-Forwarded-Host: c.example", 200, ""},
		"a proxy for the pages' name":      {public, proxy, "GET /x HTTP/1.1\nHost: 10.0.0.1\nX-Forwarded-Host: a.example\nX-Forwarded-For: 203.0.113.9", 307, "https://c.example/x"},
		"a proxy for the captures' name":   {public, proxy, "GET /x HTTP/1.1\nHost: 10.0.0.1\nX-Forwarded-Host: c.example\nX-Forwarded-For: 203.0.113.9", 200, ""},
		"a proxy that tells nothing":       {public, proxy, "GET /x HTTP/1.1\nHost: 10.0.0.1:8443", 200, ""},
		"one name for both":                {alike, local, "GET / HTTP/1.1\nHost: a.example:8443", 200, ""},
		"nothing is known":                 {site{api: "[::]:443", access: "[::]:8443", tls: true}, local, "GET / HTTP/1.1\nHost: a.example:8443", 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secure := config.Secure{}
			if tt.site.proxies {
				secure = proxied()
			}
			resp := answers(t, secure, tt.site.origins(t).ForCaptures(shows("a capture")), tt.from, tt.head)
			if resp == nil {
				if tt.status != 0 {
					t.Error("it cannot be read")
				}
				return
			}
			if resp.StatusCode != tt.status || resp.Header.Get("Location") != tt.want {
				t.Errorf("%d to %q, want %d to %q", resp.StatusCode, resp.Header.Get("Location"), tt.status, tt.want)
			}
			if resp.StatusCode != http.StatusOK {
				isText(t, resp)
			}
		})
	}
}

// A browser in front of both ports: what a capture plants does not reach the pages, and what the pages set does not
// reach captures, whatever the reader typed.
func TestCookiesStayApart(t *testing.T) {
	t.Parallel()
	ports, err := Listen(t.Context(), Config{API: "127.0.0.1:0", Access: "127.0.0.1:0", Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	o := OriginsOf(config.Config{Listen: config.Listen{API: ports.API.Addr().String(), Access: ports.Access.Addr().String()}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	sets := func(name string) http.HandlerFunc { // and tells what it was sent
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Set-Cookie", name+"=1; Path=/")
			_, _ = io.WriteString(w, name+" got "+r.Header.Get("Cookie"))
		}
	}
	go func() { done <- ports.API.Serve(ctx, o.ForPages(sets("session"))) }()
	go func() { done <- ports.Access.Serve(ctx, o.ForCaptures(sets("planted"))) }()
	t.Cleanup(func() { cancel(); <-done; <-done })
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) { // every name leads here
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	}
	transport := &http.Transport{DialContext: dial}
	browser := &http.Client{Jar: jar, Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	open := func(address string) (status int, at, text string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := browser.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		return resp.StatusCode, resp.Request.URL.String(), bodyOf(t, resp)
	}
	port := func(of config.Origin) string { u, _ := url.Parse(of.String()); return u.Port() }
	pages, captures := o.Pages.String()+"/", o.Captures.String()+"/"
	for _, tt := range []struct {
		opened string
		status int
		at     string
		text   string
	}{
		{"http://localhost:" + port(o.Captures) + "/web/", 200, captures + "web/", "planted got "},
		{"http://a.localhost:" + port(o.Captures) + "/web/", 200, captures + "web/", "planted got planted=1"},
		{pages, 200, pages, "session got "},
		{captures, 200, captures, "planted got planted=1"},
		{"http://127.0.0.1:" + port(o.Pages) + "/", 421, "http://127.0.0.1:" + port(o.Pages) + "/", ""},
		{"http://evil.test:" + port(o.Pages) + "/", 421, "http://evil.test:" + port(o.Pages) + "/", ""},
		{"http://localhost:" + port(o.Captures) + "/", 200, captures, "planted got planted=1"},
		{pages, 200, pages, "session got session=1"},
	} {
		status, at, text := open(tt.opened)
		if status != tt.status || at != tt.at || tt.text != "" && text != tt.text || tt.text == "" && !strings.Contains(text, pages) {
			t.Errorf("%s: %d at %s: %s, want %d at %s: %s", tt.opened, status, at, text, tt.status, tt.at, tt.text)
		}
	}
}

// What acts in a reader's name is refused together with http.CrossOriginProtection, which compares Origin with Host: also
// where a proxy wrote the Host, and where a browser does not send Sec-Fetch-Site.
func TestForeignSitesCannotAct(t *testing.T) {
	t.Parallel()
	here := site{api: "127.0.0.1:7481", access: "127.0.0.1:7482"}
	public := site{api: "[::]:443", access: "[::]:8443", proxies: true, pagesURL: "https://a.example", accURL: "https://c.example", tls: true}
	for name, tt := range map[string]struct {
		site   site
		from   string
		head   string
		status int
	}{
		"the page itself":                {here, "127.0.0.1:4000", "Host: localhost:7481\nOrigin: http://localhost:7481", 200},
		"the page itself, by a tunnel":   {here, "127.0.0.1:4000", "Host: localhost:9000\nOrigin: http://localhost:9000", 200},
		"a capture":                      {here, "127.0.0.1:4000", "Host: localhost:7481\nOrigin: http://127.0.0.1:7482", 403},
		"a capture, sandboxed":           {here, "127.0.0.1:4000", "Host: localhost:7481\nOrigin: null", 403},
		"another program here":           {here, "127.0.0.1:4000", "Host: localhost:7481\nOrigin: http://localhost:3000", 403},
		"another program, newer browser": {here, "127.0.0.1:4000", "Host: localhost:7481\nOrigin: http://localhost:3000\nSec-Fetch-Site: same-site", 403},
		"a site under its own name":      {here, "127.0.0.1:4000", "Host: evil.test:7481\nOrigin: http://evil.test:7481\nSec-Fetch-Site: same-origin", 421},
		"the page itself, by a proxy":    {public, "192.0.2.10:4000", "Host: 10.0.0.1\nX-Forwarded-Host: a.example\nX-Forwarded-Proto: https\nOrigin: https://a.example", 200},
		"captures, by a proxy":           {public, "192.0.2.10:4000", "Host: 10.0.0.1\nX-Forwarded-Host: a.example\nX-Forwarded-Proto: https\nOrigin: https://c.example", 403},
		"the node's own name, by one":    {public, "192.0.2.10:4000", "Host: 10.0.0.1\nX-Forwarded-Host: a.example\nX-Forwarded-Proto: https\nOrigin: https://10.0.0.1", 403},
		"a site that names us, by one":   {public, "192.0.2.10:4000", "Host: evil.test\nX-Forwarded-Host: a.example\nX-Forwarded-Proto: https\nOrigin: http://evil.test", 421},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secure := config.Secure{}
			if tt.site.proxies {
				secure = proxied()
			}
			pages := http.NewCrossOriginProtection().Handler(shows("done"))
			resp := answers(t, secure, tt.site.origins(t).ForPages(pages), tt.from, "POST /jobs HTTP/1.1\n"+tt.head)
			if resp == nil || resp.StatusCode != tt.status {
				t.Errorf("%+v, want %d", resp, tt.status)
			}
		})
	}
}
