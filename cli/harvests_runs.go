package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/harvest/domain"
)

type harvestActivateCmd struct{ ofHarvest }

// Help says from when dates are counted.
func (harvestActivateCmd) Help() string {
	return "A schedule that does not say from when it counts counts from now, or from the harvest's start if that is " +
		"later. A snapshot is due at once, or at its start. Activating also ends the state failed."
}

func (c harvestActivateCmd) Run(a *app) error {
	return c.askHarvest(a, func(ctx context.Context, all client.Harvests, number uint64) (wire.Harvest, error) {
		return all.Activate(ctx, number, wire.HarvestActivation{})
	})
}

type harvestDeactivateCmd struct {
	ofHarvest
	Reason string `required:"" help:"Reason, written into the audit trail."`
}

// Help says what goes on.
func (harvestDeactivateCmd) Help() string {
	return "Jobs that were made stay, and a run whose jobs are being made is finished."
}

func (c harvestDeactivateCmd) Run(a *app) error {
	return c.askHarvest(a, func(ctx context.Context, all client.Harvests, number uint64) (wire.Harvest, error) {
		return all.Deactivate(ctx, number, c.Reason)
	})
}

// configurationFlags name configurations of domains.
type configurationFlags struct {
	ofHarvest
	Configurations []string `arg:"" optional:"" name:"domain" help:"Domains, each with a configuration after a slash: example.org/weekly. Without one, the default configuration."`
	File           string   `placeholder:"FILE" help:"A file with one of them per line, # begins a comment; - reads standard input."`
}

// atOnce is how many configurations one request has.
const atOnce = 100

// run does something with the configurations, as many at once as a request may have.
func (c configurationFlags) run(a *app, do func(client.Harvests, context.Context, uint64,
	...wire.HarvestConfiguration) (wire.Harvest, error)) error {
	if len(c.Configurations) == 0 && c.File == "" {
		return usage("which configurations? name domains, or give --file")
	}
	var all []wire.HarvestConfiguration
	for _, text := range c.Configurations {
		all = append(all, configurationFrom(text))
	}
	if c.File != "" {
		err := a.withText(c.File, func(text io.Reader) error {
			for lines := domain.NewLines(text); ; {
				line, err := lines.Next()
				if err == io.EOF {
					return nil
				}
				if err == nil {
					err = line.Bad
				}
				if err != nil {
					return fmt.Errorf("line %d: %w", line.Number, err)
				}
				all = append(all, configurationFrom(line.Text))
			}
		})
		if err != nil {
			return err
		}
	}
	return c.askHarvest(a, func(ctx context.Context, harvests client.Harvests,
		number uint64) (h wire.Harvest, err error) {
		if len(all) == 0 {
			return harvests.Show(ctx, number)
		}
		for some := range slices.Chunk(all, atOnce) {
			if h, err = do(harvests, ctx, number, some...); err != nil {
				return h, fmt.Errorf("%s and the %d after it: %w", textOf(some[0]), len(some)-1, err)
			}
		}
		return h, nil
	})
}

func configurationFrom(text string) wire.HarvestConfiguration {
	domain, name, _ := strings.Cut(text, "/")
	return wire.HarvestConfiguration{Domain: domain, Configuration: name}
}

func textOf(c wire.HarvestConfiguration) string {
	if c.Configuration == "" {
		return c.Domain
	}
	return c.Domain + "/" + c.Configuration
}

type harvestAddCmd struct{ configurationFlags }

func (c harvestAddCmd) Run(a *app) error { return c.run(a, client.Harvests.Add) }

type harvestRemoveCmd struct{ configurationFlags }

func (c harvestRemoveCmd) Run(a *app) error { return c.run(a, client.Harvests.Remove) }

type harvestConfigurationsCmd struct{ ofHarvest }

func (c harvestConfigurationsCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		number, err := c.number(ctx, archive)
		if err != nil {
			return err
		}
		return stream(a, archive.Harvests().Configurations(ctx, number),
			func(w io.Writer, one wire.HarvestConfiguration) error {
				_, err := fmt.Fprintln(w, textOf(one))
				return err
			})
	})
}

type harvestSeedsCmd struct {
	ofHarvest
	File     string `arg:"" help:"The file: one URL per line, # begins a comment; - reads standard input."`
	Template string `help:"The template of new configurations; default: as domain settings says."`
	Objects  string `placeholder:"N" help:"The limit on objects of new configurations, or none; default: as domain settings says."`
	Bytes    string `placeholder:"N" help:"The limit on bytes of new configurations, or none; default: as domain settings says."`
}

// Help says what becomes of the seeds.
func (harvestSeedsCmd) Help() string {
	return "The domain of each seed gets a seed list and a configuration with it, which are named after the harvest, " +
		"and the harvest gets the configuration. Domains that are not there are made. Seeds that are there change " +
		"nothing, so that the same command can be given again. Lines that cannot be used are printed with the " +
		"reason; the exit code is 1 then."
}

