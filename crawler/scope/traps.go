package scope

import (
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The heuristics, by the names in the annotation trap:….
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

// Limits on what is remembered, in all about 30 MB. Whatever is forgotten is only caught later.
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
	leastFuture  = 10   // pages dated more than a year ahead in a row, found at one another, that brought nothing new
	leastPast    = 40   // such pages dated more than 30 years back
	leastEqual   = 5    // pairs that were the same but for session id or order
	leastDepths  = 6    // depths at which the same content was
)

// suspectVariant is from how many variants on it is looked at whether they bring anything new.
const suspectVariant = leastVariant / 10

// Traps detects crawler traps by what was fetched. It is safe for concurrent use. Its knowledge is in memory; the
// caller keeps what Changes returns, and gives it back with Recall.
type Traps struct {
	armed   atomic.Bool // there may be something to catch
	mu      sync.RWMutex
	hosts   map[string]*hostTraps
	entries int
	ledger  ledger
}

type hostTraps struct {
	patterns    map[uint64]*trapPattern
	folders     map[uint64]*trapFolder // by first segment
	equivalents map[uint64]equivalent
	sessions    pairs // that differ by session id alone
	permuted    pairs // or by the order of their queries
	changed     bool  // since it was last kept
}

// size is how many entries it is.
func (h *hostTraps) size() int {
	n := len(h.patterns) + len(h.folders) + len(h.equivalents)
	for _, p := range h.patterns {
		if p.read != nil {
			n += filters
		}
	}
	return n
}

// pairs counts pairs of URIs, and those of them that led to the same text.
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
	looked      uint32 // of these, looked into
	idle        uint32 // of these, that brought nothing new
	future, old uint32 // dated pages in a row that brought nothing new
	read        *readBefore
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
	text    uint64
}

// NewTraps returns heuristics that know nothing yet.
func NewTraps() *Traps { return &Traps{hosts: map[string]*hostTraps{}} }

