package crawler

import (
	"errors"
	"io"

	"holdfast/crawler/events"
	"holdfast/crawler/fetch"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
)

// maxTrapText is how much of a page is read to tell whether it is one of a trap.
const maxTrapText = 256 << 10

// observe shows the trap heuristics what came. What a page in a browser shows is not in its document, nor all of a page in what came
// before it was cut off.
func (w *worker) observe(v *visit) {
	if !v.set.TrapHeuristics || v.status != 200 || v.part.id != "" || v.exchange == nil || v.exchange.Truncated != "" {
		return
	}
	w.scope.Observe(v.subject, scope.Page{
		Text: func() []byte {
			text, err := v.exchange.Payload(maxTrapText)
			if err != nil && !errors.Is(err, fetch.ErrCoding) {
				return nil
			}
			return text
		},
		Found: func(yield func(string, bool) bool) {
			for i := range w.found {
				if !yield(w.found[i].URL, embedded(w.found[i].Path)) {
					return
				}
			}
		},
	})
}

// tellTraps tells of the forms of URIs that the heuristics begin to turn away: whoever is in charge may know better.
func (c *Crawl) tellTraps() {
	for _, t := range c.scope.Traps().Fresh() {
		c.publish(events.Event{Kind: events.TrapCaught, URI: t.URL, Host: t.Host, Reason: t.What, Count: int64(t.Pages)})
		c.log.Warn("URIs like this are turned away from now on; a sheet that sets trap_heuristics to false lets them in",
			"uri", t.URL, "trap", t.What, "is", t.Why(), "pages", t.Pages)
	}
}

// writeTraps writes the traps report.
func (c *Crawl) writeTraps(w io.Writer) error {
	forms, others := c.scope.Traps().All()
	lines := make([]report.Trap, len(forms))
	for i, t := range forms {
		lines[i] = report.Trap{Away: t.Away, Pages: t.Pages, Name: t.What, Host: t.Host, URL: t.URL, Since: t.Since}
	}
	return report.WriteTraps(w, lines, others)
}
