package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/harvest/schedule"
)

type scheduleCmd struct {
	List     scheduleListCmd     `cmd:"" help:"List the schedules."`
	Show     scheduleShowCmd     `cmd:"" help:"Show a schedule."`
	Dates    scheduleDatesCmd    `cmd:"" help:"List the next dates of a schedule."`
	Versions scheduleVersionsCmd `cmd:"" help:"List the versions of a schedule, oldest first."`
	Create   scheduleCreateCmd   `cmd:"" help:"Create a schedule."`
	Set      scheduleSetCmd      `cmd:"" help:"Change a schedule."`
	Copy     scheduleCopyCmd     `cmd:"" help:"Copy a schedule, such as one that comes with the system."`
	Delete   scheduleDeleteCmd   `cmd:"" help:"Delete a schedule that nothing uses."`
}

// frequencyFlags are what a schedule says; a file can say it all.
type frequencyFlags struct {
	File    string `placeholder:"FILE" help:"Read the schedule from this JSON file, campaigns too. The other flags take precedence."`
	Unit    string `placeholder:"day" help:"What is counted: once, minute, hour, day, week or month."`
	Every   int    `placeholder:"N" help:"How many units there are between two dates."`
	Minute  *int   `placeholder:"0-59" help:"With hours: the minute of the hour."`
	At      string `placeholder:"22:00" help:"With days, weeks and months: the time of day."`
	Weekday string `placeholder:"mon" help:"With weeks: the day of the week, mon to sun."`
	Day     int    `placeholder:"1-31" help:"With months: the day of the month."`
	From    string `placeholder:"DATE" help:"The first day, such as 2026-01-31, or time, such as 2026-01-31T22:00."`
	Until   string `placeholder:"DATE" help:"The last day or time."`
	Times   int64  `placeholder:"N" help:"End after this many dates."`
	Zone    string `placeholder:"Europe/Copenhagen" help:"The time zone. Default: UTC."`
}

// given reports whether any flag is.
func (f frequencyFlags) given() bool { return f != frequencyFlags{} }

// schedule is what the file and the flags say.
func (f frequencyFlags) schedule() (json.RawMessage, error) {
	var s schedule.Schedule
	if f.File != "" {
		text, err := readJSON(f.File)
		if err != nil {
			return nil, err
		}
		if s, err = schedule.Parse(text); err != nil {
			return nil, fmt.Errorf("%s: %w", f.File, err)
		}
	}
	if f.Unit != "" {
		s.Unit = schedule.Unit(f.Unit)
	}
	if f.Every != 0 {
		s.Every = f.Every
	}
	if f.Minute != nil {
		s.Minute = f.Minute
	}
	if f.Day != 0 {
		s.Day = f.Day
	}
	if f.Times != 0 {
		s.Times = f.Times
	}
	for to, from := range map[*string]string{&s.At: f.At, &s.Weekday: f.Weekday, &s.From: f.From, &s.Until: f.Until,
		&s.Zone: f.Zone} {
		if from != "" {
			*to = from
		}
	}
	if s.Unit == "" {
		return nil, usage("how often? give --unit or --file")
	}
	return json.Marshal(s)
}

type scheduleListCmd struct{ definedListFlags }

func (c scheduleListCmd) Run(a *app) error {
	return ask(a, scheduleTable, func(ctx context.Context, archive *client.Client) ([]wire.Schedule, error) {
		return gathered(archive.Schedules().List(ctx, c.Search, c.Sort))
	})
}

func scheduleTable(a *app, all []wire.Schedule) error {
	return list(a, all, table.Row{"Schedule", "Version", "Standard", "Changed", "By", "Comment"},
		func(s wire.Schedule) table.Row {
			return table.Row{s.Name, s.Version, yes(s.Standard), when(s.Changed), s.ChangedBy, s.Comment}
		})
}

func showSchedule(a *app, s wire.Schedule) error {
	return a.answer(s, func() error {
		rows := append(definedRows("schedule", s.Defined), table.Row{"standard", yes(s.Standard)})
		if err := a.table(nil, rows); err != nil {
			return err
		}
		fmt.Fprintln(a.stdout)
		return printJSON(a, s.Schedule)
	})
}

