// Package scope decides which URIs belong to a crawl, and what a site's robots.txt lets it have.
package scope

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/publicsuffix"

	"holdfast/cdx"
	"holdfast/harvest"
)

// maxChain is how many embeds and redirects in a row are followed within the scope.
const maxChain = 20

// Verdict is what a scope says to a URI.
type Verdict int

// Verdicts.
const (
	Accept Verdict = iota
	OutOfScope
	TooManyHops
	TooManyEmbeds
)

// Status is the code that crawl.log has for a verdict, 0 for Accept.
func (v Verdict) Status() int {
	switch v {
	case OutOfScope:
		return -5000
	case TooManyHops:
		return -4001
	case TooManyEmbeds:
		return -4002
	}
	return 0
}

// Scope is the rules of a crawl, worked out from its settings and seeds. It is safe for concurrent use.
type Scope struct {
	mode     harvest.ScopeMode
	mu       sync.RWMutex
	hosts    map[string]struct{} // authorities, or registered domains
	paths    []string            // path: URL prefixes
	prefixes []surtPrefix
	hops     int
	embeds   int
}

type surtPrefix struct {
	prefix string
	accept bool
}

// New makes the scope of settings and seeds, which are URLs in normal form.
func New(s harvest.Settings, seeds []string) (*Scope, error) {
	sc := &Scope{mode: s.Scope, hosts: map[string]struct{}{}, hops: s.MaxHops, embeds: s.MaxTransHops}
	for _, p := range s.SURTPrefixes {
		prefix := strings.ToLower(p[1:])
		if !strings.Contains(prefix, "(") { // a URL is as good
			surt, err := cdx.SURT(p[1:])
			if err != nil {
				return nil, fmt.Errorf("surt_prefixes: %q: %w", p, err)
			}
			prefix = surt
		}
		prefix = strings.Replace(prefix, "https://", "http://", 1)
		sc.prefixes = append(sc.prefixes, surtPrefix{prefix, p[0] == '+'})
	}
	for _, seed := range seeds {
		sc.Admit(seed)
	}
	return sc, nil
}

// Admit widens the scope by another seed, a URL in normal form, and reports whether that changed it.
func (s *Scope) Admit(seed string) bool {
	authority, path := split(seed)
	s.mu.Lock()
	defer s.mu.Unlock()
	key := authority
	switch s.mode {
	case harvest.ScopeAny:
		return false
	case harvest.ScopePath:
		path, _, _ = strings.Cut(path, "?")
		key = authority + path[:strings.LastIndexByte(path, '/')+1]
		if slices.Contains(s.paths, key) {
			return false
		}
		s.paths = append(s.paths, key)
		return true
	case harvest.ScopeDomain:
		key = domain(authority)
	}
	_, known := s.hosts[key]
	s.hosts[key] = struct{}{}
	return !known
}

// Decide tells whether a URI found by that path of hops belongs to the crawl. The path
// ends with the hop that led to the URI.
func (s *Scope) Decide(url, path string) Verdict {
	links, tail := hops(path)
	if links > s.hops {
		return TooManyHops
	}
	if tail > maxChain {
		return TooManyEmbeds
	}
	if path == "" || path[len(path)-1] == 'P' {
		return Accept
	}
	if len(s.prefixes) > 0 {
		surt, err := cdx.SURT(url)
		if err != nil {
			return OutOfScope
		}
		if v, ok := s.prefixed(surt); ok {
			return v
		}
	}
	if s.within(url) {
		return Accept
	}
	switch {
	case tail == 0:
		return OutOfScope
	case tail > s.embeds:
		return TooManyEmbeds
	}
	return Accept
}

// prefixed is the word of the last prefix that matches.
func (s *Scope) prefixed(surt string) (Verdict, bool) {
	for i := len(s.prefixes) - 1; i >= 0; i-- {
		if strings.HasPrefix(surt, s.prefixes[i].prefix) {
			if s.prefixes[i].accept {
				return Accept, true
			}
			return OutOfScope, true
		}
	}
	return Accept, false
}

func (s *Scope) within(url string) bool {
	if s.mode == harvest.ScopeAny {
		return true
	}
	authority, path := split(url)
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch s.mode {
	case harvest.ScopeDomain:
		_, ok := s.hosts[domain(authority)]
		return ok
	case harvest.ScopePath:
		for _, p := range s.paths {
			if strings.HasPrefix(authority+path, p) {
				return true
			}
		}
		return false
	}
	_, ok := s.hosts[authority]
	return ok
}

// hops counts the links of a path, and the embeds and redirects at its end.
func hops(path string) (links, tail int) {
	for i := range len(path) {
		switch path[i] {
		case 'P':
		case 'L', 'S', 'M':
			links++
			tail = 0
		default:
			tail++
		}
	}
	return links, tail
}

// split takes a URL in normal form into host (and port) and the rest from the first slash.
func split(url string) (authority, path string) {
	_, rest, _ := strings.Cut(url, "://")
	i := strings.IndexAny(rest, "/?#")
	if i < 0 {
		return rest, "/"
	}
	authority = rest[:i]
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		authority = authority[at+1:]
	}
	return authority, rest[i:]
}

// domain is the registered domain of a host; of an address, or where there is none, the host itself.
func domain(authority string) string {
	host := authority
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host = host[:i]
	}
	host = strings.TrimSuffix(host, ".")
	if host == "" || host[0] == '[' || host[len(host)-1] >= '0' && host[len(host)-1] <= '9' {
		return host
	}
	d, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host
	}
	return d
}
