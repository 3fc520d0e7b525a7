package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type harvestPreviewCmd struct{ ofHarvest }

// Help says what is expected.
func (harvestPreviewCmd) Help() string {
	return "Nothing is made. The expected objects follow from the limits, and from what earlier harvests of the same " +
		"configurations brought. Of many jobs, the first 1000 are listed."
}

func (c harvestPreviewCmd) Run(a *app) error {
	return ask(a, showPreview, func(ctx context.Context, archive *client.Client) (wire.HarvestPreview, error) {
		number, err := c.number(ctx, archive)
		if err != nil {
			return wire.HarvestPreview{}, err
		}
		return archive.Harvests().Preview(ctx, number)
	})
}

func showPreview(a *app, p wire.HarvestPreview) error {
	return a.answer(p, func() error {
		channel := p.Channel
		if !p.Served {
			channel += ", which no node serves"
		}
		rows := []table.Row{{"jobs", p.Jobs}, {"configurations", p.Configurations}, {"expected objects", p.Expected},
			{"channel", channel}}
		for _, reason := range slices.Sorted(maps.Keys(p.LeftOut)) {
			rows = append(rows, table.Row{"left out: " + reason, p.LeftOut[reason]})
		}
		if p.Busy > 0 {
			rows = append(rows, table.Row{"in open jobs already", fmt.Sprintf("%d: %s", p.Busy,
				strings.Join(p.BusyDomains, " "))})
		}
		if p.Error != "" {
			rows = append(rows, table.Row{"error", p.Error})
		}
		if err := a.table(nil, rows); err != nil || len(p.First) == 0 {
			return err
		}
		fmt.Fprintln(a.stdout)
		rows = nil
		for i, j := range p.First {
			rows = append(rows, table.Row{i + 1, j.Template, j.Overlay, j.Bytes, j.Configurations, j.Expected})
		}
		return a.table(table.Row{"Job", "Template", "Laid over it", "Bytes of each", "Configurations", "Expected"},
			rows)
	})
}
