package scope

import (
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// What the heuristics catch, as the annotation trap:… says it.
const (
	trapCalendar    = "trap:calendar"
	trapSession     = "trap:sessionId"
	trapDeeper      = "trap:deeperPath"
	trapDuplicate   = "trap:softDuplicate"
	trapVariants    = "trap:queryVariants"
	trapPermutation = "trap:queryPermutation"
	trapRepeated    = "trap:repeatedQuery"
)

func trapHelp(what string) string {
	return map[string]string{
		trapCalendar:    "a calendar that goes on without end",
		trapSession:     "known but for its session id",
		trapDeeper:      "a path that grows, or comes back to the same folder, without end",
		trapDuplicate:   "nearly all URIs of this pattern brought the same content",
		trapVariants:    "a page that leads to itself with ever other queries",
		trapPermutation: "known but for the order of its query",
		trapRepeated:    "the same parameter again and again",
	}[what]
}

// Bounds on what is remembered, in all about 30 MB. What is forgotten is only caught later.
const (
	maxTrapHosts    = 20_000
	maxTrapPatterns = 128     // of a host
	maxTrapFolders  = 32      // of a host
	maxEquivalents  = 2048    // of a host
	maxTrapEntries  = 300_000 // of all hosts
)

// How much has to be seen before something counts as a trap.
const (
	leastSame    = 50   // documents with content that their pattern had before
	leastVariant = 1000 // self-made variants of nearly the same size in a row
	leastFuture  = 10   // pages dated more than a year ahead
	leastPast    = 40   // pages of nearly the same size in a row, dated more than 30 years back
	leastEqual   = 5    // pairs that were the same but for session id or order
	leastDepths  = 6    // depths at which the same content was
)

// Traps notices crawler traps by what was fetched. It is safe for concurrent use; what it knows is only in memory.
type Traps struct {
	armed   atomic.Bool // there may be something to catch
	mu      sync.RWMutex
	hosts   map[string]*hostTraps
	entries int
}

type hostTraps struct {
	patterns    map[uint64]*trapPattern
	folders     map[uint64]*trapFolder // by first segment
	equivalents map[uint64]equivalent
	sessions    pairs // that differ by session id alone
	permuted    pairs // or by the order of their queries
}

// pairs counts pairs of URIs, and those of them that led to nearly as many bytes.
type pairs struct{ seen, equal int }

// enough tells whether such URIs are the same.
func (p pairs) enough() bool { return p.equal >= leastEqual && p.equal*10 >= p.seen*9 }

// trapPattern sums up the URIs of one form: digits and values left out.
type trapPattern struct {
	seen, same  uint32
	recent      [8]uint64 // digests
	at          uint8
	size        int64
	near        uint32 // documents in a row of nearly the same size
	self        uint32 // of these, found at another of the pattern
	future, old uint32
	caught      string
	later       bool // pages more than a year ahead are caught
	earlier     bool // pages more than 30 years back are caught
}

// trapFolder finds one content at many depths below a first segment.
type trapFolder struct {
	digest     uint64 // of the majority
	seen, same uint32
	depths     uint64
}

// equivalent is one of several URIs that lead to the same.
type equivalent struct {
	variant uint64
	size    int64
}

// NewTraps returns heuristics that know nothing yet.
func NewTraps() *Traps { return &Traps{hosts: map[string]*hostTraps{}} }

// Caught returns the annotation for the trap that a URI is part of, or "".
func (t *Traps) Caught(u *Subject) string {
	p := u.parts()
	if what := staticTrap(u, p); what != "" {
		return what
	}
	if !t.armed.Load() {
		return ""
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	h := t.hosts[p.authority]
	if h == nil {
		return ""
	}
	if pattern := h.patterns[patternHash(p)]; pattern != nil && (pattern.caught != "" || pattern.later || pattern.earlier) {
		if pattern.caught != "" {
			return pattern.caught
		}
		if d := dateOf(p); pattern.later && d.after(u.Now, 1) || pattern.earlier && d.before(u.Now, 30) {
			return trapCalendar
		}
	}
	if folder := h.folders[firstSegment(p.path)]; folder.deep(segments(p.path)) {
		return trapDeeper
	}
	if h.sessions.enough() {
		if stripped, token := sessionHash(p); token != 0 && h.differs(stripped, token) {
			return trapSession
		}
	}
	if h.permuted.enough() {
		if set, order := queryHash(p); order != 0 && h.differs(set, order) {
			return trapPermutation
		}
	}
	return ""
}

func (h *hostTraps) differs(key, variant uint64) bool {
	known, ok := h.equivalents[key]
	return ok && known.variant != variant
}

func (f *trapFolder) deep(depth int) bool {
	return f != nil && f.same >= 8 && bits.OnesCount64(f.depths) >= leastDepths && uint64(f.same)*10 >= uint64(f.seen)*8 &&
		depth > bits.TrailingZeros64(f.depths)+2 // more than two below where it was first
}

// staticTrap is what can be told from the URI alone.
func staticTrap(u *Subject, p *parts) string {
	switch {
	case returning(p.path):
		return trapDeeper
	case p.query != "" && repeatedParameter(p.query):
		return trapRepeated
	case dateOf(p).after(u.Now, 10) && aboutDates(p.rest):
		return trapCalendar
	}
	return ""
}

// Observe takes in what a fetch brought: of pages, the content's digest and size.
func (t *Traps) Observe(u *Subject) {
	if !u.Fetched || u.Status < 200 || u.Status > 299 || u.isPrerequisite() || !isPage(u.ContentType) {
		return
	}
	p := u.parts()
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.host(p.authority)
	digest := hashText(hashSeed, u.Digest)
	if u.Digest == "" {
		digest = 0
	}
	t.observePattern(h, u, p, digest)
	t.observeFolder(h, p, digest)
	if stripped, token := sessionHash(p); token != 0 {
		t.observeEquivalent(h, &h.sessions, stripped, token, u.Size)
	}
	if set, order := queryHash(p); order != 0 {
		t.observeEquivalent(h, &h.permuted, set, order, u.Size)
	}
	if h.sessions.enough() || h.permuted.enough() {
		t.armed.Store(true)
	}
}

func isPage(contentType string) bool {
	switch mediaType(contentType) {
	case "text/html", "application/xhtml+xml", "unknown":
		return true
	}
	return false
}

func (t *Traps) observePattern(h *hostTraps, u *Subject, p *parts, digest uint64) {
	key := patternHash(p)
	pattern := h.patterns[key]
	if pattern == nil {
		if !t.room(len(h.patterns), maxTrapPatterns) {
			return
		}
		pattern = &trapPattern{}
		h.patterns[key] = pattern
		t.entries++
	}
	pattern.observe(u, p, digest, key)
	if pattern.caught != "" || pattern.later || pattern.earlier {
		t.armed.Store(true)
	}
}

func (n *trapPattern) observe(u *Subject, p *parts, digest, key uint64) {
	n.seen++
	if digest != 0 {
		if containsHash(&n.recent, digest) {
			n.same++
		} else {
			n.recent[n.at%8] = digest
			n.at++
		}
	}
	if nearly(n.size, u.Size) {
		n.near++
	} else {
		n.near, n.self, n.old = 0, 0, 0
	}
	n.size = u.Size
	if via := u.viaParts(); via.authority == p.authority && p.query != "" && patternHash(via) == key {
		n.self++
	}
	if d := dateOf(p); d.year > 0 && !u.Now.IsZero() {
		switch {
		case d.after(u.Now, 1):
			n.future++
		case d.before(u.Now, 30):
			n.old++
		}
	}
	switch {
	case n.same >= leastSame && uint64(n.same)*10 >= uint64(n.seen)*9:
		n.caught = trapDuplicate
	case n.near >= leastVariant && uint64(n.self)*10 >= uint64(n.near)*9:
		n.caught = trapVariants
	}
	n.later = n.later || n.future >= leastFuture
	n.earlier = n.earlier || n.old >= leastPast
	if n.seen >= 4096 {
		n.seen, n.same = n.seen/2, n.same/2
	}
}

func containsHash(list *[8]uint64, h uint64) bool {
	for _, have := range list {
		if have == h {
			return true
		}
	}
	return false
}

// nearly tells whether two sizes are as those of one page with another date or number in it.
func nearly(a, b int64) bool {
	d := a - b
	if d < 0 {
		d = -d
	}
	return d <= max(64, a/100)
}

func (t *Traps) observeFolder(h *hostTraps, p *parts, digest uint64) {
	depth := segments(p.path)
	if depth < 3 || digest == 0 {
		return
	}
	key := firstSegment(p.path)
	f := h.folders[key]
	if f == nil {
		if !t.room(len(h.folders), maxTrapFolders) {
			return
		}
		f = &trapFolder{}
		h.folders[key] = f
		t.entries++
	}
	f.seen++
	switch {
	case f.digest == digest:
		f.same++
		f.depths |= 1 << min(depth, 63)
	case f.same <= 1:
		f.digest, f.same, f.depths = digest, 1, 1<<min(depth, 63)
	}
	if f.deep(64) {
		t.armed.Store(true)
	}
	if f.seen >= 4096 {
		f.seen, f.same = f.seen/2, f.same/2
	}
}

// observeEquivalent compares a URI with the first that should be the same.
func (t *Traps) observeEquivalent(h *hostTraps, p *pairs, key, variant uint64, size int64) {
	known, ok := h.equivalents[key]
	switch {
	case !ok && t.room(len(h.equivalents), maxEquivalents):
		h.equivalents[key] = equivalent{variant, size}
		t.entries++
	case ok && known.variant != variant:
		p.seen++
		if nearly(known.size, size) {
			p.equal++
		}
	}
}

// room tells whether a host may have another entry.
func (t *Traps) room(have, most int) bool { return have < most && t.entries < maxTrapEntries }

// host finds a host's entry, or makes one; where there are too many, others are forgotten.
func (t *Traps) host(authority string) *hostTraps {
	if h := t.hosts[authority]; h != nil {
		return h
	}
	for name, other := range t.hosts {
		if len(t.hosts) < maxTrapHosts && t.entries < maxTrapEntries {
			break
		}
		t.entries -= len(other.patterns) + len(other.folders) + len(other.equivalents)
		delete(t.hosts, name)
	}
	h := &hostTraps{patterns: map[uint64]*trapPattern{}, folders: map[uint64]*trapFolder{}, equivalents: map[uint64]equivalent{}}
	t.hosts[strings.Clone(authority)] = h
	return h
}

// date is the year and month that a URI names.
type date struct{ year, month int }

func (d date) months() int { return d.year*12 + d.month }

// after tells whether the date lies more than so many years after now.
func (d date) after(now time.Time, years int) bool {
	return d.year > 0 && !now.IsZero() && d.months() > (now.Year()+years)*12+int(now.Month())
}

// before tells whether it lies more than so many years before now.
func (d date) before(now time.Time, years int) bool {
	return d.year > 0 && !now.IsZero() && d.months() < (now.Year()-years)*12+int(now.Month())
}
