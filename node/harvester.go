package node

import (
	"path/filepath"
	"time"

	"holdfast/catalog"
	"holdfast/node/harvester"
	"holdfast/node/membership"
	"holdfast/node/runner"
)

func (n *Node) openHarvester() {
	n.harvester = harvester.New(harvester.Config{Self: n.id, Dir: filepath.Join(n.cfg.Data, "incoming"),
		Agreement: n.raft, Now: dates(n.cfg.Dates, n.clocks), Zones: time.LoadLocation,
		Log: n.log.With("room", "harvester")})
}

// dates is the clock by which harvests come due.
func dates(of func(time.Time) time.Time, clocks *membership.Clocks) func() time.Time {
	if of == nil {
		return clocks.Now
	}
	return func() time.Time { return of(clocks.Now()) }
}

// definitions tells the runner what jobs of harvests were made from.
type definitions struct{ of *harvester.Harvester }

// find finds what a job was made from.
func (all definitions) find(job catalog.Job) (runner.Definition, error) {
	d, err := all.of.Definition(job)
	if err != nil {
		return runner.Definition{}, err
	}
	out := runner.Definition{Harvest: d.Harvest, Template: d.Template, Schedule: d.Schedule, Continues: d.Continues,
		Info: runner.HarvestInfo{
			HarvestName: d.Said.Name, HarvestComments: d.Said.Comments, ScheduleName: d.Said.Schedule,
			TemplateName: d.TemplateName, TemplateDescription: d.TemplateComment, Audience: d.Said.Audience}}
	if !d.TemplateMade.IsZero() {
		out.Info.TemplateUpdated = d.TemplateMade.UTC().Format(time.RFC3339)
	}
	for _, a := range d.Aliases {
		out.Aliases = append(out.Aliases, runner.Alias(a))
	}
	return out, nil
}
