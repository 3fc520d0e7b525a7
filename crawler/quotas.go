package crawler

import (
	"fmt"
	"sync"

	"holdfast/crawler/frontier"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// quotas counts what was fetched of each domain, where domains have limits. All of it is kept in the frontier, some in memory.
type quotas struct {
	frontier *frontier.Frontier
	mu       sync.Mutex
	domains  map[string]*scope.Quota
}

func newQuotas(f *frontier.Frontier) *quotas {
	return &quotas{frontier: f, domains: map[string]*scope.Quota{}}
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
	quota, err := q.load(domain)
	if err != nil {
		return scope.Verdict{}, err
	}
	v := quota.Verdict(s)
	if v.Status != 0 {
		q.frontier.SetValue(valueQuota+domain, quota.Append(nil))
	}
	return v, nil
}

// add counts a document.
func (q *quotas) add(domain string, bytes int64, s *harvest.Settings) error {
	if !limited(s) {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	quota, err := q.load(domain)
	if err != nil {
		return err
	}
	quota.Add(bytes)
	q.frontier.SetValue(valueQuota+domain, quota.Append(nil))
	return nil
}

func (q *quotas) load(domain string) (*scope.Quota, error) {
	if quota := q.domains[domain]; quota != nil {
		return quota, nil
	}
	quota := &scope.Quota{}
	data, err := q.frontier.Value(valueQuota + domain)
	if err == nil && len(data) > 0 {
		*quota, err = scope.ParseQuota(data)
	}
	if err != nil {
		return nil, fmt.Errorf("read what was fetched of %s: %w", domain, err)
	}
	keep(q.domains, domain, quota)
	return quota, nil
}
