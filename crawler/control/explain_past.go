package control

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/crawler/plan"
	"holdfast/crawler/scope"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// explainPast explains a URI from the folder of a crawl that is not open. It does not look up robots.txt files, or
// how close domains were to their limits.
func explainPast(ctx context.Context, dir string, o act.Explain) (*harvest.Explained, error) {
	a, err := askedFor(o)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "settings", "job.json"))
	if err != nil {
		return nil, fmt.Errorf("read the settings of the crawl: %w", err)
	}
	job, err := harvest.ParseStoredJob(data)
	if err != nil {
		return nil, fmt.Errorf("read the settings of the crawl in %s: %w", dir, err)
	}
	for i, r := range job.Settings.Proxies { // who asks there makes no difference here
		job.Settings.Proxies[i].Via = strings.Replace(r.Via, harvest.Redaction+"@", "", 1)
	}
	p, err := plan.Follow(job.Settings, time.Now)
	if err != nil {
		return nil, err
	}
	seeds, _ := plan.Seeds(job.Seeds)
	domains, err := scope.NewDomains(job.Domains, job.Settings.CountBy)
	if err != nil {
		return nil, err
	}
	judge, err := scope.New(p.Sheets(), domains, seeds, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	canon, err := scope.NewCanonicalizer(job.Settings.Canonicalization)
	if err != nil {
		return nil, err
	}
	var w whence
	if err := w.fromLog(ctx, dir, a.url); err != nil {
		return nil, err
	}
	if w.known = "finished, the crawl is over"; w.logged == "" {
		w.known = "not in crawl.log; the crawl is over"
		if err := w.suppose(func() ([]string, error) { return job.Seeds, nil }, a.target); err != nil {
			return nil, err
		}
	}
	subject := w.subject(a, p.For(a.target))
	subject.Unresolved = p.LooksUp(a.target)
	out := explained(judge, subject, canon.Canonical(a.url), w)
	if line := strings.Fields(w.logged); len(line) > 1 {
		out.Known = "finished with status " + line[1] + "; the crawl is over"
	}
	out.Settings = p.Sheets().Explain(p.Context(a.target))
	return out, nil
}
