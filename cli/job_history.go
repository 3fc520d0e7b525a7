package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"holdfast/harvest"
	"holdfast/harvest/act"
)

// Events, reports and logs of a crawl can be read while it runs and afterwards.

type eventsCmd struct {
	target
	After  string `help:"Show events after the one with this number."`
	Limit  int    `default:"100" help:"Show at most this many."`
	Follow bool   `short:"f" help:"Show all events, and new ones as they come, until the crawl ends."`
}

// followEvery is how often a followed crawl is asked for new events.
const followEvery = 500 * time.Millisecond

func (c eventsCmd) Run(a *app) error {
	after, most := c.After, c.Limit
	if c.Follow {
		most = harvest.MaxListed
	}
	out := json.NewEncoder(a.stdout)
	return every(a.ctx, followEvery, func() (bool, error) {
		reply, err := a.order(c.Crawl, act.Events{After: after, Limit: most})
		if err != nil {
			return false, err
		}
		if reply.Missed {
			_, _ = fmt.Fprintln(a.stderr, "earlier events are no longer kept")
		}
		for _, e := range reply.Events {
			if err := out.Encode(e); err != nil {
				return false, err
			}
		}
		if reply.Next != "" {
			after = reply.Next
		}
		return !c.Follow || reply.Ended, nil
	})
}

type reportCmd struct {
	target
	Name  string `arg:"" help:"The report: crawl, seeds, hosts, domains, source, mimetype, responsecode, processors, frontier-summary, frontier-nonempty, traps or threads."`
	Match string `help:"Print only lines that contain a match of this regular expression."`
}

func (reportCmd) Help() string { return "With --json, each line is a JSON string." }

func (c reportCmd) Run(a *app) error {
	out := json.NewEncoder(a.stdout)
	for after := ""; ; {
		reply, err := a.order(c.Crawl, act.Report{Name: c.Name, Pattern: c.Match, After: after,
			Limit: harvest.MaxListed})
		if err != nil {
			return err
		}
		for _, line := range reply.Lines {
			if a.JSON {
				err = out.Encode(line)
			} else {
				_, err = fmt.Fprintln(a.stdout, line)
			}
			if err != nil {
				return err
			}
		}
		if after = reply.Next; after == "" {
			return nil
		}
	}
}

type searchCmd struct {
	target
	Match string `arg:"" help:"A regular expression; lines that contain a match are printed."`
	Log   string `default:"crawl.log" help:"The log to search, such as crawl.log or job.log."`
	After string `help:"Continue after this cursor (printed at the end of the previous page)."`
	Limit int    `default:"100" help:"Show at most this many, newest first."`
}

func (c searchCmd) Run(a *app) error {
	reply, err := a.order(c.Crawl, act.Search{Pattern: c.Match, Log: c.Log, After: c.After, Limit: c.Limit})
	if err != nil {
		return err
	}
	if reply.Next != "" && !a.JSON {
		defer func() { _, _ = fmt.Fprintf(a.stderr, "more with --after %s\n", reply.Next) }()
	}
	return a.answer(reply, func() error {
		for _, line := range reply.Lines {
			if _, err := fmt.Fprintln(a.stdout, line); err != nil {
				return err
			}
		}
		return nil
	})
}
