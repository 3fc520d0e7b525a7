package cdx

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Key returns the URL's key in the index, com,example)/path?sorted=query. It is the key that pywb, cdxj-indexer and
// the PyPI package surt compute: lower-case, without scheme, www, default port, fragment and session ids, with sorted
// query parameters and normalised escapes. A URL without a host (dns:, urn:) keeps its scheme; filedesc: (ARC) is not
// changed. A URL without a scheme counts as http. A key holds only printable ASCII and no space. The error wraps
// ErrURL.
func Key(url string) (string, error) {
	if len(url) > MaxURL {
		return "", fmt.Errorf("%w: %d bytes long", ErrURL, len(url))
	}
	if strings.HasPrefix(url, "filedesc:") {
		return escape(url), nil
	}
	p, err := split(url)
	if err != nil {
		return "", err
	}
	host := keyHost(p.host)
	if host == "" && (p.host != "" || p.web()) {
		return "", fmt.Errorf("%w: no host in %.200q", ErrURL, url)
	}
	path := unescape(p.path)
	if host != "" {
		path = cleanPath(path)
	}
	path = stripPathSession(lower(escape(path)))
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	query := sortQuery(lower(stripQuerySession(escape(unescape(p.query)))))
	var b strings.Builder
	b.Grow(len(url) + 8)
	if host == "" {
		b.WriteString(p.scheme + ":")
	} else {
		writeReversed(&b, host)
		if p.port != 0 && p.port != defaultPort(p.scheme) {
			b.WriteString(":" + strconv.Itoa(p.port))
		}
		b.WriteByte(')')
	}
	b.WriteString(path)
	if query != "" {
		if path == "" {
			b.WriteByte('/')
		}
		b.WriteString("?" + query)
	}
	if b.Len() > MaxURL {
		return "", fmt.Errorf("%w: key of %d bytes", ErrURL, b.Len())
	}
	return b.String(), nil
}

// parts is a URL taken apart as leniently as the field's indexers do.
type parts struct {
	scheme, host, path, query string
	port                      int
}

func (p parts) web() bool { return p.scheme == "http" || p.scheme == "https" }

func split(url string) (parts, error) {
	rest := strings.Trim(url, " \t\n\r\v\f")
	rest = strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(rest)
	if rest == "" {
		return parts{}, fmt.Errorf("%w: empty", ErrURL)
	}
	if schemeLen(rest) == 0 {
		rest = "http://" + rest
	}
	rest = dropRepeatedScheme(rest)
	n := schemeLen(rest)
	p := parts{scheme: lower(rest[:n])}
	rest, _, _ = strings.Cut(rest[n+1:], "#")
	rest, p.query, _ = strings.Cut(rest, "?")
	authority := ""
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		i := strings.IndexByte(after, '/')
		if i < 0 {
			i = len(after)
		}
		authority, rest = after[:i], after[i:]
	}
	p.path = rest
	if err := p.authority(authority); err != nil {
		return parts{}, fmt.Errorf("%w in %.200q", err, url)
	}
	if p.host == "" && strings.HasPrefix(p.scheme, "http") && p.path != "" {
		host, path, _ := strings.Cut(strings.TrimLeft(p.path, "/"), "/")
		p.path = "/" + path
		if err := p.authority(host); err != nil {
			return parts{}, fmt.Errorf("%w in %.200q", err, url)
		}
	}
	return p, nil
}

// authority takes user, host and port apart; the user is dropped.
func (p *parts) authority(s string) error {
	s = strings.TrimRight(s, ":")
	s = s[strings.LastIndexByte(s, '@')+1:]
	var port string
	if _, in, ok := strings.Cut(s, "["); ok {
		var after string
		p.host, after, _ = strings.Cut(in, "]")
		_, port, _ = strings.Cut(after, ":")
	} else {
		p.host, port, _ = strings.Cut(s, ":")
	}
	if port == "" {
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("%w: port %.20q", ErrURL, port)
	}
	p.port = int(n)
	return nil
}

// schemeLen returns the length of a leading scheme without its colon, 0 if there is none.
func schemeLen(s string) int {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && (isDigit(c) || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return i
		default:
			return 0
		}
	}
	return 0
}

