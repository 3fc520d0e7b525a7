package crawler

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"

	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// quotas counts what was fetched of each domain, and remembers the limit that stopped it. For the limits a document counts at once; what
// is durable is of those that the frontier knows as finished, so that a crash makes none count twice. Some of it is in memory.
type quotas struct {
	frontier *frontier.Frontier
	mu       sync.Mutex
	domains  map[string]*domainQuota
	stops    []string       // domains whose stop changed since the last commit
	taken    map[string]int // changes of domains that the commit under way has
}

// domainQuota is of one domain.
type domainQuota struct {
	scope.Quota
	objects, bytes int64 // of these, what is committed or in the commit under way
	pending        int   // changes that are not committed: it has to stay in memory
}

func newQuotas(f *frontier.Frontier) *quotas {
	return &quotas{frontier: f, domains: map[string]*domainQuota{}, taken: map[string]int{}}
}

// limited tells whether any limit of a domain is set.
func limited(s *harvest.Settings) bool {
	return s.MaxDomainObjects > 0 || s.MaxDomainBytes > 0 || s.HarvestDomainObjects > 0 || s.HarvestDomainBytes > 0
}

// verdict turns a URI of a domain away that has all it may have.
func (q *quotas) verdict(domain string, s *harvest.Settings) (scope.Verdict, error) {
	if !limited(s) {
		return scope.Verdict{}, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	d, err := q.load(domain)
	if err != nil {
		return scope.Verdict{}, err
	}
	before := d.Stopped()
	v := d.Verdict(s)
	if d.Stopped() != before {
		q.stops = append(q.stops, domain)
		d.pending++
	}
	return v, nil
}

// of returns how a domain stands; to change it changes nothing.
func (q *quotas) of(domain string) (scope.Quota, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	d, err := q.load(domain)
	if err != nil {
		return scope.Quota{}, err
	}
	return d.Quota, nil
}

// add counts a document, whose outcome has to be committed later.
func (q *quotas) add(domain string, bytes int64) error {
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

// load returns what is known of a domain. The caller holds mu.
func (q *quotas) load(domain string) (*domainQuota, error) {
	if d := q.domains[domain]; d != nil {
		return d, nil
	}
	d := &domainQuota{}
	data, err := q.frontier.Value(valueQuota + domain)
	if err == nil && len(data) > 0 {
		d.Quota, err = scope.ParseQuota(data)
	}
	if err != nil {
		return nil, fmt.Errorf("read what was fetched of %s: %w", domain, err)
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

// take moves a document that was counted into the commit under way.
func (q *quotas) take(domain string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	d := q.domains[domain]
	d.objects++
	d.bytes += max(bytes, 0)
	q.taken[domain]++
}

// keep sets what the commit has of domains on its batch.
func (q *quotas) keep(b *frontier.Batch) {
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

// committed ends the commit.
func (q *quotas) committed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for domain, n := range q.taken {
		q.domains[domain].pending -= n
	}
	clear(q.taken)
}

// each calls do for the domains after one by name, as of the last commit, until it returns false.
func (q *quotas) each(ctx context.Context, after string, do func(domain string, of scope.Quota) bool) error {
	var bad error
	err := q.frontier.ValuesAfter(ctx, valueQuota, after, func(name string, value []byte) bool {
		domain := strings.TrimPrefix(name, valueQuota)
		quota, err := scope.ParseQuota(value)
		if err != nil {
			bad = fmt.Errorf("read what was fetched of %s: %w", domain, err)
			return false
		}
		return do(domain, quota)
	})
	if err == nil {
		err = bad
	}
	return err
}

// writeDomains writes the domains report.
func (c *Crawl) writeDomains(ctx context.Context, w io.Writer) error {
	var failed error
	all := iter.Seq[report.Domain](func(yield func(report.Domain) bool) {
		failed = c.quotas.each(ctx, "", func(domain string, of scope.Quota) bool {
			return yield(report.Domain{Name: domain, Objects: of.Objects, Bytes: of.Bytes, Stopped: of.Stopped()})
		})
	})
	if err := report.WriteDomains(w, all); err != nil {
		return err
	}
	return failed
}

// listDomains tells what was fetched of domains.
func (c *Crawl) listDomains(ctx context.Context, o harvest.Order) (out []harvest.DomainCount, next string, err error) {
	if o.State != "" && o.State != harvest.DomainsStopped {
		return nil, "", refused("state", o.State, harvest.DomainsStopped+", or nothing")
	}
	pattern, limit := part(o.Pattern), listed(o.Limit)
	err = c.quotas.each(ctx, o.After, func(domain string, of scope.Quota) bool {
		if pattern != nil && !pattern.MatchString(domain) || o.State == harvest.DomainsStopped && of.Stopped() == "" {
			return true
		}
		if len(out) == limit {
			next = out[limit-1].Domain
			return false
		}
		out = append(out, harvest.DomainCount{Domain: domain, Objects: of.Objects, Bytes: of.Bytes, Stopped: of.Stopped()})
		return true
	})
	return out, next, err
}
