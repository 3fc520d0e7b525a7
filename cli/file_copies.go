package cli

import (
	"context"
	"iter"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type fileCopiesCmd struct {
	State   string `required:"" enum:"owed,disputed,corrupt,missing" help:"owed: required and not verified; disputed: an audit's finding waits for a verdict; corrupt or missing: found so, and not repaired."`
	Replica string `placeholder:"NAME" help:"List only copies of this replica."`
	Limit   int    `default:"50" help:"Show at most this many; 0 shows all."`
}

func (c fileCopiesCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		copies, err := collect(most(c.Limit, archive.Files().Copies(ctx, c.State, c.Replica)))
		if err != nil {
			return err
		}
		names, err := nodeNames(ctx, archive)
		if err != nil {
			return err
		}
		return list(a, copies, table.Row{"Replica", "File", "Size", "State", "File list", "Checksum", "Tries", "Since",
			"Reason"}, func(f wire.FileCopy) table.Row {
			state := string(f.State)
			if f.Disputed {
				state = "disputed"
			}
			return table.Row{f.Replica, f.File, size(f.Size), state, f.FileList, f.Checksum, f.Tries, when(f.Since),
				named(names, f.Reason)}
		})
	})
}

// most yields at most n items, all of them if n is 0.
func most[T any](n int, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		left := n
		for item, err := range all {
			if left--; !yield(item, err) || left == 0 {
				return
			}
		}
	}
}