// Caught returns the annotation for the trap that a URI is part of, or "", and how many pages showed it to be one.
func (t *Traps) Caught(u *Subject) (what string, pages int) {
	p := u.parts()
	if what := staticTrap(u, p); what != "" {
		return what, 0
	}
	if !t.armed.Load() {
		return "", 0
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	h := t.hosts[p.authority]
	if h == nil {
		return "", 0
	}
	if what, pages := h.patterns[patternHash(p)].catches(p, u.Now); what != "" {
		return what, pages
	}
	if folder := h.folders[firstSegment(p.path)]; folder.deep(segments(p.path)) {
		return trapDeeper, int(folder.same)
	}
	if h.sessions.enough() {
		if stripped, token := sessionHash(p); token != 0 && h.differs(stripped, token) {
			return trapSession, h.sessions.equal
		}
	}
	if h.permuted.enough() {
		if set, order := queryHash(p); order != 0 && h.differs(set, order) {
			return trapPermutation, h.permuted.equal
		}
	}
	return "", 0
}

// catches tells whether a URI of the pattern is part of a trap.
func (n *trapPattern) catches(p *parts, now time.Time) (what string, pages int) {
	switch {
	case n == nil:
		return "", 0
	case n.caught == trapVariants:
		return n.caught, leastVariant
	case n.caught != "":
		return n.caught, leastSame
	case !n.later && !n.earlier:
		return "", 0
	}
	d := dateOf(p)
	if n.later && d.after(now, 1) {
		return trapCalendar, leastFuture
	}
	if n.earlier && d.before(now, 30) {
		return trapCalendar, leastPast
	}
	return "", 0
}

func (h *hostTraps) differs(key, variant uint64) bool {
	known, ok := h.equivalents[key]
	return ok && known.variant != variant
}

func (f *trapFolder) deep(depth int) bool {
	return f != nil && f.same >= 8 && bits.OnesCount64(f.depths) >= leastDepths &&
		uint64(f.same)*10 >= uint64(f.seen)*8 &&
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

// Observe learns from the outcome of a fetch.
func (t *Traps) Observe(u *Subject, page Page) {
	if !u.Fetched || u.Status < 200 || u.Status > 299 || u.isPrerequisite() || !isPage(u.ContentType) {
		return
	}
	p := u.parts()
	seen := sighting{digest: hashText(hashSeed, u.Digest), key: patternHash(p), size: u.Size, date: dateOf(p),
		now: u.Now}
	if u.Digest == "" {
		seen.digest = 0
	}
	via := u.viaParts()
	seen.self = via.authority == p.authority && via.of != p.of && patternHash(via) == seen.key
	stripped, token := sessionHash(p)
	set, order := queryHash(p)
	suspect := t.suspects(p, &seen)
	if doc := page.text(suspect || token != 0 || order != 0); len(doc) > 0 {
		seen.passages, seen.suspect = passages(doc), suspect
		seen.idle = suspect && !page.leadsOn(p, seen.key)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.host(p.authority)
	h.changed = true
	t.observePattern(h, p, &seen)
	t.observeFolder(h, p, seen.digest)
	if token != 0 {
		t.observeEquivalent(h, &h.sessions, stripped, token, &seen)
	}
	if order != 0 {
		t.observeEquivalent(h, &h.permuted, set, order, &seen)
	}
	if h.sessions.enough() || h.permuted.enough() {
		t.armed.Store(true)
	}
}

// sighting describes a page that was fetched.
type sighting struct {
	digest, key uint64
	size        int64
	date        date
	now         time.Time
	self        bool // found at another page of its pattern
	passages    []uint64
	suspect     bool // it is to be told whether the page brought anything new
	idle        bool // it leads to nothing new but its like
}

func (s *sighting) ahead() bool { return s.date.after(s.now, 1) }

func (s *sighting) past() bool { return s.date.before(s.now, 30) }

// suspects tells whether it has to be known if the page brings anything new.
func (t *Traps) suspects(p *parts, seen *sighting) bool {
	if !seen.self {
		return false
	}
	if seen.ahead() || seen.past() {
		return true
	}
	if p.query == "" {
		return false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	h := t.hosts[p.authority]
	if h == nil {
		return false
	}
	pattern := h.patterns[seen.key]
	return pattern != nil && pattern.near >= suspectVariant
}

func (page Page) text(wanted bool) []byte {
	if !wanted || page.Text == nil {
		return nil
	}
	return page.Text()
}

// leadsOn tells whether a page led to something new other than pages of its own pattern.
func (page Page) leadsOn(p *parts, pattern uint64) bool {
	if page.Found == nil {
		return true
	}
	var q parts
	for url, embedded := range page.Found {
		if q.read(url); embedded || q.authority != p.authority || patternHash(&q) != pattern {
			return true
		}
	}
	return false
}

func isPage(contentType string) bool {
	switch mediaType(contentType) {
	case "text/html", "application/xhtml+xml", "unknown":
		return true
	}
	return false
}

func (t *Traps) observePattern(h *hostTraps, p *parts, seen *sighting) {
	pattern := h.patterns[seen.key]
	if pattern == nil {
		if !t.room(len(h.patterns), maxTrapPatterns) {
			return
		}
		pattern = &trapPattern{}
		h.patterns[seen.key] = pattern
		t.entries++
	}
	if seen.suspect && pattern.read == nil && t.entries+filters <= maxTrapEntries {
		pattern.read = &readBefore{}
		t.entries += filters
	}
	pattern.observe(p, seen)
	if pattern.caught != "" || pattern.later || pattern.earlier {
		t.armed.Store(true)
	}
}

func (n *trapPattern) observe(p *parts, seen *sighting) {
	n.seen++
	if seen.digest != 0 {
		if containsHash(&n.recent, seen.digest) {
			n.same++
		} else {
			n.recent[n.at%8] = seen.digest
			n.at++
		}
	}
	idle := seen.suspect && n.read != nil && !n.read.takeIn(seen.passages) && seen.idle
	n.row(p, seen, idle)
	switch {
	case !seen.self:
	case seen.ahead():
		n.future = inRow(n.future, idle)
	case seen.past():
		n.old = inRow(n.old, idle)
	}
	switch {
	case n.same >= leastSame && uint64(n.same)*10 >= uint64(n.seen)*9:
		n.caught = trapDuplicate
	case n.near >= leastVariant && uint64(n.self)*10 >= uint64(n.near)*9 && n.looked >= leastVariant/2 &&
		uint64(n.idle)*10 >= uint64(n.looked)*9:
		n.caught = trapVariants
	}
	n.later = n.later || n.future >= leastFuture
	n.earlier = n.earlier || n.old >= leastPast
	if n.seen >= 4096 {
		n.seen, n.same = n.seen/2, n.same/2
	}
}

func inRow(n uint32, more bool) uint32 {
	if !more {
		return 0
	}
	return n + 1
}

// row takes a page into those of nearly the same size in a row.
func (n *trapPattern) row(p *parts, seen *sighting, idle bool) {
	if nearly(n.size, seen.size) {
		n.near++
	} else {
		n.near, n.self, n.looked, n.idle = 0, 0, 0, 0
	}
	n.size = seen.size
	if !seen.self || p.query == "" {
		return
	}
	n.self++
	if n.near > suspectVariant {
		n.looked++
		if idle {
			n.idle++
		}
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

// observeEquivalent compares a page with the first that should be the same.
func (t *Traps) observeEquivalent(h *hostTraps, p *pairs, key, variant uint64, seen *sighting) {
	known, ok := h.equivalents[key]
	text := textOf(seen.passages)
	switch {
	case !ok && t.room(len(h.equivalents), maxEquivalents):
		h.equivalents[key] = equivalent{variant, seen.size, text}
		t.entries++
	case ok && known.variant != variant:
		p.seen++
		if nearly(known.size, seen.size) && text != 0 && text == known.text {
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
		t.entries -= other.size()
		delete(t.hosts, name)
	}
	h := &hostTraps{patterns: map[uint64]*trapPattern{}, folders: map[uint64]*trapFolder{},
		equivalents: map[uint64]equivalent{}}
	t.hosts[strings.Clone(authority)] = h
	return h
}

// date is the year and month that a URI names.
type date struct{ year, month int }

func (d date) months() int { return d.year*12 + d.month }

// after reports whether the date is more than that many years after now.
func (d date) after(now time.Time, years int) bool {
	return d.year > 0 && !now.IsZero() && d.months() > (now.Year()+years)*12+int(now.Month())
}

// before reports whether the date is more than that many years before now.
func (d date) before(now time.Time, years int) bool {
	return d.year > 0 && !now.IsZero() && d.months() < (now.Year()-years)*12+int(now.Month())
}
