package cli

import (
	"context"

	"holdfast/client"
)

type fileLostCmd struct {
	Name   string `arg:"" help:"A file's name."`
	Reason string `required:"" help:"Reason, written into the audit trail."`
	Undo   bool   `help:"Withdraw the declaration: the missing copies are made again."`

	IfVersion uint64 `help:"Refuse unless the file's entry still has this version, as file show printed it." placeholder:"N"`
}

func (fileLostCmd) Help() string {
	return "First every node looks for the file, and reads what it has under that name. The file stays in the " +
		"catalog, status counts it\n" +
		"as lost, and its shard can move without it. It is no longer lost as soon as a node finds its bytes, or " +
		"somebody\n" +
		"puts them again."
}

func (c fileLostCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if c.Undo {
			if err := archive.Files().Find(ctx, c.Name, c.Reason); err != nil {
				return err
			}
			return a.done("owed", c.Name)
		}
		if err := archive.Files().Lose(ctx, c.Name, c.IfVersion, c.Reason); err != nil {
			return err
		}
		return a.done("lost", c.Name)
	})
}
