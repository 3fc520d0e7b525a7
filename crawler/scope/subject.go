package scope

import (
	"net/netip"
	"strings"
	"time"

	"holdfast/cdx"
	"holdfast/harvest"
	"holdfast/harvest/domain"
)

// Subject is a URI to be judged: what is known when it is found and, after a fetch, the answer. It caches what it
// derives from these facts, so that using one Subject for one URI after the other costs no memory. It is for one
// goroutine at a time.
type Subject struct {
	URL    string    // in normal form
	Path   string    // the hops from the seed, the last of which led here; empty: a seed
	Via    string    // the URI it was found at
	Source string    // the seed it comes from
	Queue  string    // the queue it is in; empty: that which it would be put in by its settings
	Seed   bool      // it counts as a seed though the path is not empty
	Now    time.Time // zero: no sheet of a time holds, and no date is far away

	// Settings are those in effect; nil: the scope finds them.
	Settings *harvest.Settings

	// Unresolved: its host's address was not looked up yet, but will be before it is fetched, and it is judged again
	// then.
	Unresolved bool
	IP         netip.Addr // of its host, where it is known; one that is written in the URI always is

	Fetched     bool // the head of an answer has come: what follows is known
	Status      int
	ContentType string
	Length      int64 // as the server declared it, -1: not declared

	Received  bool // the rest has, too
	Size      int64
	Digest    string
	Identical bool // a revisit by identical digest

	// Earlier returns the validators of the latest capture; nil if there is none.
	Earlier func() (etag, lastModified string)
	Header  func(name string) string // may be nil

	derived
	trap      string // the trap that the heuristics caught
	trapPages int    // and how many pages showed it
}

// derived caches what was made of a subject's URIs and path, until they change.
type derived struct {
	split, splitVia parts
	counted         string
	hops            hopCount
	surt, surtVia   surtForm
	domainOf        string
	domain          string // of the host domainOf
}

// Unchanged reports whether, by its validators, the answer is the same as the last capture.
func (u *Subject) Unchanged() bool {
	if u.Status != 200 || u.Earlier == nil || u.Header == nil {
		return false
	}
	etag, modified := u.Earlier()
	if now := u.Header("ETag"); now != "" || etag != "" {
		return now == etag
	}
	return modified != "" && u.Header("Last-Modified") == modified
}

// Host is the host of the URI, without port.
func (u *Subject) Host() string { return u.parts().host }

// Authority is the host and, where one is written, the port.
func (u *Subject) Authority() string { return u.parts().authority }

// Domain returns the registered domain of the host; for an address, or if there is none, the host itself.
func (u *Subject) Domain() string {
	if host := u.parts().host; u.domainOf != host || host == "" {
		u.domainOf, u.domain = host, domain.Of(host)
	}
	return u.domain
}

