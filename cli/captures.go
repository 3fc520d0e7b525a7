package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/cdx"
	"holdfast/client"
)

type captureCmd struct {
	List captureListCmd `cmd:"" help:"Find captures by URL and time."`
}

type captureListCmd struct {
	URL      string   `arg:"" name:"url" help:"The URL; *.example.org stands for a domain, example.org/news/* for a prefix."`
	From     string   `help:"Timestamp of 4 to 14 digits."`
	To       string   `help:"Timestamp of 4 to 14 digits."`
	Closest  string   `help:"Show the captures nearest to this timestamp first."`
	Reverse  bool     `help:"Show the newest first."`
	Limit    int      `help:"Show at most this many."`
	Filter   []string `sep:"none" placeholder:"[!][=|~]FIELD:TEXT" help:"Show only captures that pass this filter of the CDX server, such as =status:200; all must hold."`
	Collapse int      `placeholder:"N" help:"Of captures whose timestamps agree in their first N digits, show only the first."`
}

func (captureListCmd) Help() string {
	return "With --json, prints one JSON object per line as soon as it is found."
}

func (captureListCmd) exits() []string {
	return []string{"0   done", "1   failed, or some shards could not be asked; stderr says how many"}
}

func (c captureListCmd) Run(a *app) error {
	q := cdx.Query{From: c.From, To: c.To, Limit: c.Limit, Filters: c.Filter, Collapse: c.Collapse}
	q.URL, q.Match = cdx.Pattern(c.URL)
	switch {
	case c.Closest != "":
		q.Sort, q.Closest = cdx.Closest, c.Closest
	case c.Reverse:
		q.Sort = cdx.Reverse
	}
	if _, err := q.Compile(); err != nil {
		return exitError{exitUsage, err}
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		err := stream(a, archive.Captures(ctx, q), func(w io.Writer, c wire.Capture) error {
			status := "-"
			if c.Status > 0 {
				status = fmt.Sprint(c.Status)
			}
			_, err := fmt.Fprintf(w, "%s %-3s %-24s %s  %s@%d\n", c.Timestamp, status, c.MIME, c.URL, c.File, c.Offset)
			return err
		})
		var incomplete *cdx.Incomplete
		if errors.As(err, &incomplete) {
			return fmt.Errorf("the answer is incomplete: %w", err)
		}
		return err
	})
}

type indexCmd struct {
	Status  indexStatusCmd  `cmd:"" help:"Show the state of each node's index."`
	Rebuild indexRebuildCmd `cmd:"" help:"Rebuild the index from the files."`
}

type indexStatusCmd struct{}

func (indexStatusCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, c *client.Client) error {
		all, err := c.Index().Status(ctx)
		if err != nil {
			return err
		}
		return list(a, all, table.Row{"Node", "Files", "Waiting", "Captures", "On disk", "Rebuilding", "Detail"},
			func(i wire.IndexStatus) table.Row {
				return table.Row{i.Name, i.Files, i.Pending, i.Captures, size(i.Bytes), yes(i.Rebuilding), i.Detail}
			})
	})
}

type indexRebuildCmd struct {
	Name   string `arg:"" name:"node" optional:"" help:"The node whose index is rebuilt. Default: every node."`
	Reason string `help:"Reason, written into the log of the node that answers."`
}

func (c indexRebuildCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if err := archive.Index().Rebuild(ctx, c.Name, c.Reason); err != nil {
			return err
		}
		what := c.Name
		if what == "" {
			what = "every node's index"
		}
		return a.done("rebuilding", what)
	})
}
