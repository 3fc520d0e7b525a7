package harvester

import (
	"holdfast/catalog"
	"holdfast/catalog/history"
	"holdfast/harvest/split"
)

// kept is what the catalog knows of earlier harvests.
type kept struct{}

func (kept) Pending(v catalog.View) (bool, error) { return catalog.HistoryIn(v).PendingHistory() }

func (kept) Best(v catalog.View, domain, configuration string) (split.History, error) {
	return best(catalog.HistoryIn(v).Best(domain, configuration))
}

func (kept) Between(v catalog.View, first, last string) (Bests, error) {
	r, err := catalog.HistoryIn(v).Range(first, last, 4*walkPage)
	return func(domain, configuration string) (split.History, error) { return best(r.Best(domain, configuration)) }, err
}

func best(b history.Best, err error) (split.History, error) {
	return split.History{At: int64(b.At), Completed: b.Completed, Objects: b.Objects, Bytes: b.Bytes}, err
}

func (kept) Earlier(v catalog.View, harvest uint64, domain, configuration string) (split.Earlier, error) {
	e, err := catalog.HistoryIn(v).Earlier(harvest, domain, configuration)
	return split.Earlier{Stop: split.Stop(e.Stop),
		Limits: split.Limits{Objects: limit(e.MaxObjects), Bytes: limit(e.MaxBytes)}}, err
}
