package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type domainIngestCmd struct {
	Begin ingestBeginCmd `cmd:"" help:"Upload a list of domains, and bring them in."`
	List  ingestListCmd  `cmd:"" help:"List the lists that were brought in, or are being brought in."`
	Show  ingestShowCmd  `cmd:"" help:"Show how far a list is brought in."`
	Bad   ingestBadCmd   `cmd:"" help:"List the lines that are not the name of a domain."`
	Stop  ingestStopCmd  `cmd:"" help:"Stop bringing in a list; what was brought in stays."`
}

type ingestBeginCmd struct {
	File       string `arg:"" help:"The file: one domain per line, # begins a comment; - reads standard input."`
	Collection string `help:"The collection of new domains; default: the cluster's first."`
	Wait       bool   `help:"Wait until the list is brought in."`
}

// Help says what becomes of bad lines.
func (ingestBeginCmd) Help() string {
	return "The node that is asked keeps the list and brings in its domains, also after it was restarted. Domains " +
		"that are there already stay as they are. Lines that are not the name of a domain are left out: see domain " +
		"ingest bad. With more than 10000 of them, the ingest ends."
}

// waitEvery is how often a command looks whether what it waits for is done.
const waitEvery = time.Second

func (c ingestBeginCmd) Run(a *app) error {
	return a.withText(c.File, func(text io.Reader) error {
		return ask(a, showIngest, func(ctx context.Context, archive *client.Client) (wire.Ingest, error) {
			i, err := archive.Ingests().Begin(ctx, c.Collection, text)
			for c.Wait && err == nil && i.State == wire.IngestRunning {
				select {
				case <-ctx.Done():
					return i, ctx.Err()
				case <-time.After(waitEvery):
				}
				i, err = archive.Ingests().Show(ctx, i.ID)
			}
			return i, err
		})
	})
}

type ingestListCmd struct{}

func (ingestListCmd) Run(a *app) error {
	return ask(a, showAll(ingestTable), func(ctx context.Context, c *client.Client) ([]wire.Ingest, error) {
		return c.Ingests().List(ctx)
	})
}

type ingestShowCmd struct {
	ID string `arg:"" name:"id" help:"The ingest, as domain ingest list prints it."`
}

func (c ingestShowCmd) Run(a *app) error {
	return ask(a, showIngest, func(ctx context.Context, archive *client.Client) (wire.Ingest, error) {
		return archive.Ingests().Show(ctx, c.ID)
	})
}

func showIngest(a *app, i wire.Ingest) error {
	return a.answer(i, func() error { return ingestTable(a, []wire.Ingest{i}) })
}

func ingestTable(a *app, all []wire.Ingest) error {
	rows := make([]table.Row, len(all))
	for n, i := range all {
		read := "-"
		if i.Size > 0 {
			read = fmt.Sprintf("%d%%", 100*i.Read/i.Size)
		}
		rows[n] = table.Row{i.ID, i.State, i.Collection, read, i.Lines, i.Made, i.Known, i.Bad, i.Node, i.By,
			when(i.Began), when(i.Ended), i.Reason}
	}
	return a.table(table.Row{"Id", "State", "Collection", "Read", "Lines", "Made", "Known", "Bad", "Node", "By",
		"Began", "Ended", "Reason"}, rows)
}

type ingestBadCmd struct {
	ID string `arg:"" name:"id" help:"The ingest, as domain ingest list prints it."`
}

func (c ingestBadCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		return stream(a, archive.Ingests().Bad(ctx, c.ID), func(w io.Writer, bad wire.BadLine) error {
			_, err := fmt.Fprintf(w, "line %d: %s\n", bad.Line, bad.Reason)
			return err
		})
	})
}

type ingestStopCmd struct {
	ID     string `arg:"" name:"id" help:"The ingest, as domain ingest list prints it."`
	Reason string `required:"" help:"Reason, written into the audit trail."`
}

func (c ingestStopCmd) Run(a *app) error {
	return ask(a, showIngest, func(ctx context.Context, archive *client.Client) (wire.Ingest, error) {
		return archive.Ingests().Stop(ctx, c.ID, c.Reason)
	})
}

type domainSettingsCmd struct {
	Set []string `placeholder:"NAME=VALUE" sep:"none" help:"Change a setting; the value is JSON, or else text. May be repeated."`
}

// Help names them.
func (domainSettingsCmd) Help() string {
	return "default_template, default_objects, default_bytes: of new configurations. default_seeds: the seeds of new " +
		"domains, a list of URLs in which {domain} stands for the name. alias_expiry: how long an alias counts."
}

func (c domainSettingsCmd) Run(a *app) error {
	changes, err := readSettings(c.Set)
	if err != nil {
		return err
	}
	show := func(a *app, s wire.DomainSettings) error {
		return a.answer(s, func() error { return printSettings(a, s.Settings) })
	}
	return ask(a, show, func(ctx context.Context, archive *client.Client) (wire.DomainSettings, error) {
		if len(changes) == 0 {
			return archive.Domains().Settings(ctx)
		}
		return archive.Domains().SetSettings(ctx, changes)
	})
}
