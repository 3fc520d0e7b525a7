package harvester

import (
	"context"

	"holdfast/api/wire"
)

// Previews says what harvests would do, as the API shows it.
type Previews struct{ *Harvester }

// Preview plans the jobs of a harvest and makes none.
func (p Previews) Preview(ctx context.Context, number uint64) (wire.HarvestPreview, error) {
	planned, err := p.Harvester.Preview(ctx, number)
	out := wire.HarvestPreview{Jobs: planned.Count, Configurations: planned.Configurations, Expected: planned.Expected,
		Busy: planned.Busy, BusyDomains: planned.BusyDomains, Channel: planned.Channel, Served: planned.Served,
		Error: planned.Error}
	for reason, n := range planned.LeftOut {
		if out.LeftOut == nil {
			out.LeftOut = map[string]int64{}
		}
		out.LeftOut[string(reason)] = n
	}
	for _, j := range planned.Jobs {
		out.First = append(out.First, wire.PreviewedJob{Template: j.Template, Overlay: j.Overlay, Bytes: j.Bytes,
			Configurations: j.Configurations, Expected: j.Expected})
	}
	return out, err
}
