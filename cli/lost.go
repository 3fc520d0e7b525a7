package cli

import (
	"context"

	"holdfast/api"
)

type fileLostCmd struct {
	Name   string `arg:"" help:"A file's name."`
	Reason string `required:"" help:"For the audit trail."`
	Undo   bool   `help:"Take it back: the file's copies are owed again."`

	IfVersion uint64 `help:"Refuse if the file's entry has changed: the version that file show printed." placeholder:"N"`
}

func (fileLostCmd) Help() string {
	return "Every node is asked first, and reads what it has under the name. The file stays in the catalog, its shard can move\n" +
		"without it, and status counts it. It counts again as soon as its bytes turn up: when a node finds them, or when\n" +
		"they are put again."
}

func (c fileLostCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, client *api.Client) error {
		if c.Undo {
			if err := client.FindFile(ctx, c.Name, c.Reason); err != nil {
				return err
			}
			return a.done("owed", c.Name)
		}
		if err := client.LoseFile(ctx, c.Name, c.IfVersion, c.Reason); err != nil {
			return err
		}
		return a.done("lost", c.Name)
	})
}
