package scope

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"holdfast/cdx"
	"holdfast/harvest"
)

// blockList holds the blocks that an operator set while the crawl runs. It is read without a lock.
type blockList struct {
	mu  sync.Mutex
	now atomic.Pointer[blocks]
}

type blocks struct {
	hosts    hostSet // with or without port
	domains  hostSet
	uris     hostSet
	prefixes map[string]struct{}
	set      prefixSet
	order    []string
}

// Block keeps URIs from being fetched from now on, including prerequisites: a host (www.example.org, with or without
// a port), a domain and everything below it (*.example.org), a SURT prefix (http://(org,example,)/a) or one URI.
func (s *Scope) Block(what string) error {
	return s.blocks.change(what, func(m map[string]struct{}, key string) { m[key] = struct{}{} })
}

// Unblock removes a block. It is no error if there is none.
func (s *Scope) Unblock(what string) error {
	return s.blocks.change(what, func(m map[string]struct{}, key string) { delete(m, key) })
}

// Blocked lists the blocks, sorted, each as Block takes it.
func (s *Scope) Blocked() []string {
	b := s.blocks.now.Load()
	if b == nil {
		return nil
	}
	var out []string
	for d := range b.domains {
		out = append(out, "*."+d)
	}
	for _, m := range []map[string]struct{}{b.hosts, b.uris, b.prefixes} {
		out = slices.AppendSeq(out, maps.Keys(m))
	}
	slices.Sort(out)
	return out
}

func (l *blockList) change(what string, do func(m map[string]struct{}, key string)) error {
	what = strings.TrimSpace(what)
	l.mu.Lock()
	defer l.mu.Unlock()
	next := &blocks{hosts: hostSet{}, domains: hostSet{}, uris: hostSet{}, prefixes: map[string]struct{}{}}
	if b := l.now.Load(); b != nil {
		next = &blocks{hosts: maps.Clone(b.hosts), domains: maps.Clone(b.domains), uris: maps.Clone(b.uris),
			prefixes: maps.Clone(b.prefixes)}
	}
	switch {
	case harvest.IsSURT(what):
		prefix, err := harvest.SURTPrefix(what)
		if err != nil {
			return fmt.Errorf("%w: block: %w", harvest.ErrInvalid, err)
		}
		do(next.prefixes, prefix)
	case strings.Contains(what, "://"):
		url, err := cdx.Normalize(what)
		if err != nil {
			return unblockable(what)
		}
		do(next.uris, url)
	default:
		host, err := hostOf(what)
		if err != nil || strings.ContainsAny(what, "/?#") {
			return unblockable(what)
		}
		if strings.HasPrefix(what, "*.") {
			do(next.domains, host)
		} else {
			do(next.hosts, host)
		}
	}
	next.order = slices.Sorted(maps.Keys(next.prefixes))
	next.set = newPrefixSet(next.order)
	l.now.Store(next)
	return nil
}

func unblockable(what string) error {
	return fmt.Errorf("%w: block: given %.200q, allowed: a host, *.domain, a SURT prefix or a URL", harvest.ErrInvalid,
		what)
}

// find returns what of the list a URI meets, or "".
func (l *blockList) find(u *Subject) string {
	b := l.now.Load()
	if b == nil {
		return ""
	}
	p := u.parts()
	host := p.host
	if name, ok := strings.CutPrefix(u.URL, "dns:"); ok {
		host = name
	}
	switch {
	case b.hosts.onHost(host):
		return host
	case p.authority != host && b.hosts.onHost(p.authority):
		return p.authority
	}
	if len(b.domains) > 0 {
		if d, ok := b.domains.onDomain(host); ok {
			return "*." + d
		}
	}
	if b.uris.onHost(u.URL) {
		return u.URL
	}
	if len(b.order) > 0 {
		if i := b.set.last(u.surtBytes()); i >= 0 {
			return b.order[i]
		}
	}
	return ""
}
