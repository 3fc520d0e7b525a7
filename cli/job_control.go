package cli

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/harvest"
	"holdfast/harvest/act"
)

// controlCmds are the commands over a crawl that runs.
type controlCmds struct {
	Live        liveCmd        `cmd:"" help:"Show what a crawl is doing this moment: rates, workers, slow hosts."`
	Queues      queuesCmd      `cmd:"" help:"List the queues."`
	Domains     domainsCmd     `cmd:"" help:"List what was fetched of each domain, and which limit stopped it."`
	URIs        urisCmd        `cmd:"" name:"uris" help:"List queued URIs."`
	Delete      deleteCmd      `cmd:"" help:"Delete queued URIs."`
	Freeze      freezeCmd      `cmd:"" help:"Freeze queues: stop fetching from them until they are thawed."`
	Thaw        thawCmd        `cmd:"" help:"Thaw frozen queues: fetch from them again."`
	Retire      retireCmd      `cmd:"" help:"Retire queues, as if their budget were spent."`
	Budget      budgetCmd      `cmd:"" help:"Change the budgets of queues. A retired queue that has budget again goes on."`
	Block       blockCmd       `cmd:"" help:"Stop fetching from a host, or whatever begins with a SURT prefix."`
	Unblock     unblockCmd     `cmd:"" help:"Remove a block that job block set."`
	Forget      forgetCmd      `cmd:"" help:"Forget that a URI was seen, so that it is fetched when it is found again."`
	Never       neverCmd       `cmd:"" help:"Never fetch a URI."`
	Seeds       seedsCmd       `cmd:"" help:"Add seeds."`
	Set         setCmd         `cmd:"" help:"Change settings."`
	Explain     explainCmd     `cmd:"" help:"Show which settings hold for a URI, and what each rule decides about it."`
	Kill        killCmd        `cmd:"" help:"Abort one fetch."`
	Checkpoint  checkpointCmd  `cmd:"" help:"Save a checkpoint, from which the crawl can be started again."`
	Checkpoints checkpointsCmd `cmd:"" help:"List the checkpoints."`
	Restore     restoreCmd     `cmd:"" help:"Start a crawl again from a checkpoint."`
	Events      eventsCmd      `cmd:"" help:"Show the events of a crawl, running or ended."`
	Search      searchCmd      `cmd:"" help:"Search a log of a crawl, running or ended."`
	Report      reportCmd      `cmd:"" help:"Print a report as the crawl stands now, or as it ended."`
}

// target is the crawl that an order is for.
type target struct {
	Crawl string `arg:"" name:"job" help:"A job's number, or the folder of a crawl that runs on this machine."`
}

// give gives the order and shows how much it changed, or the crawl's state after it.
func (t target) give(a *app, given act.Act) error {
	reply, err := a.order(t.Crawl, given)
	if err != nil {
		return err
	}
	return a.answer(reply, func() error {
		if reply.Live != nil {
			_, err := fmt.Fprintln(a.stdout, standing(reply.Live))
			return err
		}
		_, err := fmt.Fprintf(a.stdout, "%d\n", reply.Count)
		return err
	})
}

// standing is a crawl's state, why, and until when.
func standing(l *harvest.Live) string {
	text := strings.TrimSpace(l.State + " " + l.Reason)
	if l.Until != nil {
		text += " until " + l.Until.UTC().Format(time.RFC3339)
	}
	return text
}

type liveCmd struct{ target }

func (c liveCmd) Run(a *app) error {
	reply, err := a.order(c.Crawl, act.Live{})
	if err != nil || reply.Live == nil {
		return err
	}
	return a.answer(reply.Live, func() error { return showLive(a, reply.Live) })
}

