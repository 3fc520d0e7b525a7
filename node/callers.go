package node

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
	requestsAtOnce   = 128 // of a client behind a trusted proxy; for others, their connections are bounded
	requestsPatience = 5 * time.Second
)

// callers bounds the requests of each address at one TCP port. Clients behind a trusted proxy share its connections, so
// theirs are bounded always. The requests of others are kept to their rate only while the port is crowded.
// This machine and a proxy that does not say for whom it asks have no bounds here.
type callers struct {
	secure  config.Secure
	crowded func() bool
	rates   *rates

	mu    sync.Mutex
	under map[netip.Prefix]int // requests under way, of clients behind a proxy
}

func newCallers(secure config.Secure, crowded func() bool) *callers {
	return &callers{secure: secure, crowded: crowded, rates: newRates(requestRate, requestBurst, requestsPatience),
		under: map[netip.Prefix]int{}}
}

// bound serves with next what is within the bounds, and answers 429 to the rest. It is to be called with what
// Secure.forwarded makes of requests.
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
			if !c.enter(host) {
				tooMany(w)
				return
			}
			defer c.leave(host)
		case own(r, from), c.secure.Trusts(from), !c.crowded():
			next.ServeHTTP(w, r)
			return
		}
		if wait, ok := c.rates.take(host.String(), 1); !ok || !pause(r, wait) {
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

func (c *callers) enter(host netip.Prefix) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under[host] >= requestsAtOnce {
		return false
	}
	c.under[host]++
	return true
}

func (c *callers) leave(host netip.Prefix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under[host]--; c.under[host] <= 0 {
		delete(c.under, host)
	}
}
