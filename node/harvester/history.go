package harvester

import (
	"holdfast/catalog"
	"holdfast/harvest/split"
)

// kept is what the catalog knows of earlier harvests.
type kept struct{}

func (kept) Pending(v catalog.View) (bool, error) { return catalog.HistoryIn(v).PendingHistory() }

func (kept) Best(v catalog.View, domain, configuration string) (split.History, error) {
	b, err := catalog.HistoryIn(v).Best(domain, configuration)
	return split.History{At: int64(b.At), Completed: b.Completed, Objects: b.Objects, Bytes: b.Bytes}, err
}

func (kept) Earlier(v catalog.View, harvest uint64, domain, configuration string) (split.Earlier, error) {
	e, err := catalog.HistoryIn(v).Earlier(harvest, domain, configuration)
	return split.Earlier{Stop: split.Stop(e.Stop),
		Limits: split.Limits{Objects: limit(e.MaxObjects), Bytes: limit(e.MaxBytes)}}, err
}
