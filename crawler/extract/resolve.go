package extract

import (
	"bytes"
	"strconv"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// maxURL is the longest reference that is followed, in bytes.
const maxURL = 4096

// base is the URL that references are relative to, taken apart for the common case.
type base struct {
	url    string // absolute, normal form
	origin string // scheme://host[:port]
	path   string // the path, without query
	dir    string // the path up to and with its last slash
}

// set takes url, which must be in normal form, as the base.
func (b *base) set(url string) bool {
	if url == b.url {
		return true
	}
	i := strings.Index(url, "://")
	if i < 0 {
		return false
	}
	slash := strings.IndexByte(url[i+3:], '/')
	if slash < 0 {
		return false
	}
	slash += i + 3
	end := len(url)
	if j := strings.IndexAny(url[slash:], "?#"); j >= 0 {
		end = slash + j
	}
	b.url, b.origin, b.path = url, url[:slash], url[slash:end]
	b.dir = b.path[:strings.LastIndexByte(b.path, '/')+1]
	return true
}

// resolve makes ref absolute by the WHATWG rules, without its fragment. It returns false if the result is not
// http(s), not a URL, or has an impossible host. References of plain characters, which are nearly all, are joined
// without the full parser.
func (b *base) resolve(ref []byte) (string, bool) {
	if url, ok := b.join(ref); ok {
		return url, len(url) <= maxURL
	}
	u, err := whatwg.ParseRef(b.url, string(ref))
	if err != nil || (u.Scheme() != "http" && u.Scheme() != "https") || !plainHost(u.Hostname()) {
		return "", false
	}
	url := u.Href(true)
	return url, len(url) <= maxURL
}

// problem says why resolve makes no URL of a reference; "" where it is one of another scheme.
func (b *base) problem(ref []byte) string {
	if len(ref) > maxURL {
		if !isHTTP(ref) {
			return "" // data, or a script
		}
		return "longer than " + strconv.Itoa(maxURL) + " bytes"
	}
	u, err := whatwg.ParseRef(b.url, string(ref))
	switch {
	case err != nil:
		why, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "Error: "), " Url:") // it stands beside it
		return "no URL: " + why
	case u.Scheme() != "http" && u.Scheme() != "https":
		return ""
	case !plainHost(u.Hostname()):
		return "no host that can be: " + u.Hostname()
	}
	return "longer than " + strconv.Itoa(maxURL) + " bytes"
}

// plainHost reports whether a host, in normal form, is an address or a name that the DNS can have. The URL rules
// allow many other characters.
func plainHost(host string) bool {
	for i := range len(host) {
		if c := host[i]; !isNameByte(c) && c != '.' && (c != ':' && c != '[' && c != ']' || host[0] != '[') {
			return false
		}
	}
	return host != ""
}

// join is resolve for references of plain characters; false means: ask the full parser.
func (b *base) join(ref []byte) (string, bool) {
	if i := bytes.IndexByte(ref, '#'); i >= 0 {
		ref = ref[:i]
		if len(ref) == 0 {
			return b.url, false
		}
	}
	query := -1
	for i, c := range ref {
		switch class[c] {
		case plain:
		case colon:
			if query < 0 && bytes.IndexByte(ref[:i], '/') < 0 {
				return joinAbsolute(ref) // a scheme
			}
		case mark:
			if query < 0 {
				query = i
			}
		case percent:
			if i+2 < len(ref) && ref[i+1] == '2' && ref[i+2]|0x20 == 'e' {
				return "", false
			}
		default:
			return "", false
		}
	}
	path, tail := ref, []byte(nil)
	if query >= 0 {
		path, tail = ref[:query], ref[query:]
	}
	switch {
	case len(path) == 0 && query >= 0:
		return b.origin + b.path + string(tail), true
	case len(path) == 0:
		return "", false
	case path[0] == '/':
		if len(path) > 1 && path[1] == '/' || dotted(path) {
			return "", false
		}
		return b.origin + string(ref), true
	}
	dir := b.dir
	for len(path) > 0 && path[0] == '.' {
		switch {
		case bytes.HasPrefix(path, []byte("./")):
			path, ref = path[2:], ref[2:]
		case bytes.HasPrefix(path, []byte("../")):
			path, ref = path[3:], ref[3:]
			if len(dir) > 1 {
				dir = dir[:strings.LastIndexByte(dir[:len(dir)-1], '/')+1]
			}
		default:
			return "", false
		}
	}
	if dotted(path) {
		return "", false
	}
	return b.origin + dir + string(ref), true
}

// joinAbsolute accepts an http(s) URL that is already in normal form.
func joinAbsolute(ref []byte) (string, bool) {
	rest, ok := bytes.CutPrefix(ref, []byte("http://"))
	if !ok {
		if rest, ok = bytes.CutPrefix(ref, []byte("https://")); !ok {
			return "", false
		}
	}
	slash := bytes.IndexByte(rest, '/')
	if slash <= 0 {
		return "", false
	}
	letter := false
	for i, c := range rest[:slash] {
		switch {
		case c >= 'a' && c <= 'z':
			letter = true
		case c >= '0' && c <= '9', c == '-':
		case c == '.' && i > 0 && rest[i-1] != '.':
		default:
			return "", false // ports, user names, capitals, international names
		}
	}
	path := rest[slash:]
	if !letter || bytes.Contains(rest[:slash], []byte("xn--")) || endsInNumber(rest[:slash]) {
		return "", false // addresses have several spellings
	}
	if i := bytes.IndexByte(path, '?'); i >= 0 {
		for _, c := range path[i:] {
			if k := class[c]; k == other {
				return "", false
			}
		}
		path = path[:i]
	}
	for i, c := range path {
		if k := class[c]; k == other || k == percent && i+2 < len(path) && path[i+1] == '2' {
			return "", false
		}
	}
	if dotted(path) {
		return "", false
	}
	return string(ref), true
}

// endsInNumber tells whether a host's last label is a number, so that the host is an address in some spelling.
func endsInNumber(host []byte) bool {
	host = bytes.TrimSuffix(host, []byte("."))
	last := host[bytes.LastIndexByte(host, '.')+1:]
	return len(last) == 0 || last[0] >= '0' && last[0] <= '9'
}

// dotted tells whether a path has a segment of one or two dots.
func dotted(path []byte) bool {
	for i := 0; ; {
		j := bytes.IndexByte(path[i:], '.')
		if j < 0 {
			return false
		}
		i += j
		if i == 0 || path[i-1] == '/' {
			end := i + 1
			if end < len(path) && path[end] == '.' {
				end++
			}
			if end == len(path) || path[end] == '/' {
				return true
			}
		}
		i++
	}
}

// Classes of characters in a reference.
const (
	other = iota
	plain
	colon
	mark
	percent
)

// class marks plain characters, which need no escaping in paths and queries.
var class = func() (t [256]byte) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			strings.IndexByte("-._~!$&()*+,;=@/", byte(c)) >= 0:
			t[c] = plain
		case c == ':':
			t[c] = colon
		case c == '?':
			t[c] = mark
		case c == '%':
			t[c] = percent
		}
	}
	return t
}()
