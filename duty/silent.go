package duty

import (
	"time"

	"holdfast/alert"
	"holdfast/catalog"
)

// Silent returns the nodes whose shards are to be made again on others of their replica: those that the agreed alerts
// have called away for at least after, and that this leader does not hear either. It lasts from one leader to the next,
// since the alert does. Nobody is silent when after is 0.
func Silent(view catalog.View, alive func(catalog.NodeID) bool, now time.Time,
	after time.Duration) (map[catalog.NodeID]bool, error) {
	out := map[catalog.NodeID]bool{}
	if after <= 0 {
		return out, nil
	}
	faults, err := catalog.NoticesIn(view).Faults()
	if err != nil {
		return nil, err
	}
	away := map[string]bool{}
	for i := range faults {
		f := &faults[i]
		// What was agreed counts, not only when the alert says that it began: that is one node's clock.
		long := now.Sub(max(f.Raised, f.Since).Std()) >= after
		if f.Kind == string(alert.NodeAway) && f.Open() && long {
			away[f.Subject] = true
		}
	}
	if len(away) == 0 {
		return out, nil
	}
	members, err := view.Members()
	if err != nil {
		return nil, err
	}
	for i := range members {
		if m := &members[i]; away[m.Name] && !alive(m.ID) {
			out[m.ID] = true
		}
	}
	return out, nil
}