// dropRepeatedScheme turns http://https://host into https://host.
func dropRepeatedScheme(s string) string {
	for {
		rest, ok := strings.CutPrefix(s, "http://")
		if !ok {
			if rest, ok = strings.CutPrefix(s, "https://"); !ok {
				return s
			}
		}
		if !strings.HasPrefix(rest, "http://") && !strings.HasPrefix(rest, "https://") {
			return s
		}
		s = rest
	}
}

func defaultPort(scheme string) int {
	switch scheme {
	case "http":
		return 80
	case "https":
		return 443
	}
	return 0
}

// keyHost cleans a host: escapes undone, punycode, IP forms made dotted, www stripped.
func keyHost(host string) string {
	host = unescape(host)
	if !isASCII(host) {
		profile := idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))
		if a, err := profile.ToASCII(strings.ToValidUTF8(host, "")); err == nil {
			host = a
		}
	}
	host = strings.Trim(strings.ReplaceAll(host, "..", "."), ".")
	if ip, ok := dottedIP(host); ok {
		return ip
	}
	host = escape(lower(host))
	if rest, ok := strings.CutPrefix(host, "www"); ok {
		if rest = strings.TrimLeft(rest, "0123456789"); len(rest) > 1 && rest[0] == '.' {
			return rest[1:]
		}
	}
	return host
}

// dottedIP reads the old forms of an IPv4 address (one to four decimal or
// octal numbers) and writes the usual one.
func dottedIP(host string) (string, bool) {
	if host == "" || !isDigit(host[0]) {
		return "", false
	}
	numbers := strings.Split(host, ".")
	if len(numbers) > 4 {
		return "", false
	}
	var ip uint64
	for i, s := range numbers {
		base := 10
		if len(s) > 1 && s[0] == '0' && len(numbers) > 1 {
			base = 8
		}
		n, err := strconv.ParseUint(s, base, 64)
		if err != nil || strings.TrimLeft(s, "0123456789") != "" {
			return "", false
		}
		if len(numbers) == 1 {
			ip = n & 0xffffffff
			break
		}
		last := i == len(numbers)-1
		switch room := uint(4 - i); {
		case !last && n > 255, last && n >= 1<<(8*room):
			return "", false
		case last:
			ip = ip<<(8*room) | n
		default:
			ip = ip<<8 | n
		}
	}
	return fmt.Sprintf("%d.%d.%d.%d", ip>>24&255, ip>>16&255, ip>>8&255, ip&255), true
}

// writeReversed writes www.example.org as org,example,www.
func writeReversed(b *strings.Builder, host string) {
	for {
		dot := strings.LastIndexByte(host, '.')
		b.WriteString(host[dot+1:])
		if dot < 0 {
			return
		}
		b.WriteByte(',')
		host = host[:dot]
	}
}

// cleanPath resolves . and .. and drops empty segments, but keeps a last slash.
func cleanPath(path string) string {
	if path == "" {
		return "/"
	}
	var kept []string
	for _, segment := range strings.Split(path, "/")[1:] {
		switch {
		case segment == ".":
		case segment == ".." && len(kept) > 0:
			kept = kept[:len(kept)-1]
		default:
			kept = append(kept, segment)
		}
	}
	if len(kept) == 0 {
		return "/"
	}
	last := kept[len(kept)-1]
	dirs := slices.DeleteFunc(kept[:len(kept)-1], func(s string) bool { return s == "" })
	if len(dirs) == 0 {
		return "/" + last
	}
	return "/" + strings.Join(dirs, "/") + "/" + last
}

// sortQuery orders parameters by name and value; a name without = comes first.
func sortQuery(query string) string {
	if len(query) <= 1 || !strings.Contains(query, "&") {
		return query
	}
	params := strings.Split(query, "&")
	slices.SortStableFunc(params, func(a, b string) int {
		nameA, valueA, hasA := strings.Cut(a, "=")
		nameB, valueB, hasB := strings.Cut(b, "=")
		if c := strings.Compare(nameA, nameB); c != 0 {
			return c
		}
		if hasA != hasB {
			if hasB {
				return -1
			}
			return 1
		}
		return strings.Compare(valueA, valueB)
	})
	return strings.Join(params, "&")
}
