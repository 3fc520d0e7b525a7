package cli

import (
	"fmt"

	"holdfast/crawler"
	"holdfast/crawler/report"
)

// missed prints on stderr which seeds were not captured, and why. If none was captured, that is an error.
func (a *app) missed(s crawler.SeedSummary) error {
	for _, m := range s.Missed {
		fmt.Fprintf(a.stderr, "seed %s was not captured: %s\n", m.URL, report.StatusText(m.Status))
	}
	if more := s.Total - s.Captured - len(s.Missed); more > 0 {
		fmt.Fprintf(a.stderr, "and %d more seeds; reports/seeds-report.txt lists all\n", more)
	}
	if s.Nothing() {
		return crawler.ErrNothing
	}
	return nil
}