func showLive(a *app, l *harvest.Live) error {
	rows := []table.Row{{"state", standing(l)}, {"time", l.Elapsed.Std().Round(time.Second)},
		{"URIs", fmt.Sprintf("%d found, %d queued, %d fetched, %d failed, %d left out; %d documents discarded",
			l.Discovered, l.Queued, l.Succeeded, l.Failed, l.Disregard, l.Discarded)},
		{"rate", fmt.Sprintf("%.1f URIs and %s a second; %.1f since the beginning", l.Rate, size(int64(l.ByteRate)),
			l.Average)}}
	for what, counts := range map[string]map[string]int64{"statuses": l.Statuses, "types": l.Types,
		"queues": l.QueueStates} {
		names := slices.SortedFunc(maps.Keys(counts), func(x, y string) int { return int(counts[y] - counts[x]) })
		var parts []string
		for _, name := range names[:min(len(names), 8)] {
			parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
		}
		rows = append(rows, table.Row{what, strings.Join(parts, ", ")})
	}
	if l.Waiting != nil {
		rows = append(rows, table.Row{"waiting", waitsFor(l.Waiting)})
	}
	for _, h := range l.Slowest {
		rows = append(rows, table.Row{"slow host",
			fmt.Sprintf("%s: %v on average of %d", h.Host, h.Mean.Std().Round(time.Millisecond), h.URIs)})
	}
	for _, w := range l.Workers {
		if w.URL != "" {
			rows = append(rows, table.Row{fmt.Sprint("worker ", w.Number),
				fmt.Sprintf("%s for %v: %s", w.Stage, w.For.Std().Round(10*time.Millisecond), w.URL)})
		}
	}
	return a.table(nil, rows)
}

type queuesCmd struct {
	target
	Match string `help:"Show only queues whose names contain a match of this regular expression."`
	State string `enum:",ready,snoozed,busy,empty,inactive,retired,frozen" default:"" help:"Show only queues in this state: ready, snoozed, busy, empty, inactive, retired or frozen."`
	Sort  string `enum:"queued,spent,name" default:"queued" help:"Order by queued (most URIs first), spent (highest cost first) or name."`
	Limit int    `default:"50" help:"Show at most this many."`
}

func (c queuesCmd) Run(a *app) error {
	reply, err := a.order(c.Crawl, act.Queues{Queue: c.Match, State: c.State, Sort: c.Sort, Limit: c.Limit})
	if err != nil {
		return err
	}
	return list(a, reply.Queues, table.Row{"Queue", "State", "Queued", "Fetched", "Bytes", "Spent", "Budget", "Wakes"},
		func(q harvest.Queue) table.Row {
			wake := ""
			if q.Wake != nil {
				wake = q.Wake.Format("15:04:05")
			}
			return table.Row{q.Name, q.State, q.Queued, q.Fetched, size(q.Bytes), q.Spent, q.Total, wake}
		})
}

// page shows a part of a list, and how to have the next.
func page[T any](a *app, next string, items []T, head table.Row, row func(T) table.Row) error {
	if err := list(a, items, head, row); err != nil || next == "" || a.JSON {
		return err
	}
	_, err := fmt.Fprintf(a.stderr, "more with --after %s\n", next)
	return err
}

type domainsCmd struct {
	target
	Match   string `help:"Show only domains whose names contain a match of this regular expression."`
	Stopped bool   `help:"Show only domains that a limit stopped."`
	After   string `help:"Continue after this cursor (printed at the end of the previous page)."`
	Limit   int    `default:"100" help:"Show at most this many."`
}

func (c domainsCmd) Run(a *app) error {
	o := act.Domains{Pattern: c.Match, After: c.After, Limit: c.Limit}
	if c.Stopped {
		o.State = harvest.DomainsStopped
	}
	reply, err := a.order(c.Crawl, o)
	if err != nil {
		return err
	}
	return page(a, reply.Next, reply.Domains, table.Row{"Domain", "Objects", "Bytes", "Stopped by"},
		func(d harvest.DomainCount) table.Row {
			return table.Row{d.Domain, d.Objects, size(d.Bytes), d.Stopped}
		})
}

type urisCmd struct {
	target
	Match string `help:"Show only URIs that contain a match of this regular expression."`
	Queue string `help:"Show only URIs in queues whose names contain a match of this regular expression."`
	After string `help:"Continue after this cursor (printed at the end of the previous page)."`
	Limit int    `default:"100" help:"Show at most this many."`
}

