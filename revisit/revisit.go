// Package revisit decides when a crawl without end comes back to a URI. It has three policies: an interval for each
// media type (Fixed), the adaptive revisiting of Heritrix (AR), and one that divides a budget of requests by what is
// believed of each URI (Adaptive). All are calculations over values: times come in as arguments, and whoever keeps the
// queues is told where a URI belongs.
package revisit

import (
	"fmt"
	"math"
	"time"
)

// Change is what a visit says about the content since the visit before.
type Change uint8

const (
	// Unknown is the change of content that was not received, or had nothing to be compared with.
	Unknown Change = iota
	// Unchanged is the change of content that is what it was.
	Unchanged
	// Changed is the change of content that is not what it was. The first content is not a change, but the first
	// version.
	Changed
)

// Outcome is how the processing of a URI ended.
type Outcome uint8

const (
	// Success is an answer of any status, 404 among them.
	Success Outcome = iota
	// RetryNow is for a URI that is tried again at once, such as one that waited for what it needed first.
	RetryNow
	// RetryLater is for a URI whose queue rests before it is tried again.
	RetryLater
	// Disregarded is for a URI that must not be fetched, such as one that robots.txt forbids.
	Disregarded
	// Failed is for a URI that was tried as often as it may be.
	Failed
)

// Never is when URIs are due that stay known and do not come again by themselves: 31 December 9999.
const Never = 253_402_214_400_000

// Refusal says which setting cannot be as it is. Whoever reads settings adds where they stand.
type Refusal struct {
	Setting, Value, Reason string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("%s is %s: it has to be %s", r.Setting, r.Value, r.Reason)
}

// refuse is the refusal of a setting, as an error.
func refuse(setting string, value any, reason string, args ...any) error {
	return &Refusal{setting, fmt.Sprint(value), fmt.Sprintf(reason, args...)}
}

const (
	msPerDay = 24 * 60 * 60 * 1000
	longest  = 3650 // days; no interval counts as a longer one
)

// days is the time between two moments in milliseconds, in days. Time that runs back counts as none.
func days(from, to int64) float64 {
	if to <= from {
		return 0
	}
	return math.Min((float64(to)-float64(from))/msPerDay, longest)
}

// inDays is a duration in days.
func inDays(d time.Duration) float64 { return float64(d) / float64(24*time.Hour) }

// later adds a wait to a moment without running over.
func later(at, wait int64) int64 {
	if wait > 0 && at > Never-wait {
		return Never
	}
	return at + max(wait, 0)
}
