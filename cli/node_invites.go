package cli

import (
	"context"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type nodeInviteCmd struct {
	Replica string `required:"" help:"The replica that the new node will belong to."`
	Expires string `default:"24h" help:"How long the token can be used, such as 24h."`
}

// Help says what to do with the token.
func (nodeInviteCmd) Help() string {
	return "Prints a join token. On the new machine: holdfast join --node NAME TOKEN"
}

func (c nodeInviteCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		token, err := archive.Invites().Create(ctx, wire.JoinTokenRequest{Replica: c.Replica, Lifetime: c.Expires})
		if err != nil {
			return err
		}
		return a.answer(token, func() error {
			fmt.Fprintf(a.stderr, "Join token %s for replica %s, good for one machine until %s:\n", token.ID,
				token.Replica, when(token.Expires))
			_, err := fmt.Fprintln(a.stdout, token.Text)
			return err
		})
	})
}

type nodeInvitesCmd struct{}

func (nodeInvitesCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, c *client.Client) error {
		tokens, err := c.Invites().List(ctx)
		if err != nil {
			return err
		}
		names, err := nodeNames(ctx, c)
		if err != nil {
			return err
		}
		return list(a, tokens, table.Row{"Id", "Replica", "State", "Created", "Expires", "Used by"},
			func(t wire.JoinToken) table.Row {
				return table.Row{t.ID, t.Replica, t.State, when(t.Created), when(t.Expires), nameOf(names, t.UsedBy)}
			})
	})
}

type nodeUninviteCmd struct {
	ID string `arg:"" name:"id" help:"The join token's id, as node invites prints it."`
}

func (c nodeUninviteCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if err := archive.Invites().Revoke(ctx, c.ID); err != nil {
			return err
		}
		return a.done("revoked", c.ID)
	})
}