func (c urisCmd) Run(a *app) error {
	reply, err := a.order(c.Crawl, act.URIs{Pattern: c.Match, Queue: c.Queue, After: c.After, Limit: c.Limit})
	if err != nil {
		return err
	}
	return page(a, reply.Next, reply.URIs, table.Row{"URI", "Queue", "Path", "Via", "Tries"},
		func(u harvest.QueuedURI) table.Row {
			return table.Row{u.URL, u.Queue, u.Path, u.Via, u.Tries}
		})
}

type deleteCmd struct {
	target
	Match string `help:"Delete URIs that contain a match of this regular expression."`
	Queue string `help:"Delete URIs only in queues whose whole names match this regular expression."`
}

func (c deleteCmd) Run(a *app) error {
	return c.give(a, act.Delete{Pattern: c.Match, Queue: c.Queue})
}

// ofQueues are the arguments of acts on queues.
type ofQueues struct {
	target
	Match string `arg:"" help:"Queues whose whole names match this regular expression."`
}

type (
	freezeCmd struct{ ofQueues }
	thawCmd   struct{ ofQueues }
	retireCmd struct{ ofQueues }
	budgetCmd struct {
		ofQueues
		Session *int64 `help:"What a queue may spend before it makes room for a waiting queue; 0 is no limit."`
		Total   *int64 `help:"What a queue may spend in total before it is retired; 0 is no limit."`
	}
)

func (c freezeCmd) Run(a *app) error {
	return c.give(a, act.Freeze{Queue: c.Match})
}

func (c thawCmd) Run(a *app) error {
	return c.give(a, act.Unfreeze{Queue: c.Match})
}

func (c retireCmd) Run(a *app) error {
	return c.give(a, act.Retire{Queue: c.Match})
}

func (c budgetCmd) Run(a *app) error {
	return c.give(a, act.Budget{Queue: c.Match, Session: c.Session, Total: c.Total})
}

// ofURL are the arguments of acts on a URI.
type ofURL struct {
	target
	URL string `arg:"" name:"url" help:"The URI; job block and unblock also take a host or a SURT prefix."`
}

type (
	blockCmd struct {
		ofURL
		Reason string `help:"Reason, written into the job's log."`
	}
	unblockCmd struct{ ofURL }
	forgetCmd  struct{ ofURL }
	neverCmd   struct{ ofURL }
)

func (c blockCmd) Run(a *app) error {
	return c.give(a, act.Block{URL: c.URL, Reason: c.Reason})
}

func (c unblockCmd) Run(a *app) error {
	return c.give(a, act.Unblock{URL: c.URL})
}

func (c forgetCmd) Run(a *app) error {
	return c.give(a, act.Forget{URL: c.URL})
}

func (c neverCmd) Run(a *app) error {
	return c.give(a, act.Never{URL: c.URL})
}

type seedsCmd struct {
	target
	File string   `placeholder:"FILE" help:"Read seeds from this file, one per line; # begins a comment."`
	URLs []string `arg:"" optional:"" name:"url" help:"URLs to add as seeds."`
}

func (c seedsCmd) Run(a *app) error {
	seeds := c.URLs
	if c.File != "" {
		more, err := readSeeds(c.File)
		if err != nil {
			return err
		}
		seeds = append(seeds, more...)
	}
	return c.give(a, act.Seeds{Seeds: seeds})
}

// readSeeds reads a file of seeds.
func readSeeds(path string) (seeds []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read seeds: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
		if line != "" && line[0] != '#' {
			seeds = append(seeds, strings.TrimSpace(line))
		}
	}
	return seeds, nil
}

type setCmd struct {
	target
	Settings []string `arg:"" name:"name=value" help:"Settings and their new values, such as min_delay=500ms; holdfast settings lists them."`
}

func (c setCmd) Run(a *app) error {
	patch, err := harvest.ParsePatch(c.Settings)
	if err != nil {
		return exitError{exitUsage, err}
	}
	return c.give(a, act.Change{Settings: patch})
}

