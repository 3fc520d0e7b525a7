package duty

import (
	"time"

	"holdfast/alert"
	"holdfast/catalog"
)

// Silent returns the nodes whose shards are to be made again on others of their replica: those that the agreed alerts
// have called away for at least after, and that this leader has not heard for long either. It lasts from one leader to
// the next, since the alert does. A node that joined later under the same name is another one. Nobody is silent when
// after is 0.
func Silent(view catalog.View, unheard func(catalog.NodeID) bool, now time.Time,
	after time.Duration) (map[catalog.NodeID]bool, error) {
	out := map[catalog.NodeID]bool{}
	if after <= 0 {
		return out, nil
	}
	faults, err := catalog.NoticesIn(view).Faults()
	if err != nil {
		return nil, err
	}
	away := map[string]catalog.Time{} // since when
	for i := range faults {
		f := &faults[i]
		// What was agreed counts, not only when the alert says that it began: that is one node's clock.
		if f.Kind == string(alert.NodeAway) && f.Open() {
			away[f.Subject] = max(f.Raised, f.Since)
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
		m := &members[i]
		since, is := away[m.Name]
		if is && now.Sub(max(since, m.Joined).Std()) >= after && unheard(m.ID) {
			out[m.ID] = true
		}
	}
	return out, nil
}
