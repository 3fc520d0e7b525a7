package duty

import (
	"slices"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/batches"
)

// mostDriven is how many batches a node drives before it leaves others to other nodes.
const mostDriven = 4

// BatchClaims lists the batches that run and that nobody drives, those first that began first: as many as a node may
// claim that drives that number already.
func BatchClaims(view catalog.View, self catalog.NodeID, driving int) ([]batches.Holder, error) {
	all, err := catalog.BatchesIn(view).Batches()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(b batches.Batch) bool { return b.State != batches.Running || b.Node != "" })
	slices.SortStableFunc(all, func(a, b batches.Batch) int { return int(min(max(a.Begun-b.Begun, -1), 1)) })
	var out []batches.Holder
	for i := range all[:min(len(all), max(0, mostDriven-driving))] {
		out = append(out, batches.Holder{ID: all[i].ID, Node: self, Term: all[i].Term})
	}
	return out, nil
}

// LostBatches lists the batches whose driver is no member any more, or was not heard from for longer than patience:
// then another node drives them. What a driver that was only cut off says later does not count. The times must carry
// the monotonic clock.
func LostBatches(view catalog.View, contacts Contacts, now time.Time,
	patience time.Duration) (out []batches.Holder, err error) {
	all, err := catalog.BatchesIn(view).Batches()
	if err != nil {
		return nil, err
	}
	members, err := view.Members()
	if err != nil {
		return nil, err
	}
	for i := range all {
		b := &all[i]
		if b.State.Ended() || b.Node == "" {
			continue
		}
		last := contacts.Since
		if heard := contacts.Heard[b.Node]; heard.After(last) {
			last = heard
		}
		there := slices.ContainsFunc(members, func(m catalog.Member) bool { return m.ID == b.Node })
		if !there || now.Sub(last) > patience {
			out = append(out, batches.Holder{ID: b.ID, Node: b.Node, Term: b.Term})
		}
	}
	return out, nil
}
