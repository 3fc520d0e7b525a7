package hosts

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"holdfast/crawler/frontier"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// Quotas counts what was fetched of each domain, and remembers the limit that stopped it. For limits, a document
// counts at once. The durable figures count only URIs that the frontier knows as finished, so that a crash makes none
// count twice. Some of it is in memory.
type Quotas struct {
	frontier *frontier.Frontier
	table    *scope.Domains
	mu       sync.Mutex
	domains  map[string]*domainQuota
	stops    []string       // domains whose stop changed since the last commit
	taken    map[string]int // changes of domains that the commit under way has
}

// valueQuota begins the names of the frontier's values with the counts of a domain, and the limit that stopped it.
const valueQuota = "quota/"

// domainQuota is of one domain.
type domainQuota struct {
	scope.Quota
	objects, bytes int64 // the part of these that is committed or in the commit under way
	pending        int   // changes that are not committed: it has to stay in memory
}

// NewQuotas returns the quotas as the frontier has them; the table says which documents count for which domain, and how
// many may.
func NewQuotas(f *frontier.Frontier, table *scope.Domains) *Quotas {
	return &Quotas{frontier: f, table: table, domains: map[string]*domainQuota{}, taken: map[string]int{}}
}

// Counted is the domain for which a document of a URI counts.
func (q *Quotas) Counted(u *scope.Subject) string { return q.table.Counted(u) }

// Verdict turns a URI away whose domain has all it may have, by the settings in effect and the table.
func (q *Quotas) Verdict(u *scope.Subject, s *harvest.Settings) (scope.Verdict, error) {
	domain := q.Counted(u)
	limits := q.table.Limits(domain, s)
	if limits == (scope.Limits{}) {
		return scope.Verdict{}, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	d, err := q.load(domain)
	if err != nil {
		return scope.Verdict{}, err
	}
	before := d.Stopped()
	v := d.Verdict(limits)
	if d.Stopped() != before {
		q.stops = append(q.stops, domain)
		d.pending++
	}
	return v, nil
}

// Of returns a copy of a domain's figures, and its limits; changing the copy has no effect.
func (q *Quotas) Of(domain string, s *harvest.Settings) (scope.Quota, scope.Limits, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	d, err := q.load(domain)
	if err != nil {
		return scope.Quota{}, scope.Limits{}, err
	}
	return d.Quota, q.table.Limits(domain, s), nil
}

// Add counts a document, whose outcome has to be committed later.
func (q *Quotas) Add(domain string, bytes int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	d, err := q.load(domain)
	if err != nil {
		return err
	}
	d.Add(bytes)
	d.pending++
	return nil
}

// load returns the figures of a domain. The caller holds mu.
func (q *Quotas) load(domain string) (*domainQuota, error) {
	if d := q.domains[domain]; d != nil {
		return d, nil
	}
	d := &domainQuota{}
	data, err := q.frontier.Value(valueQuota + domain)
	if err == nil && len(data) > 0 {
		d.Quota, err = scope.ParseQuota(data)
	}
	if err != nil {
		return nil, fmt.Errorf("read the quota of domain %s: %w", domain, err)
	}
	d.objects, d.bytes = d.Objects, d.Bytes
	for name, old := range q.domains {
		if len(q.domains) < maxServers {
			break
		}
		if old.pending == 0 {
			delete(q.domains, name)
		}
	}
	q.domains[strings.Clone(domain)] = d
	return d, nil
}

// Take moves a document that was counted into the commit under way.
func (q *Quotas) Take(domain string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	d := q.domains[domain]
	d.objects++
	d.bytes += max(bytes, 0)
	q.taken[domain]++
}

// Keep writes the figures in this commit to its batch.
func (q *Quotas) Keep(b *frontier.Batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, domain := range q.stops {
		q.taken[domain]++
	}
	q.stops = nil
	for domain := range q.taken {
		d := q.domains[domain]
		state := d.Quota
		state.Objects, state.Bytes = d.objects, d.bytes
		b.Set(valueQuota+domain, state.Append(nil))
	}
}

// Committed ends the commit.
func (q *Quotas) Committed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for domain, n := range q.taken {
		q.domains[domain].pending -= n
	}
	clear(q.taken)
}

// Each calls do for the domains after one by name, as of the last commit, until it returns false.
func (q *Quotas) Each(ctx context.Context, after string, do func(domain string, of scope.Quota) bool) error {
	var bad error
	err := q.frontier.ValuesAfter(ctx, valueQuota, after, func(name string, value []byte) bool {
		domain := strings.TrimPrefix(name, valueQuota)
		quota, err := scope.ParseQuota(value)
		if err != nil {
			bad = fmt.Errorf("read the quota of domain %s: %w", domain, err)
			return false
		}
		return do(domain, quota)
	})
	if err == nil {
		err = bad
	}
	return err
}
