package demo

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

var links = regexp.MustCompile(`(?:href|src)="([^"]+)"|url\(["']?([^"')]+)["']?\)|([^",\s]+) [12]x`)

// visitor asks the site as a crawler would: names from its own name server, redirects not followed.
func visitor(t *testing.T, s *Site) *http.Client {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", s.Nameserver)
	}}
	transport := &http.Transport{DialContext: (&net.Dialer{Resolver: resolver}).DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func fetch(t *testing.T, c *http.Client, address string) (*http.Response, string) {
	t.Helper()
	answer, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

func serve(t *testing.T) *Site {
	s, err := Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestEverythingIsReachedFromTheSeeds(t *testing.T) {
	s := serve(t)
	c := visitor(t, s)
	seen, queue := map[string]bool{}, []string{}
	found := func(address string) {
		if !seen[address] {
			seen[address] = true
			queue = append(queue, address)
		}
	}
	for _, seed := range s.Seeds {
		found(seed)
		found(seed + "robots.txt")
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		answer, body := fetch(t, c, at)
		base, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		if to := answer.Header.Get("Location"); to != "" {
			found(to)
		}
		kind := answer.Header.Get("Content-Type")
		if !strings.HasPrefix(kind, "text/html") && !strings.HasPrefix(kind, "text/css") {
			continue
		}
		for _, m := range links.FindAllStringSubmatch(body, -1) {
			to, err := base.Parse(m[1] + m[2] + m[3])
			if err != nil {
				t.Fatalf("%s links %q: %v", at, m[0], err)
			}
			found(to.String())
		}
	}
	pages := 0
	for _, p := range append(s.URLs(), s.Refused()...) {
		if !seen[p.URL] {
			t.Errorf("%s is linked from nowhere", p.URL)
		}
		delete(seen, p.URL)
		if strings.HasPrefix(p.Type, "text/html") && p.Status == http.StatusOK {
			pages++
		}
	}
	for address := range seen {
		t.Errorf("%s is linked and not listed", address)
	}
	if pages < 60 {
		t.Errorf("%d pages", pages)
	}
}

func TestPagesAreServedAsListed(t *testing.T) {
	s := serve(t)
	c := visitor(t, s)
	for _, p := range s.URLs() {
		answer, body := fetch(t, c, p.URL)
		if answer.StatusCode != p.Status || answer.Header.Get("Content-Type") != p.Type || answer.Header.Get("Location") != p.Location {
			t.Errorf("%s: %s %s, want %+v", p.URL, answer.Status, answer.Header, p)
		}
		if body == "" {
			t.Errorf("%s is empty", p.URL)
		}
		_, again := fetch(t, c, p.URL)
		if (body != again) != p.Changes {
			t.Errorf("%s: changes %t, listed as %t", p.URL, body != again, p.Changes)
		}
	}
}

func TestOtherNamesAreNotKnown(t *testing.T) {
	s := serve(t)
	for name, want := range map[string]int{
		"library.demo.test.": dns.RcodeSuccess, "LIBRARY.demo.test.": dns.RcodeSuccess,
		"nobody.demo.test.": dns.RcodeNameError, "example.org.": dns.RcodeRefused,
	} {
		ask := new(dns.Msg)
		ask.SetQuestion(name, dns.TypeA)
		answer, err := dns.Exchange(ask, s.Nameserver)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Rcode != want || (want == dns.RcodeSuccess) != (len(answer.Answer) == 1) {
			t.Errorf("%s: %v", name, answer)
		}
	}
}
