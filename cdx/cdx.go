// Package cdx holds the terms of an archive's index: URL keys, timestamps, captures, the lines that describe them,
// and queries over them.
//
// Everything here is a plain value or a pure function. Keys are those of pywb and OutbackCDX, so that our index
// sorts, merges and compares with theirs.
package cdx

import (
	"errors"
	"fmt"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// MaxURL is the longest URL, and the longest key, in bytes.
const MaxURL = 32 << 10

// ErrURL reports a URL that has no normal form or no key.
var ErrURL = errors.New("not a usable URL")

// Normalize returns the URL as a browser would write it (WHATWG), without fragment.
// The URL must be absolute; any scheme is accepted. The error wraps ErrURL.
func Normalize(url string) (string, error) {
	u, err := parse(url)
	if err != nil {
		return "", err
	}
	return u.Href(true), nil
}

// parse reads an absolute URL by the WHATWG rules.
func parse(url string) (*whatwg.Url, error) {
	if len(url) > MaxURL {
		return nil, fmt.Errorf("%w: %d bytes long", ErrURL, len(url))
	}
	u, err := whatwg.Parse(url)
	if err != nil {
		return nil, fmt.Errorf("%w: %.200q", ErrURL, url)
	}
	switch u.Scheme() {
	case "http", "https":
		if u.Hostname() == "" {
			return nil, fmt.Errorf("%w: no host in %.200q", ErrURL, url)
		}
	}
	return u, nil
}

// SURT returns the URL in Heritrix's form for scopes, http://(org,example,)/path. It is lower-case, https is written
// as http, and the host is reversed and ends in a comma (an IP address is not reversed), so that a string prefix is a
// scope. A URL without a host is only normalised and lower-cased.
func SURT(url string) (string, error) {
	u, err := parse(url)
	if err != nil {
		return "", err
	}
	host := u.Hostname()
	if host == "" {
		return strings.ToLower(u.Href(true)), nil
	}
	var b strings.Builder
	b.Grow(len(url) + 8)
	if u.Scheme() == "https" {
		b.WriteString("http")
	} else {
		b.WriteString(u.Scheme())
	}
	b.WriteString("://(")
	if u.IsIPv4() || u.IsIPv6() {
		b.WriteString(host)
	} else {
		for rest := strings.Trim(host, "."); rest != ""; {
			dot := strings.LastIndexByte(rest, '.')
			b.WriteString(rest[dot+1:])
			b.WriteByte(',')
			rest = rest[:max(dot, 0)]
		}
	}
	if port := u.Port(); port != "" {
		b.WriteString(":" + port)
	}
	if u.Username() != "" || u.Password() != "" {
		b.WriteString("@" + u.Username())
		if u.Password() != "" {
			b.WriteString(":" + u.Password())
		}
	}
	b.WriteByte(')')
	b.WriteString(u.Pathname())
	b.WriteString(u.Search())
	return strings.ToLower(b.String()), nil
}