type explainCmd struct {
	ofURL
	Path string `help:"Explain the URI as if it had been found by these hops, such as LLE."`
	Via  string `help:"Explain the URI as if it had been found in this page."`
	All  bool   `help:"Also show settings that have their default value."`
}

func (c explainCmd) Run(a *app) error {
	reply, err := a.order(c.Crawl, act.Explain{URL: c.URL, Path: c.Path, Via: c.Via})
	if err != nil || reply.Explained == nil {
		return err
	}
	e := reply.Explained
	return a.answer(e, func() error {
		rows := []table.Row{{"URI", e.URL}, {"counts as", e.Canonical}, {"known", e.Known}, {"log", e.Logged},
			{"found", e.Found}, {"hops", e.Path}, {"in", e.Via}, {"seed", e.Source}, {"queue", e.Queue},
			{"robots.txt", e.Robots}, {"limits", e.Limits},
			{"decision", strings.TrimSpace(e.Decision + ", by " + e.DecidedBy)}}
		rows = slices.DeleteFunc(rows, func(r table.Row) bool { return r[1] == "" })
		for _, w := range e.Words {
			rows = append(rows, table.Row{w.Rule, strings.TrimSpace(w.Decision + " " + w.Why)})
		}
		for _, name := range slices.Sorted(maps.Keys(e.Settings)) {
			if o := e.Settings[name]; c.All || o.From != "default" {
				rows = append(rows, table.Row{name, fmt.Sprintf("%s (%s)", o.Value, o.From)})
			}
		}
		return a.table(nil, rows)
	})
}

type killCmd struct {
	target
	URL    string `arg:"" optional:"" name:"url" help:"Abort the fetch of this URI."`
	Worker int    `help:"Abort the fetch of this worker instead; job live shows the numbers."`
}

func (c killCmd) Run(a *app) error {
	return c.give(a, act.Kill{URL: c.URL, Worker: c.Worker})
}

type checkpointCmd struct {
	target
	checkpointName
}

// checkpointName is the name of a checkpoint, with or without the flag.
type checkpointName struct {
	Name  string `placeholder:"NAME" help:"The checkpoint's name; the same as the argument."`
	Given string `arg:"" optional:"" name:"checkpoint" help:"The checkpoint's name."`
}

func (n checkpointName) name() (string, error) {
	if n.Name != "" && n.Given != "" && n.Name != n.Given {
		return "", usage("two names for one checkpoint: %s and %s", n.Given, n.Name)
	}
	return cmp.Or(n.Given, n.Name), nil
}

func (checkpointCmd) Help() string {
	return "Without a name, the checkpoint is named after the current time."
}

func (c checkpointCmd) Run(a *app) error {
	name, err := c.name()
	if err != nil {
		return err
	}
	reply, err := a.order(c.Crawl, act.Checkpoint{Name: name})
	if err != nil {
		return err
	}
	return showCheckpoints(a, reply.Checkpoints)
}

type checkpointsCmd struct{ target }

func (c checkpointsCmd) Run(a *app) error {
	reply, err := a.order(c.Crawl, act.Checkpoints{})
	if err != nil {
		return err
	}
	return showCheckpoints(a, reply.Checkpoints)
}

type restoreCmd struct {
	target
	checkpointName
}

func (c restoreCmd) Run(a *app) error {
	name, err := c.name()
	if err != nil {
		return err
	}
	if name == "" {
		return usage("which checkpoint? holdfast job checkpoints %s lists them", c.Crawl)
	}
	return c.give(a, act.Restore{Name: name})
}

func showCheckpoints(a *app, all []harvest.Checkpoint) error {
	return list(a, all, table.Row{"Checkpoint", "Taken", "Queued", "Bytes"}, func(c harvest.Checkpoint) table.Row {
		return table.Row{c.Name, c.Taken.UTC().Format(time.RFC3339), c.Queued, size(c.Bytes)}
	})
}
