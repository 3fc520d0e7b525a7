package crawler

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"holdfast/cdx"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/warc"
)

// info is the provenance in each warcinfo record.
func (c *Crawl) info() []warc.Field {
	s := c.base()
	info := []warc.Field{
		{Name: "software", Value: "Holdfast/1.0"},
		{Name: "hostname", Value: c.cfg.Node},
		{Name: "isPartOf", Value: c.cfg.Job.Name},
		{Name: "robots", Value: string(s.Robots)},
		{Name: "http-header-user-agent", Value: s.Agent()},
	}
	if s.OperatorContact != "" {
		info = append(info, warc.Field{Name: "operator", Value: s.OperatorContact})
	}
	if s.From() != "" {
		info = append(info, warc.Field{Name: "http-header-from", Value: s.From()})
	}
	return append(info, c.cfg.Info...)
}

// writeReports writes the reports as they stand at the end of a run.
func (c *Crawl) writeReports(s Summary) error {
	var hosts []report.Host
	c.frontier.Hosts(func(name string, h frontier.Host, remaining int) {
		hosts = append(hosts, report.Host{Name: name, URLs: h.URLs, Bytes: h.Bytes, Robots: h.Robots, Remaining: int64(remaining)})
	})
	seeds, crawled, err := c.seedEnds()
	if err != nil {
		return err
	}
	n := s.Counters
	head := report.Crawl{Name: c.cfg.Job.Name, Status: report.ExitStatus(s.Reason, false), Reason: s.Reason, Elapsed: s.Elapsed, Captures: c.stats.Captures,
		SeedsCrawled: crawled, SeedsNotCrawled: len(seeds) - crawled, Hosts: len(hosts), Discovered: n.Discovered, Queued: n.Queued,
		Succeeded: n.Succeeded, Failed: n.Failed, Disregarded: n.Disregarded, Bytes: n.Bytes}
	for name, write := range map[string]func(io.Writer) error{
		"crawl-report.txt":        func(w io.Writer) error { return report.WriteCrawl(w, head) },
		"hosts-report.txt":        func(w io.Writer) error { return report.WriteHosts(w, slices.Values(hosts)) },
		"mimetype-report.txt":     func(w io.Writer) error { return report.WriteTypes(w, c.stats) },
		"responsecode-report.txt": func(w io.Writer) error { return report.WriteStatuses(w, c.stats) },
		"seeds-report.txt":        func(w io.Writer) error { return report.WriteSeeds(w, seeds) },
	} {
		if err := c.disk.WriteFile(filepath.Join(c.cfg.Dir, "reports", name), write); err != nil {
			return err
		}
	}
	return nil
}

// seedEnds tells how each seed ended.
func (c *Crawl) seedEnds() (seeds []report.Seed, crawled int, err error) {
	for _, given := range c.cfg.Job.Seeds {
		url := given
		if normal, err := cdx.Normalize(given); err == nil {
			if _, err := fetch.ParseTarget(normal); err == nil {
				url = normal
			}
		}
		end, err := c.seedEnd(url)
		if err != nil {
			return nil, 0, err
		}
		seed := report.Seed{URL: url}
		if end != nil {
			seed.Status, seed.Redirect = end.Status, end.Redirect
		}
		if seed.Status > 0 {
			crawled++
		}
		seeds = append(seeds, seed)
	}
	return seeds, crawled, nil
}

func (c *Crawl) seedEnd(url string) (*seedEnd, error) {
	data, err := c.frontier.Value(valueSeed + url)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	end := &seedEnd{}
	if err := json.Unmarshal(data, end); err != nil {
		return nil, fmt.Errorf("read how seed %s ended: %w", url, err)
	}
	return end, nil
}
