package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/harvest"
)

type harvestCmd struct {
	Create         harvestCreateCmd         `cmd:"" help:"Create a harvest, which is not active."`
	List           harvestListCmd           `cmd:"" help:"List harvests."`
	Show           harvestShowCmd           `cmd:"" help:"Show a harvest, how it stands, and its last run."`
	Set            harvestSetCmd            `cmd:"" help:"Change a harvest."`
	Copy           harvestCopyCmd           `cmd:"" help:"Copy a harvest with its configurations."`
	Delete         harvestDeleteCmd         `cmd:"" help:"Delete a harvest that is not active and has never run."`
	Activate       harvestActivateCmd       `cmd:"" help:"Activate a harvest: from now on it runs on its dates."`
	Deactivate     harvestDeactivateCmd     `cmd:"" help:"Deactivate a harvest: it does not run any more."`
	Add            harvestAddCmd            `cmd:"" help:"Give a selective or event harvest configurations of domains."`
	Remove         harvestRemoveCmd         `cmd:"" help:"Take configurations from a selective or event harvest."`
	Seeds          harvestSeedsCmd          `cmd:"" help:"Give an event harvest seeds in bulk, from a file."`
	Configurations harvestConfigurationsCmd `cmd:"" help:"List the configurations of a harvest, by domain."`
	Runs           harvestRunsCmd           `cmd:"" help:"List the runs of a harvest, the latest first."`
	Jobs           harvestJobsCmd           `cmd:"" help:"List the jobs of a run of a harvest."`
	Dates          harvestDatesCmd          `cmd:"" help:"List the next dates of a harvest."`
	Preview        harvestPreviewCmd        `cmd:"" help:"Show which jobs a harvest would make now, and how large they would be."`
	Settings       harvestSettingsCmd       `cmd:"" help:"Show or change how harvests are split into jobs."`
}

// ofHarvest is the argument of an act on a harvest.
type ofHarvest struct {
	Harvest string `arg:"" help:"The harvest's number or name."`
}

// number returns the number of the harvest, which may be named.
func (h ofHarvest) number(ctx context.Context, archive *client.Client) (uint64, error) {
	return harvestNumber(ctx, archive, h.Harvest)
}

func harvestNumber(ctx context.Context, archive *client.Client, text string) (uint64, error) {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, nil
	}
	for h, err := range archive.Harvests().List(ctx, client.HarvestQuery{Named: text}) {
		return h.Number, err
	}
	return 0, fmt.Errorf("no harvest has the name %q", text)
}

// askHarvest shows the harvest that an act answers with.
func (h ofHarvest) askHarvest(a *app, act func(context.Context, client.Harvests, uint64) (wire.Harvest, error)) error {
	return ask(a, showHarvest, func(ctx context.Context, archive *client.Client) (wire.Harvest, error) {
		number, err := h.number(ctx, archive)
		if err != nil {
			return wire.Harvest{}, err
		}
		return act(ctx, archive.Harvests(), number)
	})
}

type harvestCreateCmd struct {
	Name       string        `arg:"" help:"The harvest's name."`
	Kind       string        `enum:"selective,event,snapshot" default:"selective" help:"selective: chosen configurations on a schedule. event: the same, for an occasion. snapshot: all domains of the collection, once."`
	Schedule   string        `help:"When it runs. Needed unless it is a snapshot."`
	Collection string        `help:"The collection; default: the cluster's first."`
	Channel    string        `help:"The channel of its jobs; default: the default channel for harvests of its kind."`
	Start      string        `placeholder:"TIME" help:"Do not run before this time, such as 2026-01-31T22:00:00Z."`
	Objects    *int64        `placeholder:"N" help:"Of a snapshot: fetch at most this many objects of each domain."`
	Bytes      *int64        `placeholder:"N" help:"Of a snapshot: fetch at most this many bytes of each domain."`
	MaxTime    time.Duration `placeholder:"24h" help:"Of a snapshot: the longest that a job may take."`
	Continues  string        `placeholder:"HARVEST" help:"Of a snapshot: the snapshot that it continues."`
	Audience   string        `help:"Who the harvest is for."`
	Comments   string        `help:"Comments."`
	Field      []string      `placeholder:"NAME=VALUE" sep:"none" help:"The value of an extended field. May be repeated."`
}