func (c harvestSeedsCmd) Run(a *app) error {
	show := func(a *app, s wire.HarvestSeeds) error {
		err := a.answer(s, func() error {
			for _, bad := range s.BadLines {
				fmt.Fprintf(a.stderr, "line %d: %s\n", bad.Line, bad.Reason)
			}
			return a.table(table.Row{"Lines", "Seeds", "Known", "Domains made", "Configurations", "Bad"},
				[]table.Row{{s.Lines, s.Seeds, s.Known, s.Domains, s.Configurations, s.Bad}})
		})
		switch {
		case err != nil:
			return err
		case s.Reason != "":
			return fmt.Errorf("the rest of the list was not read: %s", s.Reason)
		case s.Bad > 0:
			return fmt.Errorf("%d lines could not be used", s.Bad)
		}
		return nil
	}
	return a.withText(c.File, func(text io.Reader) error {
		return ask(a, show, func(ctx context.Context, archive *client.Client) (wire.HarvestSeeds, error) {
			number, err := c.number(ctx, archive)
			if err != nil {
				return wire.HarvestSeeds{}, err
			}
			return archive.Harvests().AddSeeds(ctx, number, client.SeedsOptions{Template: c.Template,
				Objects: c.Objects, Bytes: c.Bytes}, text)
		})
	})
}

type harvestRunsCmd struct{ ofHarvest }

func (c harvestRunsCmd) Run(a *app) error {
	return ask(a, runTable, func(ctx context.Context, archive *client.Client) ([]wire.HarvestRun, error) {
		number, err := c.number(ctx, archive)
		if err != nil {
			return nil, err
		}
		return gathered(archive.Harvests().Runs(ctx, number))
	})
}

func runTable(a *app, all []wire.HarvestRun) error {
	return list(a, all, table.Row{"Run", "State", "Date", "Begun", "Jobs", "Configurations", "Left out", "Removed",
		"In open jobs", "Objects", "Size", "Usual", "Waits", "Error"}, func(r wire.HarvestRun) table.Row {
		var objects, came, usual any = "", "", ""
		if b := r.Brought; b != nil {
			objects, came = b.Objects, size(b.Bytes)
			if u := b.Usual; u != nil {
				usual = fmt.Sprintf("%d, %s", u.Objects, size(u.Bytes))
			}
		}
		var left []string
		for _, reason := range slices.Sorted(maps.Keys(r.LeftOut)) {
			left = append(left, fmt.Sprintf("%s: %d", reason, r.LeftOut[reason]))
		}
		return table.Row{r.Number, r.State, when(r.Date), when(r.Begun), r.Jobs, r.Configurations,
			strings.Join(left, ", "), r.Gone, r.Busy, objects, came, usual, r.Waits, r.Error}
	})
}

type harvestJobsCmd struct {
	ofHarvest
	N uint64 `name:"run" help:"The number of the run; without it, the last one."`
}

func (c harvestJobsCmd) Run(a *app) error {
	return ask(a, jobTable, func(ctx context.Context, archive *client.Client) ([]wire.Job, error) {
		number, err := c.number(ctx, archive)
		if err != nil {
			return nil, err
		}
		if c.N != 0 {
			return gathered(archive.Harvests().Jobs(ctx, number, c.N))
		}
		for last, err := range archive.Harvests().Runs(ctx, number) {
			if err != nil {
				return nil, err
			}
			return gathered(archive.Harvests().Jobs(ctx, number, last.Number))
		}
		return nil, nil // it has not run
	})
}

type harvestDatesCmd struct {
	ofHarvest
	N int `short:"n" default:"10" help:"How many dates."`
}

// Help says which dates a harvest has that is not active.
func (harvestDatesCmd) Help() string {
	return "Of a harvest that is not active, the dates are those that it would have if it were activated now."
}

func (c harvestDatesCmd) Run(a *app) error {
	return ask(a, dateTable, func(ctx context.Context, archive *client.Client) ([]wire.Date, error) {
		number, err := c.number(ctx, archive)
		if err != nil {
			return nil, err
		}
		return archive.Harvests().Dates(ctx, number, c.N)
	})
}

type harvestSettingsCmd struct {
	Set []string `placeholder:"NAME=VALUE" sep:"none" help:"Change a setting; the value is JSON, or else text. May be repeated."`
}

// Help says what they are about.
func (harvestSettingsCmd) Help() string {
	return "They say how many objects are expected of a configuration, and where a job ends. doc/splitting.md " +
		"explains them."
}

func (c harvestSettingsCmd) Run(a *app) error {
	changes, err := readSettings(c.Set)
	if err != nil {
		return err
	}
	show := func(a *app, s wire.HarvestSettings) error {
		return a.answer(s, func() error { return printSettings(a, s.Settings) })
	}
	return ask(a, show, func(ctx context.Context, archive *client.Client) (wire.HarvestSettings, error) {
		if len(changes) == 0 {
			return archive.Harvests().Settings(ctx)
		}
		return archive.Harvests().SetSettings(ctx, changes)
	})
}

// readSettings reads settings, each as NAME=VALUE.
func readSettings(given []string) (map[string]any, error) {
	changes := map[string]any{}
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usage("--set %s: want NAME=VALUE", text)
		}
		var read any
		if json.Unmarshal([]byte(value), &read) != nil {
			read = value
		}
		changes[strings.TrimSpace(name)] = read
	}
	return changes, nil
}

func printSettings(a *app, settings any) error {
	out := json.NewEncoder(a.stdout)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(settings)
}
