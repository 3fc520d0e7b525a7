// Package client is the Go client of Holdfast's HTTP API. It needs nothing of the server: a program that uses it brings
// the types of package api/wire, a crawl's settings and the queries over captures along, and no database or catalog.
//
//	c, err := client.New("https://archive.example.org:7481", token)
//	…
//	job, err := c.Jobs().Create(ctx, wire.JobRequest{Name: "news", Seeds: []string{"https://news.example.org/"}})
package client

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"holdfast/api/wire"
	"holdfast/harvest"
)

// A connection is kept so long without a request.
const idleTime = time.Minute

// Client uses the API of one node. What there is to do is grouped by subject: Jobs, Files and so on. Methods return a
// *wire.Error for a problem that the node answered with, for which errors.Is finds the sentinels of package wire, and
// wire.ErrUnavailable when the node is not reached. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

// New returns a client of the node at base, such as http://127.0.0.1:7481, with an access token. An address without
// http:// or https:// is asked by plain HTTP on this machine alone: elsewhere the token would be sent in clear. Exposed
// tells whether that is the case. Plain HTTP goes to the node itself, never through a proxy.
func New(base, token string) (*Client, error) {
	if !strings.Contains(base, "://") {
		base = schemeFor(base) + "://" + base
	}
	u, err := parseBase(base)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		ExpectContinueTimeout: 5 * time.Second,
		IdleConnTimeout:       idleTime,
	}
	switch {
	case u.Scheme == "https":
		transport.Proxy = http.ProxyFromEnvironment
	case harvest.IsLoopback(u.Hostname()):
		transport.DialContext = (&net.Dialer{Timeout: 10 * time.Second, Control: onlyLoopback}).DialContext
	}
	return &Client{base: u, token: token, http: &http.Client{Transport: transport, CheckRedirect: stayThere}}, nil
}

// Over returns a client whose requests go over rt, and never past it: to the API's handler in the same program, or over
// another transport. What rt sees is a URL below base, and the access token as a header; without a token, there is
// none. The context of a call is that of its requests, with its values. How safely a token travels is rt's matter:
// Exposed goes by the base alone.
//
// As each http.RoundTripper, rt must heed the requests' contexts and close their bodies. An answer that breaks off must
// be an error of its body, never its end: that is what Files.Get continues after.
func Over(rt http.RoundTripper, base, token string) (*Client, error) {
	u, err := parseBase(base)
	if err != nil {
		return nil, err
	}
	if rt == nil {
		return nil, fmt.Errorf("%w: a client over nothing", wire.ErrInvalid)
	}
	return &Client{base: u, token: token, http: &http.Client{Transport: rt, CheckRedirect: stayThere}}, nil
}

func parseBase(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%w: server %q: want a URL such as http://127.0.0.1:7481", wire.ErrInvalid, base)
	}
	return u, nil
}

// Exposed reports whether a client's token is sent in clear to another machine.
func Exposed(c *Client) bool {
	return c.token != "" && c.base.Scheme != "https" && !harvest.IsLoopback(c.base.Hostname())
}

// onlyLoopback refuses to connect to another machine by a name that is to mean this one.
func onlyLoopback(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().Unmap().IsLoopback() {
		return fmt.Errorf("%w: %s is not this machine", wire.ErrInvalid, address)
	}
	return nil
}

// schemeFor returns the scheme for an address that has none.
func schemeFor(address string) string {
	host, _, _ := strings.Cut(address, "/")
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if harvest.IsLoopback(host) {
		return "http"
	}
	return "https"
}

// stayThere follows no redirect to another server or from HTTPS to plain HTTP: the token would go along.
func stayThere(next *http.Request, before []*http.Request) error {
	if first := before[0].URL; next.URL.Scheme != first.Scheme || next.URL.Host != first.Host || len(before) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}

// TrustOnly makes the client trust nodes with certificates that are among those in PEM, or signed by one of them, and
// no others. To be called before the first request.
func (c *Client) TrustOnly(pem []byte) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%w: no certificate in PEM form", wire.ErrInvalid)
	}
	transport, ok := c.http.Transport.(*http.Transport)
	if !ok {
		return fmt.Errorf("%w: the client does not use HTTP over TCP", wire.ErrInvalid)
	}
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	return nil
}

// Base returns the URL of the node.
func (c *Client) Base() string { return c.base.String() }

// Close lets idle connections go.
func (c *Client) Close() { c.http.CloseIdleConnections() }
