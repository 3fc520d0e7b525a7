package front

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"holdfast/node/config"
)

// Bounds on the requests of one address.
const (
	requestRate      = 100 // a second
	requestBurst     = 1000
	requestsAtOnce   = 128  // of a client behind a trusted proxy; for others, their connections are bounded
	requestsWaiting  = 1024 // for others of the same client to end
	requestsPatience = 5 * time.Second
)

// busy is the number of requests under way, of clients behind proxies, from which on these have a rate.
const busy = 64

// callers bounds the requests of each address at one TCP port. The rate counts only while the port is crowded,
// because the readers of one library may share an address. Clients behind a trusted proxy share its connections: a
// fixed number of requests of each is served at once, and the next ones wait. This machine, and a proxy that does not
// say for whom it asks, have no limits here.
type callers struct {
	secure  config.Secure
	crowded func() bool
	rates   *rates

	mu    sync.Mutex
	all   int // requests under way of clients behind a proxy, and those that wait
	under map[netip.Prefix]*places
}

// places are those in which a client's requests are served.
type places struct {
	taken    chan struct{}
	requests int // in them or waiting
}

func newCallers(secure config.Secure, crowded func() bool) *callers {
	return &callers{secure: secure, crowded: crowded, rates: newRates(requestRate, requestBurst, requestsPatience),
		under: map[netip.Prefix]*places{}}
}

// bound serves requests within the limits with next, and answers 429 to the rest. Call it with requests as
// Secure.forwarded returns them.
func (c *callers) bound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			next.ServeHTTP(w, r)
			return
		}
		from, forwarded := at.Addr().Unmap().WithZone(""), at.Port() == forwardedPort
		host := hostPrefix(from)
		switch {
		case forwarded:
			leave, ok := c.enter(r, host)
			if !ok {
				tooMany(w)
				return
			}
			defer leave()
			if !c.crowded() && !c.busy() {
				next.ServeHTTP(w, r)
				return
			}
		case own(r, from), c.secure.Trusts(from), !c.crowded():
			next.ServeHTTP(w, r)
			return
		}
		wait, ok := c.rates.take(host.String(), 1)
		if site, is := sitePrefix(from); ok && is {
			var more time.Duration
			more, ok = c.rates.take(site.String(), 1.0/network)
			wait = max(wait, more)
		}
		if !ok || !pause(r, wait) {
			tooMany(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// own reports whether the request comes from this machine.
func own(r *http.Request, from netip.Addr) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && ownMachine(from, local)
}

func tooMany(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, "too many requests from one address", http.StatusTooManyRequests)
}

// pause waits, and reports false when the request was given up.
func pause(r *http.Request, wait time.Duration) bool {
	if wait <= 0 {
		return true
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// enter waits for a place for a client's request. It reports false where too many wait, or for too long.
func (c *callers) enter(r *http.Request, host netip.Prefix) (leave func(), ok bool) {
	c.mu.Lock()
	p := c.under[host]
	if p == nil {
		p = &places{taken: make(chan struct{}, requestsAtOnce)}
		c.under[host] = p
	}
	if p.requests >= requestsAtOnce+requestsWaiting {
		c.mu.Unlock()
		return nil, false
	}
	p.requests++
	c.all++
	c.mu.Unlock()
	done := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if p.requests--; p.requests == 0 {
			delete(c.under, host)
		}
	}
	limit := time.NewTimer(requestsPatience)
	defer limit.Stop()
	select {
	case p.taken <- struct{}{}:
		return func() { <-p.taken; done() }, true
	case <-limit.C:
	case <-r.Context().Done():
	}
	done()
	return nil, false
}

// busy reports whether enough clients of proxies ask at once for their rates to count.
func (c *callers) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all >= busy
}
