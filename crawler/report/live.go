package report

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// rateOver is the period over which the current rate is measured.
const rateOver = 20

// maxHosts is how many hosts the live figures count apart.
const maxHosts = 2000

// HostCount is how much was fetched from a host since it was counted apart, and how long that took.
type HostCount struct {
	Host  string        `json:"host"`
	URLs  int64         `json:"urls"`
	Bytes int64         `json:"bytes"`
	Time  time.Duration `json:"time"` // of all fetches
}

// Mean is how long a fetch took on average.
func (h HostCount) Mean() time.Duration {
	if h.URLs == 0 {
		return 0
	}
	return h.Time / time.Duration(h.URLs)
}

// Rates are how fast a crawl goes, per second: over the last 20 seconds, and over all its running time.
type Rates struct {
	URIs         float64 `json:"uris"`
	Bytes        float64 `json:"bytes"`
	AverageURIs  float64 `json:"average_uris"`
	AverageBytes float64 `json:"average_bytes"`
}

// Live holds figures of a running crawl that need not outlive it: rates, busiest and slowest hosts. Its memory is
// bounded: with more than 2 000 hosts, those with the least weight are dropped. It is safe for concurrent use.
type Live struct {
	mu    sync.Mutex
	began int64 // second of the first line; 0: none yet
	slots [rateOver + 1]slot
	urls  table // busiest
	slow  table // where most time was spent
	total HostCount
}

type slot struct{ second, urls, bytes int64 }

// NewLive are the figures of a crawl that begins.
func NewLive() *Live { return &Live{urls: table{}, slow: table{}} }

// Add counts a line of the log; now is the time. Only answered URIs count.
func (v *Live) Add(l *Line, now time.Time) {
	if !l.Success() {
		return
	}
	bytes := max(l.Size, 0)
	host := hostOf(l.URI)
	v.mu.Lock()
	defer v.mu.Unlock()
	second := now.Unix()
	if v.began == 0 {
		v.began = second
	}
	s := &v.slots[second%int64(len(v.slots))]
	if s.second != second {
		*s = slot{second: second}
	}
	s.urls++
	s.bytes += bytes
	v.total.URLs++
	v.total.Bytes += bytes
	v.total.Time += l.Duration
	v.urls.add(host, bytes, l.Duration, func(h *HostCount) int64 { return h.URLs })
	if !l.Begin.IsZero() {
		v.slow.add(host, bytes, l.Duration, func(h *HostCount) int64 { return int64(h.Time) })
	}
}

// Rates returns how fast the crawl is; elapsed is how long it ran, and total what it fetched in that time.
func (v *Live) Rates(now time.Time, elapsed time.Duration, total Count) Rates {
	v.mu.Lock()
	defer v.mu.Unlock()
	var r Rates
	second := now.Unix()
	for _, s := range v.slots { // whole seconds only: the running one is not over
		if s.second < second && s.second >= second-rateOver {
			r.URIs += float64(s.urls)
			r.Bytes += float64(s.bytes)
		}
	}
	if over := min(second-v.began, rateOver); v.began > 0 && over > 0 {
		r.URIs /= float64(over)
		r.Bytes /= float64(over)
	} else {
		r.URIs, r.Bytes = 0, 0
	}
	if s := elapsed.Seconds(); s > 0 {
		r.AverageURIs, r.AverageBytes = float64(total.URLs)/s, float64(total.Bytes)/s
	}
	return r
}

// Busiest returns the n hosts with the most URIs, and the sum of all others. The count of a host that was dropped in
// between starts afresh; the sum is exact.
func (v *Live) Busiest(n int) (top []HostCount, rest HostCount) {
	v.mu.Lock()
	defer v.mu.Unlock()
	top = v.urls.top(n, func(a, b *HostCount) int { return cmp.Compare(b.URLs, a.URLs) })
	rest = v.total
	for _, h := range top {
		rest.URLs -= h.URLs
		rest.Bytes -= h.Bytes
		rest.Time -= h.Time
	}
	return top, rest
}

// Slowest returns, of the hosts on which most time was spent, the n with the longest average fetch.
func (v *Live) Slowest(n int) []HostCount {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.slow.top(n, func(a, b *HostCount) int { return cmp.Compare(b.Mean(), a.Mean()) })
}

// table counts hosts apart, at most maxHosts.
type table map[string]*HostCount

// add counts a URI for host. When there is no room, the lightest of a few others goes.
func (t table) add(host string, bytes int64, took time.Duration, weight func(*HostCount) int64) {
	h := t[host]
	if h == nil {
		if len(t) >= maxHosts {
			t.evict(weight)
		}
		h = &HostCount{Host: strings.Clone(host)}
		t[h.Host] = h
	}
	h.URLs++
	h.Bytes += bytes
	h.Time += took
}

// evict takes out the lightest of eight hosts that the map happens to name first.
func (t table) evict(weight func(*HostCount) int64) {
	var lightest *HostCount
	seen := 0
	for _, h := range t {
		if lightest == nil || weight(h) < weight(lightest) {
			lightest = h
		}
		if seen++; seen == 8 {
			break
		}
	}
	delete(t, lightest.Host)
}

func (t table) top(n int, compare func(a, b *HostCount) int) []HostCount {
	all := make([]*HostCount, 0, len(t))
	for _, h := range t {
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b *HostCount) int { return cmp.Or(compare(a, b), cmp.Compare(a.Host, b.Host)) })
	top := make([]HostCount, 0, min(n, len(all)))
	for _, h := range all[:min(n, len(all))] {
		top = append(top, *h)
	}
	return top
}

// hostOf is the host of a URI, without its port; "dns:" for a name that was asked for, as in Heritrix's reports.
func hostOf(uri string) string {
	_, rest, ok := strings.Cut(uri, "://")
	if !ok {
		scheme, _, _ := strings.Cut(uri, ":")
		return uri[:min(len(scheme)+1, len(uri))]
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	if strings.HasPrefix(rest, "[") {
		if i := strings.IndexByte(rest, ']'); i > 0 {
			return rest[:i+1]
		}
		return rest
	}
	if i := strings.LastIndexByte(rest, ':'); i >= 0 {
		rest = rest[:i]
	}
	return rest
}