type scheduleShowCmd struct {
	Name    string `arg:"" help:"The schedule's name."`
	Version int    `name:"number" placeholder:"VERSION" help:"Show this version. Default: the latest."`
}

func (c scheduleShowCmd) Run(a *app) error {
	return ask(a, showSchedule, func(ctx context.Context, archive *client.Client) (wire.Schedule, error) {
		return archive.Schedules().Show(ctx, c.Name, c.Version)
	})
}

type scheduleDatesCmd struct {
	Name string `arg:"" help:"The schedule's name."`
	From string `placeholder:"TIME" help:"When the harvest is activated, such as 2026-01-31T22:00:00Z. Default: now."`
	N    int    `short:"n" default:"10" help:"How many dates."`
}

func (c scheduleDatesCmd) Run(a *app) error {
	from, err := readTime("--from", c.From)
	if err != nil {
		return err
	}
	return ask(a, dateTable, func(ctx context.Context, archive *client.Client) ([]wire.Date, error) {
		return archive.Schedules().Dates(ctx, c.Name, from, c.N)
	})
}

func dateTable(a *app, all []wire.Date) error {
	return list(a, all, table.Row{"Date", "In its zone"}, func(d wire.Date) table.Row {
		return table.Row{d.At.Format(time.RFC3339), d.Local}
	})
}

type scheduleVersionsCmd struct {
	Name string `arg:"" help:"The schedule's name."`
}

func (c scheduleVersionsCmd) Run(a *app) error {
	return ask(a, versionTable, func(ctx context.Context, archive *client.Client) ([]wire.Version, error) {
		return archive.Schedules().Versions(ctx, c.Name)
	})
}

type scheduleCreateCmd struct {
	Name    string `arg:"" help:"The schedule's name: letters, digits, dots, dashes and underscores."`
	Comment string `help:"What the schedule is for."`
	frequencyFlags
}

// Help says what is not given.
func (scheduleCreateCmd) Help() string {
	return "What is not given (the minute, the time of day, the day) is that of the moment at which a harvest with " +
		"the schedule is activated."
}

func (c scheduleCreateCmd) Run(a *app) error {
	text, err := c.schedule()
	if err != nil {
		return err
	}
	return ask(a, showSchedule, func(ctx context.Context, archive *client.Client) (wire.Schedule, error) {
		return archive.Schedules().Create(ctx, wire.ScheduleRequest{Name: c.Name, Schedule: text, Comment: c.Comment})
	})
}

type scheduleSetCmd struct {
	Name    string  `arg:"" help:"The schedule's name."`
	Comment *string `help:"What the schedule is for."`
	After   int     `placeholder:"VERSION" help:"The version that your change is based on; refused if there is a later one."`
	frequencyFlags
}

// Help says that a schedule is given as a whole.
func (scheduleSetCmd) Help() string {
	return "The flags and the file give the whole schedule: what they do not say does not stay."
}

func (c scheduleSetCmd) Run(a *app) error {
	change := wire.ScheduleChange{Comment: c.Comment, After: c.After}
	if c.given() {
		text, err := c.schedule()
		if err != nil {
			return err
		}
		change.Schedule = text
	} else if c.Comment == nil {
		return usage("nothing to change: give --unit, --file or --comment")
	}
	return ask(a, showSchedule, func(ctx context.Context, archive *client.Client) (wire.Schedule, error) {
		return archive.Schedules().Set(ctx, c.Name, change)
	})
}

type scheduleCopyCmd struct{ copyFlags }

func (c scheduleCopyCmd) Run(a *app) error {
	return ask(a, showSchedule, func(ctx context.Context, archive *client.Client) (wire.Schedule, error) {
		return archive.Schedules().Copy(ctx, c.From, c.copying())
	})
}

type scheduleDeleteCmd struct {
	Name string `arg:"" help:"The schedule's name."`
}

func (c scheduleDeleteCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if err := archive.Schedules().Delete(ctx, c.Name); err != nil {
			return err
		}
		return a.done("deleted", c.Name)
	})
}
