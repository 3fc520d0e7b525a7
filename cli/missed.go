package cli

import (
	"errors"
	"fmt"

	"holdfast/crawler"
)

// errNothing reports a crawl that captured none of its seeds.
var errNothing = errors.New("no seed was captured")

// missed tells on stderr which seeds were not captured and why. It is an error when none was.
func (a *app) missed(s crawler.SeedSummary) error {
	for _, m := range s.Missed {
		fmt.Fprintf(a.stderr, "seed %s was not captured: %s\n", m.URL, why(m.Status))
	}
	if more := s.Total - s.Captured - len(s.Missed); more > 0 {
		fmt.Fprintf(a.stderr, "and %d more seeds; reports/seeds-report.txt lists all\n", more)
	}
	if s.Total > 0 && s.Captured == 0 {
		return errNothing
	}
	return nil
}

// why is what a status of crawl.log means.
func why(status int) string {
	text, ok := map[int]string{
		0: "it was not tried", -1: "its name could not be looked up", -2: "no connection could be made", -3: "the connection was lost, or the answer was not HTTP",
		-4: "the server did not answer in time", -6: "its host's name could not be looked up", -61: "its robots.txt could not be had",
		-7: "it is no URL of the web", -4001: "too many hops", -4002: "too many embeds or redirects in a row", -5000: "the rules leave it out",
		-5001: "it is blocked", -5002: "it has only private addresses; --allow-private lets them be reached", -5003: "its domain has all it may have",
		-6000: "it was deleted", -7000: "its fetch was broken off", -9998: "robots.txt forbids it",
	}[status]
	if !ok {
		return fmt.Sprintf("status %d", status)
	}
	return fmt.Sprintf("%s (status %d)", text, status)
}
