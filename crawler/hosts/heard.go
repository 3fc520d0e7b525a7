package hosts

import (
	"sync"

	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
)

// valueHeard begins the names of the frontier's values that say which sites answered, and which names had an address.
const valueHeard = "heard/"

// patience is how many URIs of a site may fail in all their tries, one after another, before others of the site are
// tried only once.
const patience = 3

// Heard remembers which sites ever answered in a crawl, and at which of them pages fail one after another. It is safe
// for concurrent use.
type Heard struct {
	frontier *frontier.Frontier
	mu       sync.Mutex
	answered map[string]bool
	failing  map[string]int // URIs in a row; not kept when the crawl is opened again
}

// NewHeard returns what the frontier knows of it.
func NewHeard(f *frontier.Frontier) *Heard {
	return &Heard{frontier: f, answered: map[string]bool{}, failing: map[string]int{}}
}

// SiteOf names the site of a target.
func SiteOf(t fetch.Target) string { return t.Scheme + "://" + t.Authority }

// From notes that a site answered, whatever it said; or that a name has an address: then the site is "dns:" and the
// name.
func (h *Heard) From(site string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.answered[site] {
		keep(h.answered, site, true)
		h.frontier.SetValue(valueHeard+site, []byte("1"))
	}
}

// Ever reports whether a site answered before.
func (h *Heard) Ever(site string) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.answered[site] {
		return true, nil
	}
	value, err := h.frontier.Value(valueHeard + site)
	if err == nil && len(value) > 0 {
		keep(h.answered, site, true)
	}
	return len(value) > 0, err
}

// Ended notes that a URI of the site ended, and whether it failed in all its tries.
func (h *Heard) Ended(site string, failed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !failed {
		delete(h.failing, site)
		return
	}
	keep(h.failing, site, h.failing[site]+1)
}

// Hopeless reports whether the last URIs of a site failed in all their tries.
func (h *Heard) Hopeless(site string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failing[site] >= patience
}
