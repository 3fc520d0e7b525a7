package harvester

import (
	"fmt"

	"holdfast/catalog"
	"holdfast/catalog/jobs"
	"holdfast/internal/sorter"
)

// busy counts configurations whose domain is in an open job: one that is new, waits or runs. Which jobs are open is
// what it was at the beginning.
type busy struct {
	now      *jobs.OpenJobsNow // asked for each domain, by key; nil for snapshots
	sorted   *taken            // the domains of all open jobs, for snapshots: they walk over all domains anyway
	snapshot bool

	count   int64
	domains []string // the first of them
}

// busy returns what counts configurations of a run. The run's own jobs do not count.
func (h *Config) busy(m *material) (*busy, error) {
	b := &busy{snapshot: m.snapshot()}
	own := func(j *jobs.Job) bool { return j.Number == m.harvest.Number && j.Run == m.run.Number }
	err := h.Agreement.View(func(v catalog.View) (err error) { b.now, err = v.OpenNow(own); return err })
	if err == nil && b.snapshot && b.now.Len() > 0 {
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

// see takes the next configuration. Those of snapshots come in the order of their domains.
func (b *busy) see(v catalog.View, domain string) error {
	is := false
	var err error
	if b.sorted != nil {
		is, err = b.sorted.has(domain)
	} else if !b.snapshot {
		var open []uint64
		open, err = b.now.Of(catalog.JobsIn(v).Reader, domain)
		is = len(open) > 0
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
