package alert

import "time"

// watched is how many alerts a Watch keeps the time of. Others are told without it.
const watched = 10_000

// Watch remembers since when alerts are seen. Its zero value is ready. It is not safe for concurrent use.
type Watch struct{ since map[string]time.Time }

// See returns the alerts with the time since which each was seen without a break, and forgets those that are over. The
// given ones are all that there are at the time now.
func (w *Watch) See(now time.Time, all []Alert) []Alert {
	next := make(map[string]time.Time, len(all))
	out := make([]Alert, len(all))
	for i, a := range all {
		key := a.Key()
		since, known := w.since[key]
		if !known {
			since = now
		}
		if a.Since.IsZero() {
			a.Since = since
		}
		if out[i] = a; len(next) < watched {
			next[key] = since
		}
	}
	w.since = next
	return out
}
