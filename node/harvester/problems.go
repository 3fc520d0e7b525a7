package harvester

import (
	"fmt"

	"holdfast/catalog"
	"holdfast/duty"
)

// problemsShown is how many harvests are named one by one.
const problemsShown = 10

// Problems says which harvests wait for a channel, and which were deactivated because of an error.
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