// address is where the URI is fetched from, as far as that is known.
func (u *Subject) address() netip.Addr {
	if u.IP.IsValid() {
		return u.IP
	}
	host := u.parts().host
	if n := len(host); n == 0 || host[n-1] != ']' && (host[n-1] < '0' || host[n-1] > '9') {
		return netip.Addr{}
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return addr
}

// QueueByDomain is the value of queue_by for a queue of each registered domain.
const QueueByDomain = "domain"

// QueueName names the queue that a URI is put in by its settings.
func QueueName(s *harvest.Settings, authority string, domain func() string) string {
	switch {
	case s.QueueName != "":
		return s.QueueName
	case s.QueueBy == QueueByDomain:
		return domain()
	}
	return authority
}

// queue is the queue that the URI is in, or would be put in.
func (u *Subject) queue() string {
	switch {
	case u.Queue != "":
		return u.Queue
	case u.Settings == nil:
		return u.Authority()
	}
	return QueueName(u.Settings, u.Authority(), u.Domain)
}

// SURT is the URI in Heritrix's form for scopes, as http://(org,example,)/path.
func (u *Subject) SURT() string { return string(u.surt.of(u.URL, u.parts())) }

func (u *Subject) parts() *parts {
	u.split.read(u.URL)
	return &u.split
}

func (u *Subject) viaParts() *parts {
	u.splitVia.read(u.Via)
	return &u.splitVia
}

func (u *Subject) surtBytes() []byte { return u.surt.of(u.URL, u.parts()) }

func (u *Subject) viaSURT() []byte { return u.surtVia.of(u.Via, u.viaParts()) }

func (u *Subject) isSeed() bool { return u.Seed || u.Path == "" }

func (u *Subject) isPrerequisite() bool { return strings.HasSuffix(u.Path, "P") }

func (u *Subject) hop() hopCount {
	if u.counted != u.Path {
		u.counted, u.hops = u.Path, countHops(u.Path)
	}
	return u.hops
}

// hopCount sums up a path of hops.
type hopCount struct {
	links int // navigation: L, S and M
	all   int // hops that are not prerequisites
	chain int // embeds and redirects at the end
	trans int // of these, not redirects
	guess int // of these, speculative
}

func countHops(path string) (h hopCount) {
	for i := range len(path) {
		switch path[i] {
		case 'P':
			continue
		case 'L', 'S', 'M':
			h.links++
			h.chain, h.trans, h.guess = 0, 0, 0
		case 'R':
			h.chain++
		case 'X':
			h.chain++
			h.trans++
			h.guess++
		default:
			h.chain++
			h.trans++
		}
		h.all++
	}
	return h
}

// parts are those of a URL in normal form; they share its memory.
type parts struct {
	of        string
	scheme    string
	authority string // host and port
	host      string
	port      string
	rest      string // path and query, without fragment
	path      string
	query     string
	user      bool
}

func (p *parts) read(url string) {
	if p.of == url {
		return
	}
	*p = parts{of: url}
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		p.scheme, p.rest, _ = strings.Cut(url, ":")
		p.path = p.rest
		return
	}
	p.scheme = scheme
	if i := strings.IndexByte(rest, '#'); i >= 0 {
		rest = rest[:i]
	}
	p.rest = "/"
	for i := range len(rest) {
		if rest[i] == '/' || rest[i] == '?' {
			rest, p.rest = rest[:i], rest[i:]
			break
		}
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		p.user, rest = true, rest[at+1:]
	}
	p.authority, p.host = rest, rest
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, ']') {
		p.host, p.port = rest[:i], rest[i+1:]
	}
	if host, dotted := strings.CutSuffix(p.host, "."); dotted && host != "" { // the same host
		if p.host = host; p.port != "" {
			host += ":" + p.port
		}
		p.authority = host
	}
	p.path, p.query, _ = strings.Cut(p.rest, "?")
}

// surtForm keeps a URL's SURT form.
type surtForm struct {
	url  string
	form []byte
}

func (s *surtForm) of(url string, p *parts) []byte {
	if s.url == url {
		return s.form
	}
	s.url, s.form = url, appendSURT(s.form[:0], url, p)
	return s.form
}

// appendSURT appends what cdx.SURT answers for a URL in normal form, without parsing it again.
func appendSURT(b []byte, url string, p *parts) []byte {
	host := p.host
	isAddress := host != "" && (host[0] == '[' || host[len(host)-1] >= '0' && host[len(host)-1] <= '9')
	if p.user || host == "" || p.scheme != "http" && p.scheme != "https" || isAddress || !isASCII(url) {
		form, err := cdx.SURT(url)
		if err != nil {
			form = strings.ToLower(url)
		}
		return append(b, form...)
	}
	b = append(b, "http://("...)
	for rest := strings.Trim(host, "."); rest != ""; {
		dot := strings.LastIndexByte(rest, '.')
		b = append(append(b, rest[dot+1:]...), ',')
		rest = rest[:max(dot, 0)]
	}
	if p.port != "" {
		b = append(append(b, ':'), p.port...)
	}
	b = append(append(b, ')'), p.rest...)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return b
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
