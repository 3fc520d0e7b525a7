package harvester

import (
	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/duty"
)

// problemsShown is how many harvests are named one by one.
const problemsShown = 10

// Alerts says which harvests wait, for a channel or for the end of another harvest, and which were deactivated because
// of an error.
func (h *Harvester) Alerts() (out []alert.Alert) {
	err := h.cfg.Agreement.View(func(v catalog.View) error {
		all, err := duty.HarvestsDue(v, h.cfg.Now())
		if err != nil {
			return err
		}
		for i, w := range all.Waiting {
			if i == problemsShown {
				out = append(out, alert.New(alert.MoreUnserved, "", "harvests", alert.Number(len(all.Waiting)-i)))
				break
			}
			out = append(out, alert.New(alert.HarvestUnserved, alert.Number(w.Number), "name", string(w.Name),
				"channel", string(w.JobChannel())))
		}
		open, err := catalog.RunsIn(v).OpenRuns()
		if err != nil {
			return err
		}
		for i := range min(len(open), problemsShown) {
			said, err := waitsForAnother(v, open[i].Harvest)
			if err != nil {
				return err
			}
			out = append(out, said...)
		}
		out = append(out, h.trouble.alerts()...)
		failed, err := catalog.RunsIn(v).Failed(problemsShown)
		for _, f := range failed {
			out = append(out, alert.New(alert.HarvestDeactivated, alert.Number(f.Number), "name", string(f.Name),
				"reason", f.Error))
		}
		return err
	})
	if err != nil {
		out = append(out, alert.New(alert.HarvestsUnread, "", "reason", err.Error()))
	}
	return out
}

// waitsForAnother says that no jobs are made of a snapshot before the one that it continues is finished.
func waitsForAnother(v catalog.View, number uint64) ([]alert.Alert, error) {
	h, err := catalog.RunsIn(v).Harvest(number)
	if err != nil || h.Earlier == 0 {
		return nil, err
	}
	earlier, err := catalog.RunsIn(v).Unfinished(h.Earlier)
	if err != nil || earlier == 0 {
		return nil, err
	}
	return []alert.Alert{alert.New(alert.HarvestWaits, alert.Number(h.Number), "name", string(h.Name),
		"snapshot", alert.Number(earlier))}, nil
}
