package cli

import (
	"context"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node"
)

type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Create a join token; it is printed once."`
	List   tokenListCmd   `cmd:"" help:"List the join tokens."`
	Revoke tokenRevokeCmd `cmd:"" help:"Revoke a join token."`
	Rotate tokenRotateCmd `cmd:"" help:"Replace the local access token of a node on this machine."`
}

// tokenRotateCmd replaces the token in a node's identity folder.
type tokenRotateCmd struct{}

// Help says when the old token ends.
func (tokenRotateCmd) Help() string {
	return "The token lies in identity/api-token in the node's folder; commands with --config use it. The old one is refused at once, whether the node runs or not. Run this as the node's user."
}

func (tokenRotateCmd) Run(a *app) error {
	cfg, err := a.nodeConfig()
	if err != nil {
		return err
	}
	if err := node.RotateToken(cfg); err != nil {
		return err
	}
	return a.done("rotated the local token of", cfg.Name)
}

type tokenCreateCmd struct {
	Replica string `required:"" help:"The replica that the new node will belong to."`
	Expires string `default:"24h" help:"How long it can be used, such as 24h."`
}

func (c tokenCreateCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, client *api.Client) error {
		token, err := client.CreateJoinToken(ctx, api.JoinTokenRequest{Replica: catalog.ReplicaName(c.Replica), Lifetime: c.Expires})
		if err != nil {
			return err
		}
		return a.answer(token, func() error {
			fmt.Fprintf(a.stderr, "Join token %s for replica %s, good for one machine until %s:\n", token.ID, token.Replica, when(token.Expires))
			_, err := fmt.Fprintln(a.stdout, token.Text)
			return err
		})
	})
}

type tokenListCmd struct{}

func (tokenListCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, c *api.Client) error {
		tokens, err := c.JoinTokens(ctx)
		if err != nil {
			return err
		}
		names, err := nodeNames(ctx, c)
		if err != nil {
			return err
		}
		return list(a, tokens, table.Row{"Id", "Replica", "State", "Created", "Expires", "Used by"}, func(t api.JoinToken) table.Row {
			return table.Row{t.ID, t.Replica, t.State, when(t.Created), when(t.Expires), nameOf(names, t.UsedBy)}
		})
	})
}

type tokenRevokeCmd struct {
	ID string `arg:"" name:"id" help:"The token's id, as token list prints it."`
}

func (c tokenRevokeCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, client *api.Client) error {
		if err := client.RevokeJoinToken(ctx, c.ID); err != nil {
			return err
		}
		return a.done("revoked", c.ID)
	})
}

type userCmd struct {
	Create userCreateCmd `cmd:"" help:"Create an access token; it is printed once."`
	List   userListCmd   `cmd:"" help:"List the access tokens."`
	Revoke userRevokeCmd `cmd:"" help:"Revoke an access token."`
}

type userCreateCmd struct {
	Name    string `arg:"" help:"Who or what uses it."`
	Role    string `enum:"reader,curator,operator,admin" default:"reader" help:"${enum}."`
	Expires string `help:"How long it can be used, such as 2160h; without this it does not expire."`
}

func (c userCreateCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, client *api.Client) error {
		token, err := client.CreateAccessToken(ctx, api.AccessTokenRequest{Name: c.Name, Role: catalog.Role(c.Role), Lifetime: c.Expires})
		if err != nil {
			return err
		}
		return a.answer(token, func() error {
			fmt.Fprintf(a.stderr, "Access token %s for %s with the role %s:\n", token.ID, token.Name, token.Role)
			_, err := fmt.Fprintln(a.stdout, token.Text)
			return err
		})
	})
}

type userListCmd struct{}

func (userListCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, c *api.Client) error {
		tokens, err := c.AccessTokens(ctx)
		if err != nil {
			return err
		}
		return list(a, tokens, table.Row{"Id", "Name", "Role", "State", "Created", "Expires"}, func(t api.AccessToken) table.Row {
			return table.Row{t.ID, t.Name, t.Role, t.State, when(t.Created), when(t.Expires)}
		})
	})
}

type userRevokeCmd struct {
	ID string `arg:"" name:"id" help:"The token's id, as user list prints it."`
}

func (c userRevokeCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, client *api.Client) error {
		if err := client.RevokeAccessToken(ctx, c.ID); err != nil {
			return err
		}
		return a.done("revoked", c.ID)
	})
}
