package crawler

import (
	"cmp"
	"context"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/harvest"
	"holdfast/harvest/split"
)

// Statistic is what a crawl brought for a configuration of a domain. The last one of a crawl sums up what counted
// for other domains: it has no domain.
type Statistic = report.Configuration

// Statistics yields what a crawl that has ended brought: each configuration of the job's table, by domain and name,
// also those of which nothing came, and the sum of other domains at the end. Together they are all documents of the
// crawl. It reads a file in the crawl's folder, so that it may be asked again at any time, in bounded memory. The
// error is fs.ErrNotExist when the crawl had no table of domains, or has not ended.
func Statistics(dir string) iter.Seq2[Statistic, error] {
	return func(yield func(Statistic, error) bool) {
		f, err := os.Open(filepath.Join(dir, "reports", report.OfConfigurations+report.Suffix))
		if err != nil {
			yield(Statistic{}, err)
			return
		}
		defer func() { _ = f.Close() }() // nothing was written
		for s, err := range report.ReadConfigurations(f) {
			if !yield(s, err) {
				return
			}
		}
	}
}

// documents is the sum of all domains, as of the last commit.
func (r *reports) documents(ctx context.Context) (sum Documents, err error) {
	err = r.quotas.Each(ctx, "", func(_ string, of scope.Quota) bool {
		sum.Objects, sum.Bytes = sum.Objects+of.Objects, sum.Bytes+of.Bytes
		return true
	})
	return sum, err
}

// writeConfigurations writes the configurations report of a crawl that ended for a reason.
func (r *reports) writeConfigurations(ctx context.Context, w io.Writer, reason string) error {
	table := map[string]*domainSum{}
	for _, c := range r.domains.Configurations() {
		table[c.Domain] = &domainSum{}
	}
	others := Statistic{}
	err := r.quotas.Each(ctx, "", func(domain string, of scope.Quota) bool {
		if sum := table[domain]; sum != nil {
			sum.Quota = of
		} else {
			others.Objects, others.Bytes = others.Objects+of.Objects, others.Bytes+of.Bytes
		}
		return true
	})
	if err != nil {
		return err
	}
	if err := r.findLeft(ctx, table); err != nil {
		return err
	}
	return report.WriteConfigurations(w, func(yield func(Statistic) bool) {
		base := r.settings()
		for _, c := range sortedConfigurations(r.domains.Configurations()) {
			s := Statistic{Domain: c.Domain, Name: c.Name, Stop: string(split.Unfinished)}
			if sum := table[c.Domain]; !sum.told {
				sum.told = true
				s.Objects, s.Bytes = sum.Objects, sum.Bytes
				s.Stop = string(sum.stop(r.domains.Limits(c.Domain, base), reason))
			}
			if !yield(s) {
				return
			}
		}
		yield(others)
	})
}

// domainSum is what is known about a domain of the table.
type domainSum struct {
	scope.Quota
	left bool // something of it is queued
	told bool // a configuration has it in its line
}

// stop is why the harvest of the domain ended, in a crawl that ended for a reason.
func (d *domainSum) stop(limits scope.Limits, reason string) split.Stop {
	if d.left && d.Stopped() == "" {
		d.Stop(limits) // it may have reached one since the last URI was asked for
	}
	switch d.Stopped() {
	case scope.ConfigObjects:
		return split.ConfigObjectLimit
	case scope.ConfigBytes:
		return split.ConfigSizeLimit
	case scope.HarvestObjects:
		return split.ObjectLimit
	case scope.HarvestBytes:
		return split.SizeLimit
	}
	switch {
	case d.Objects > 0 && !d.left:
		return split.Completed
	case reason == reasonTime:
		return split.TimeLimit
	}
	return split.Unfinished
}

// findLeft notes of which domains of the table something is queued.
func (r *reports) findLeft(ctx context.Context, table map[string]*domainSum) error {
	if r.frontier.Counters().Queued == 0 {
		return nil
	}
	unknown := len(table)
	var subject scope.Subject
	return r.frontier.Each(ctx, func(u *frontier.URI) bool {
		subject.URL, subject.Source = u.URL, u.Source
		if d := table[r.domains.Counted(&subject)]; d != nil && !d.left {
			d.left = true
			unknown--
		}
		return unknown > 0
	})
}

// sortedConfigurations are in the order of domains; of one domain, as they were given.
func sortedConfigurations(all []harvest.Configuration) []*harvest.Configuration {
	sorted := make([]*harvest.Configuration, len(all))
	for i := range all {
		sorted[i] = &all[i]
	}
	slices.SortStableFunc(sorted, func(a, b *harvest.Configuration) int { return cmp.Compare(a.Domain, b.Domain) })
	return sorted
}
