package harvester

import (
	"fmt"

	"holdfast/catalog"
	"holdfast/duty"
)

// problemsShown is how many harvests are named one by one.
const problemsShown = 10

// Problems says which harvests wait, for a channel or for the end of another harvest, and which were deactivated
// because of an error.
func (h *Harvester) Problems() (out []string) {
	err := h.cfg.Agreement.View(func(v catalog.View) error {
		all, err := duty.HarvestsDue(v, h.cfg.Now())
		if err != nil {
			return err
		}
		for i, w := range all.Waiting {
			if i == problemsShown {
				out = append(out, fmt.Sprintf("%d more harvests wait for a channel", len(all.Waiting)-i))
				break
			}
			out = append(out, fmt.Sprintf("harvest %d (%s) waits: no node that crawls serves channel %s; name it in "+
				"channels in the cluster.toml of one", w.Number, w.Name, w.JobChannel()))
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
		out = append(out, h.trouble.say()...)
		failed, err := catalog.RunsIn(v).Failed(problemsShown)
		for _, f := range failed {
			out = append(out, fmt.Sprintf("harvest %d (%s) was deactivated because of an error: %s", f.Number, f.Name,
				f.Error))
		}
		return err
	})
	if err != nil {
		out = append(out, fmt.Sprintf("harvests: %v", err))
	}
	return out
}

// waitsForAnother says that no jobs are made of a snapshot before the one that it continues is finished.
func waitsForAnother(v catalog.View, number uint64) ([]string, error) {
	h, err := catalog.RunsIn(v).Harvest(number)
	if err != nil || h.Earlier == 0 {
		return nil, err
	}
	earlier, err := unfinished(v, h.Earlier)
	if err != nil || earlier == 0 {
		return nil, err
	}
	return []string{fmt.Sprintf("harvest %d (%s) waits until all jobs of snapshot %d, which it continues, have ended",
		h.Number, h.Name, earlier)}, nil
}
