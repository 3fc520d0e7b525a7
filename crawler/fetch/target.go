package fetch

import (
	"errors"
	"fmt"
	"strings"
)

// ErrScheme reports a URL of a scheme that is not fetched, as ftp.
var ErrScheme = errors.New("not http or https")

// Target is a URL taken apart as far as a fetch needs it.
type Target struct {
	URL, Scheme, Host, Port string
	Authority               string // host, and port where it is not the scheme's own
	Path                    string // path and query, as sent
}

// ParseTarget takes an http(s) URL in normal form apart. Of other schemes it says ErrScheme.
func ParseTarget(url string) (Target, error) {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || (scheme != "http" && scheme != "https") {
		return Target{}, fmt.Errorf("target %.200q: %w", url, ErrScheme)
	}
	slash := strings.IndexAny(rest, "/?#")
	path := "/"
	authority := rest
	if slash >= 0 {
		authority, path = rest[:slash], rest[slash:]
	}
	if i := strings.IndexByte(path, '#'); i >= 0 {
		path = path[:i]
	}
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	authority = authority[strings.LastIndexByte(authority, '@')+1:]
	t := Target{URL: url, Scheme: scheme, Authority: authority, Path: path, Host: authority, Port: "80"}
	if scheme == "https" {
		t.Port = "443"
	}
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		t.Host, t.Port = authority[:i], authority[i+1:]
	}
	t.Host = strings.Trim(t.Host, "[]")
	// A percent sign is that of an address with a scope, as fe80::1%eth0, which means something on one machine only.
	if t.Host == "" || strings.Contains(t.Host, "%") || !digits(t.Port) || unsendable(authority) || unsendable(path) {
		return Target{}, fmt.Errorf("target %.200q: no usable host, port or path", url)
	}
	return t, nil
}

// unsendable reports whether s cannot be part of a request line.
func unsendable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return true
		}
	}
	return false
}

// server names who answers and the way there: connections of one server serve any of its requests.
type server struct {
	scheme, authority string
	way               Way
}

func (r *Request) server() server { return server{r.Target.Scheme, r.Target.Authority, r.Way} }