func (c harvestCreateCmd) Run(a *app) error {
	in := wire.HarvestRequest{Name: c.Name, Kind: c.Kind, Collection: c.Collection, Channel: c.Channel,
		Schedule: c.Schedule, Objects: c.Objects, Bytes: c.Bytes, MaxTime: harvest.Duration(c.MaxTime),
		Audience: c.Audience, Comments: c.Comments}
	var err error
	if in.Fields, err = readFields(c.Field); err != nil {
		return err
	}
	if in.Start, err = readTime("--start", c.Start); err != nil {
		return err
	}
	return ask(a, showHarvest, func(ctx context.Context, archive *client.Client) (wire.Harvest, error) {
		if c.Continues != "" {
			if in.Continues, err = harvestNumber(ctx, archive, c.Continues); err != nil {
				return wire.Harvest{}, err
			}
		}
		return archive.Harvests().Create(ctx, in)
	})
}

// readTime reads a time that a flag gives; the empty one is zero.
func readTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, usage("%s %s: want a time such as 2026-01-31T22:00:00Z", flag, text)
	}
	return at, nil
}

type harvestListCmd struct {
	Search     string `placeholder:"TEXT" help:"List only harvests that have this text in their name, audience or comments."`
	Collection string `help:"List only harvests of this collection."`
	Domain     string `help:"List only selective and event harvests that have a configuration of this domain."`
	Kind       string `enum:",selective,event,snapshot" default:"" help:"List only harvests of this kind: selective, event or snapshot."`
	State      string `enum:",inactive,waiting,splitting,blocked,failed,ended" default:"" help:"List only harvests in this state: inactive, waiting, splitting, blocked, failed or ended."`
	Sort       string `enum:"name,changed,next" default:"name" help:"Sort by name, by the time of the last change, latest first, or by the next date: name, changed or next."`
}

// Help says what the states are.
func (harvestListCmd) Help() string {
	return "waiting: for its next date. splitting: the jobs of a run are being made. blocked: it is due, and no node " +
		"serves its channel. failed: it was deactivated because of an error. ended: it has no further date."
}

func (c harvestListCmd) Run(a *app) error {
	show := func(a *app, all []wire.Harvest) error {
		return list(a, all, table.Row{"Number", "Harvest", "Kind", "Collection", "State", "Schedule", "Next", "Runs",
			"Configurations"}, func(h wire.Harvest) table.Row {
			return table.Row{h.Number, h.Name, h.Kind, h.Collection, h.State, h.Schedule, when(h.Next), h.Runs,
				h.Configurations}
		})
	}
	return ask(a, show, func(ctx context.Context, archive *client.Client) ([]wire.Harvest, error) {
		return gathered(archive.Harvests().List(ctx, client.HarvestQuery{Search: c.Search, Collection: c.Collection,
			Domain: c.Domain, Kind: c.Kind, State: wire.HarvestState(c.State), Sort: c.Sort}))
	})
}

type harvestShowCmd struct{ ofHarvest }

func (c harvestShowCmd) Run(a *app) error {
	return c.askHarvest(a, func(ctx context.Context, all client.Harvests, number uint64) (wire.Harvest, error) {
		return all.Show(ctx, number)
	})
}

func showHarvest(a *app, h wire.Harvest) error {
	return a.answer(h, func() error {
		rows := []table.Row{{"number", h.Number}, {"harvest", h.Name}, {"kind", h.Kind}, {"collection", h.Collection},
			{"state", h.State}, {"channel", h.Channel}}
		limits := [2]string{}
		if h.Kind == "snapshot" {
			limits = [2]string{h.Objects.String(), h.Bytes.String()}
		}
		for _, f := range []struct{ name, value string }{{"schedule", h.Schedule}, {"start", unlessZero(h.Start)},
			{"next date", unlessZero(h.Next)}, {"objects of a domain", limits[0]}, {"bytes of a domain", limits[1]},
			{"longest job", longest(h.MaxTime)}, {"continues", counted(h.Continues)}, {"audience", h.Audience},
			{"comments", h.Comments}, {"missing fields", strings.Join(h.Missing, " ")}, {"error", h.Error},
			{"detail", h.Detail}} {
			if f.value != "" {
				rows = append(rows, table.Row{f.name, f.value})
			}
		}
		for _, name := range slices.Sorted(maps.Keys(h.Fields)) {
			rows = append(rows, table.Row{"field " + name, h.Fields[name]})
		}
		if h.Kind != "snapshot" {
			rows = append(rows, table.Row{"configurations", h.Configurations})
		}
		rows = append(rows, table.Row{"runs", h.Runs}, table.Row{"skipped dates", h.Skipped},
			table.Row{"changed", when(h.Changed) + " by " + h.ChangedBy})
		if err := a.table(nil, rows); err != nil || h.LastRun == nil {
			return err
		}
		fmt.Fprintln(a.stdout)
		return runTable(a, []wire.HarvestRun{*h.LastRun})
	})
}

