package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/cdx"
	"holdfast/harvest"
)

// Client uses the API of one node. Its methods return an *Error for a problem that the node answered with, for
// which errors.Is finds the package's sentinels and errors.As a *catalog.Refusal, and ErrUnavailable when the node
// is not reached. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

// NewClient returns a client of the node at base, such as http://127.0.0.1:7481, with an access token. An address without
// http:// or https:// is asked by plain HTTP on this machine alone: elsewhere the token would be sent in clear. Exposed
// tells whether that is the case. Plain HTTP goes to the node itself, never through a proxy.
func NewClient(base, token string) (*Client, error) {
	if !strings.Contains(base, "://") {
		base = schemeFor(base) + "://" + base
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%w: server %q: want a URL such as http://127.0.0.1:7481", ErrInvalid, base)
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

// Exposed reports whether a client's token is sent in clear to another machine.
func Exposed(c *Client) bool {
	return c.token != "" && c.base.Scheme != "https" && !harvest.IsLoopback(c.base.Hostname())
}

// onlyLoopback refuses to connect to another machine by a name that is to mean this one.
func onlyLoopback(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().Unmap().IsLoopback() {
		return fmt.Errorf("%w: %s is not this machine", ErrInvalid, address)
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

// TrustOnly makes the client trust nodes with certificates that are among those in PEM, or signed by one of them, and no others. To be
// called before the first request.
func (c *Client) TrustOnly(pem []byte) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%w: no certificate in PEM form", ErrInvalid)
	}
	transport, ok := c.http.Transport.(*http.Transport)
	if !ok {
		return fmt.Errorf("%w: the client does not use HTTP over TCP", ErrInvalid)
	}
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	return nil
}

// Base returns the URL of the node.
func (c *Client) Base() string { return c.base.String() }

// Close lets idle connections go.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// request makes a request with the token; segments of the path are escaped.
func (c *Client) request(ctx context.Context, method string, body io.Reader, query url.Values, segments ...string) (*http.Request, error) {
	u := c.base.JoinPath("api", "v1")
	for _, s := range segments {
		u = u.JoinPath(url.PathEscape(s))
	}
	u.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	return r, nil
}

// do sends the request; an answer that is no success is its *Error.
func (c *Client) do(r *http.Request) (*http.Response, error) {
	answer, err := c.http.Do(r)
	if err != nil {
		if r.Context().Err() != nil {
			return nil, fmt.Errorf("ask %s: %w", c.base.Host, context.Cause(r.Context()))
		}
		return nil, fmt.Errorf("ask %s: %w: %w", c.base.Host, ErrUnavailable, err)
	}
	if answer.StatusCode < 300 {
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, readProblem(answer)
}

// readProblem reads the problem of an answer, or makes one of its status.
func readProblem(answer *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	var p huma.ErrorModel
	if err != nil || json.Unmarshal(text, &p) != nil || p.Status == 0 {
		return &Error{Status: answer.StatusCode, Code: CodeInternal, Detail: "the server answered " + answer.Status}
	}
	e := &Error{Status: p.Status, Detail: p.Detail, Code: Code(strings.TrimPrefix(p.Type, problemType))}
	if !strings.HasPrefix(p.Type, problemType) {
		e.Code = CodeInvalid
		if p.Status >= 500 {
			e.Code = CodeInternal
		}
	}
	for _, field := range p.Errors {
		if field == nil {
			continue
		}
		if value, ok := field.Value.(string); ok && field.Location == confirmField && e.Code == CodeUnconfirmed {
			e.Confirm = value
			continue
		}
		if text := strings.TrimSpace(strings.TrimPrefix(field.Location+": ", ": ") + field.Message); text != "" {
			e.Fields = append(e.Fields, text)
		}
	}
	return e
}

// call sends in as JSON, unless nil, and reads the answer into out, unless nil.
func (c *Client) call(ctx context.Context, method string, in, out any, query url.Values, segments ...string) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		body = bytes.NewReader(text)
	}
	r, err := c.request(ctx, method, body, query, segments...)
	if err != nil {
		return err
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if out == nil || answer.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.NewDecoder(answer.Body).Decode(out); err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.base.Host, err)
	}
	return nil
}

// all yields every item of a paged list, page by page.
func all[T any](ctx context.Context, c *Client, query url.Values, segments ...string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		q := url.Values{}
		for name, values := range query {
			q[name] = values
		}
		for {
			var page Page[T]
			if err := c.call(ctx, http.MethodGet, nil, &page, q, segments...); err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			q.Set("after", page.Next)
		}
	}
}

// Captures yields the captures that answer the query. A *cdx.Incomplete comes last when shards were not covered.
func (c *Client) Captures(ctx context.Context, q cdx.Query) iter.Seq2[Capture, error] {
	query := url.Values{"url": {q.URL}, "match": {string(q.Match)}, "filter": q.Filters}
	for name, text := range map[string]string{"from": q.From, "to": q.To, "sort": string(q.Sort), "closest": q.Closest} {
		if text != "" {
			query.Set(name, text)
		}
	}
	for name, n := range map[string]int{"limit": q.Limit, "collapse": q.Collapse} {
		if n != 0 {
			query.Set(name, strconv.Itoa(n))
		}
	}
	if q.Match == "" {
		query.Set("match", string(cdx.Exact))
	}
	return func(yield func(Capture, error) bool) {
		r, err := c.request(ctx, http.MethodGet, nil, query, "captures")
		if err != nil {
			yield(Capture{}, err)
			return
		}
		answer, err := c.do(r)
		if err != nil {
			yield(Capture{}, err)
			return
		}
		defer answer.Body.Close()
		for in := json.NewDecoder(answer.Body); ; {
			var line Capture
			err := in.Decode(&line)
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(Capture{}, fmt.Errorf("read captures from %s: %w", c.base.Host, err))
				return
			case line.Incomplete != nil:
				yield(Capture{}, &cdx.Incomplete{Shards: line.Incomplete})
				return
			case line.Failed != "":
				yield(Capture{}, &Error{Status: http.StatusInternalServerError, Code: CodeInternal, Detail: line.Failed})
				return
			case !yield(line, nil):
				return
			}
		}
	}
}
