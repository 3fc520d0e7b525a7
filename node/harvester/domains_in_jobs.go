package harvester

import (
	"fmt"

	"holdfast/catalog"
	"holdfast/catalog/jobs"
	"holdfast/internal/sorter"
)

// busy counts configurations whose domain is in an open job: one that is new, waits or runs.
type busy struct {
	own      func(*jobs.Job) bool
	now      *jobs.OpenJobsNow // nil before it is needed
	sorted   *taken            // the domains of all open jobs, for snapshots: they walk over all domains anyway
	snapshot bool

	count   int64
	domains []string // the first of them
}

// busy returns what counts configurations of a run. The run's own jobs do not count.
func (h *Config) busy(m *material) (*busy, error) {
	b := &busy{snapshot: m.snapshot()}
	b.own = func(j *jobs.Job) bool { return j.Number == m.harvest.Number && j.Run == m.run.Number }
	if !b.snapshot { // few configurations: each is asked for by key
		return b, nil
	}
	err := h.Agreement.View(func(v catalog.View) (err error) { b.now, err = v.OpenNow(b.own); return err })
	if err == nil && b.now.Len() > 0 {
		err = b.sort(h)
	}
	if err != nil {
		return nil, fmt.Errorf("read the domains of open jobs: %w", err)
	}
	return b, nil
}

// sort sorts the domains of the open jobs.
func (b *busy) sort(h *Config) error {
	b.sorted = &taken{sorted: sorter.New(h.Dir, previewRoom)}
	for _, of := range b.now.Parts() {
		for n, more := 1, true; more; n++ {
			err := h.Agreement.View(func(v catalog.View) (err error) {
				var domains []string
				domains, more, err = v.DomainsOfPart(of, n)
				for _, domain := range domains {
					if err == nil {
						err = b.sorted.sorted.Add(nil, domain)
					}
				}
				return err
			})
			if err != nil {
				b.close()
				return err
			}
		}
	}
	b.sorted.begin()
	return nil
}

// open reports whether a domain is in an open job. Which jobs are open at all is read only for a domain of many jobs.
func (b *busy) open(v catalog.View, domain string) (bool, error) {
	if b.now == nil {
		is, known, err := v.OpenWith(domain, b.own)
		if err != nil || known {
			return is, err
		}
		if b.now, err = v.OpenNow(b.own); err != nil {
			return false, err
		}
	}
	open, err := b.now.Of(catalog.JobsIn(v).Reader, domain)
	return len(open) > 0, err
}

// see takes the next configuration. Those of snapshots come in the order of their domains.
func (b *busy) see(v catalog.View, domain string) error {
	is := false
	var err error
	if b.sorted != nil {
		is, err = b.sorted.has(domain)
	} else if !b.snapshot {
		is, err = b.open(v, domain)
	}
	if err != nil || !is {
		return err
	}
	b.count++
	last := len(b.domains) - 1
	if last+1 < previewDomains && (last < 0 || b.domains[last] != domain) {
		b.domains = append(b.domains, domain)
	}
	return nil
}

func (b *busy) close() {
	if b.sorted != nil {
		b.sorted.close()
	}
}
