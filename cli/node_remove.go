package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
)

// removeWait is how long node remove waits for the others to have all that a drained node is the source of.
const removeWait = 5 * time.Minute

// removeNode removes a node. One that is drained, and has files left that it has to keep until the others have them,
// is waited for.
func (a *app) removeNode(ctx context.Context, archive *client.Client, name string, removal wire.Removal) error {
	said := false
	for until := time.Now().Add(removeWait); ; {
		err := archive.Nodes().Remove(ctx, name, removal)
		var refused *wire.Error
		if removal.Lost || !errors.As(err, &refused) || refused.Code != wire.CodeUnsafe || time.Now().After(until) {
			return err
		}
		n, gone := archive.Nodes().Show(ctx, name)
		if gone != nil || !n.Draining || n.Shards > 0 {
			return err
		}
		if !said {
			fmt.Fprintf(a.stderr, "%s; waiting until the others have them\n", refused.Detail)
			said = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// list prints the files that are lost if the node is.
func (c nodeRemoveCmd) list(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		files, err := collect(most(c.Limit, archive.Nodes().SoleFiles(ctx, c.Name)))
		if err != nil {
			return err
		}
		return fileTable(a, files)
	})
}