func unlessZero(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return when(t)
}

func longest(d harvest.Duration) string {
	if d == 0 {
		return ""
	}
	return d.Std().String()
}

func counted(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

type harvestSetCmd struct {
	ofHarvest
	Name      *string        `help:"Its new name."`
	Schedule  *string        `help:"When it runs."`
	Channel   *string        `help:"The channel of its jobs; empty: the default channel for harvests of its kind."`
	Start     string         `placeholder:"TIME" help:"Do not run before this time, such as 2026-01-31T22:00:00Z."`
	Objects   *int64         `placeholder:"N" help:"Of a snapshot: fetch at most this many objects of each domain."`
	Bytes     *int64         `placeholder:"N" help:"Of a snapshot: fetch at most this many bytes of each domain."`
	MaxTime   *time.Duration `placeholder:"24h" help:"Of a snapshot: the longest that a job may take."`
	Continues string         `placeholder:"HARVEST" help:"Of a snapshot: the snapshot that it continues."`
	Clear     []string       `enum:"start,objects,bytes,maxTime,continues" help:"Remove start, objects, bytes, maxTime or continues. May be repeated."`
	Audience  *string        `help:"Who the harvest is for."`
	Comments  *string        `help:"Comments."`
	Field     []string       `placeholder:"NAME=VALUE" sep:"none" help:"The value of an extended field; NAME= removes it. May be repeated."`
}

// Help says what becomes of the next date.
func (harvestSetCmd) Help() string {
	return "The next date of an active harvest changes only with --schedule or --start. A run whose jobs are being " +
		"made stays as it was when it began."
}

func (c harvestSetCmd) Run(a *app) error {
	in := wire.HarvestChange{Name: c.Name, Channel: c.Channel, Schedule: c.Schedule, Objects: c.Objects, Bytes: c.Bytes,
		Clear: c.Clear, Audience: c.Audience, Comments: c.Comments}
	var err error
	if in.Fields, err = readFields(c.Field); err != nil {
		return err
	}
	start, err := readTime("--start", c.Start)
	if err != nil {
		return err
	}
	if c.Start != "" {
		in.Start = &start
	}
	if c.MaxTime != nil {
		most := harvest.Duration(*c.MaxTime)
		in.MaxTime = &most
	}
	return ask(a, showHarvest, func(ctx context.Context, archive *client.Client) (wire.Harvest, error) {
		number, err := c.number(ctx, archive)
		if err != nil {
			return wire.Harvest{}, err
		}
		if c.Continues != "" {
			earlier, err := harvestNumber(ctx, archive, c.Continues)
			if err != nil {
				return wire.Harvest{}, err
			}
			in.Continues = &earlier
		}
		return archive.Harvests().Set(ctx, number, in)
	})
}

type harvestCopyCmd struct {
	ofHarvest
	Name string `arg:"" help:"The name of the copy."`
}

func (c harvestCopyCmd) Run(a *app) error {
	return c.askHarvest(a, func(ctx context.Context, all client.Harvests, number uint64) (wire.Harvest, error) {
		return all.Copy(ctx, number, c.Name)
	})
}

type harvestDeleteCmd struct {
	ofHarvest
	Reason string `required:"" help:"Reason, written into the audit trail."`
}

func (c harvestDeleteCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		number, err := c.number(ctx, archive)
		if err != nil {
			return err
		}
		if err := archive.Harvests().Delete(ctx, number, c.Reason); err != nil {
			return err
		}
		return a.done("deleted", c.Harvest)
	})
}
