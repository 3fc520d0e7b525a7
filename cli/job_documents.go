package cli

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type jobDocumentsCmd struct {
	Job   uint64 `arg:"" help:"A job's number."`
	Name  string `arg:"" optional:"" help:"Print this document, such as logs/crawl.log; if not given, all are listed."`
	Match string `placeholder:"REGEXP" help:"Print only lines that contain a match of this regular expression."`
}

func (jobDocumentsCmd) Help() string {
	return "Any node reads them from the archive. With --json, each line of a document is a JSON string."
}

func (c jobDocumentsCmd) Run(a *app) error {
	folder, name, _ := strings.Cut(c.Name, "/")
	if c.Name != "" && name == "" || c.Name == "" && c.Match != "" {
		return usage("want a document with its folder, such as logs/crawl.log")
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if c.Name == "" {
			all, err := archive.Jobs().Documents(ctx, c.Job)
			if err != nil {
				return err
			}
			return list(a, all, table.Row{"Document", "Type", "Size"}, func(d wire.JobDocument) table.Row {
				return table.Row{d.Folder + "/" + d.Name, d.Type, size(d.Size)}
			})
		}
		var out io.Writer = a.stdout
		lines := &jsonLines{to: json.NewEncoder(a.stdout)}
		if a.JSON {
			out = lines
		}
		if err := archive.Jobs().Document(ctx, c.Job, folder, name, c.Match, out); err != nil {
			return err
		}
		return lines.end()
	})
}
