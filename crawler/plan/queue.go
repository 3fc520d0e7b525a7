package plan

import (
	"strings"
	"sync"

	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// QueueByIP is the value of the setting queue_by that has requests take turns at an address.
const QueueByIP = "ip"

// Entries makes the frontier's entries of URIs: their keys, their queues, and their costs.
type Entries struct {
	Canon *scope.Canonicalizer
	Aside AsideSites
}

// Entry is a URI as the frontier takes it.
func (e *Entries) Entry(url string, t fetch.Target, s *harvest.Settings) frontier.URI {
	u := frontier.URI{URL: url, Queue: QueueOf(t, s), Cost: cost(t, s)}
	if site := t.Scheme + "://" + t.Authority; e.Aside.Has(site) {
		u.Queue = site
	}
	if key := e.Canon.Canonical(url); key != url {
		u.Key = key
	}
	u.Host = HostOf(t)
	return u
}

// KeyOf returns the key by which a URI is known as seen.
func KeyOf(u *frontier.URI) string {
	if u.Key != "" {
		return u.Key
	}
	return u.URL
}

// HostOf returns the host as reports name it: without its port, as in Heritrix's reports.
func HostOf(t fetch.Target) string { return strings.TrimSuffix(AuthorityOf(t), ":"+t.Port) }

// AuthorityOf returns host and port, where that is not the scheme's own. A dot after the name makes no other host.
func AuthorityOf(t fetch.Target) string {
	if host, dotted := strings.CutSuffix(t.Host, "."); dotted && host != "" {
		return host + strings.TrimPrefix(t.Authority, t.Host)
	}
	return t.Authority
}

// QueueOf names the queue of a URI. Queues by address are by host, too: it is their turns at a host that are by
// address, as a host may have another address tomorrow.
func QueueOf(t fetch.Target, s *harvest.Settings) string {
	return scope.QueueName(s, AuthorityOf(t), func() string {
		subject := scope.Subject{URL: t.URL}
		return subject.Domain()
	})
}

// AsideSites are the sites, such as "https://example.org", that have their own queue because they did not answer, so
// that URIs of other sites in the shared queue need not wait for them. Such a queue only holds waiting URIs: turns at
// the host are shared with all of its URIs. The zero value is ready; it is safe for concurrent use.
type AsideSites struct {
	mu    sync.RWMutex
	sites map[string]bool
}

// Has tells whether a site has a queue of its own.
func (a *AsideSites) Has(site string) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.sites[site]
}

// Any tells whether any site has.
func (a *AsideSites) Any() bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return len(a.sites) > 0
}

// Add gives a site a queue of its own.
func (a *AsideSites) Add(site string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sites == nil {
		a.sites = map[string]bool{}
	}
	a.sites[site] = true
}

// longPath is from where a path costs more.
const longPath = 100

// cost returns what a fetch takes from its queue's budgets.
func cost(t fetch.Target, s *harvest.Settings) int64 {
	switch s.CostPolicy {
	case "zero":
		return 0
	case "wag":
		n := int64(1)
		if strings.Contains(t.Path, "?") {
			n++
		}
		if len(t.Path) > longPath {
			n++
		}
		return n
	}
	return 1
}
