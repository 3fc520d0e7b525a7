package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/node/membership"
)

type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Create an access token for yourself or for a program of yours; it is printed once."`
	List   tokenListCmd   `cmd:"" help:"List the access tokens."`
	Revoke tokenRevokeCmd `cmd:"" help:"Revoke an access token."`
	Take   tokenTakeCmd   `cmd:"" help:"Become the owner of a program that has none."`
	Rotate tokenRotateCmd `cmd:"" help:"Replace the local access token of a node on this machine."`
}

// tokenRotateCmd replaces the token in a node's identity folder.
type tokenRotateCmd struct{}

// Help says when the old token ends.
func (tokenRotateCmd) Help() string {
	return "The token is stored in identity/api-token in the node's folder; commands with --config use it. The old " +
		"token is " +
		"refused at once, whether the node is running or not. Run this as the node's user."
}

func (tokenRotateCmd) Run(a *app) error {
	cfg, err := a.nodeConfig()
	if err != nil {
		return err
	}
	if err := membership.RotateToken(cfg); err != nil {
		return err
	}
	return a.done("rotated the local token of", cfg.Name)
}

type tokenCreateCmd struct {
	Name       string   `arg:"" optional:"" help:"The program's name, or what your own token is for."`
	Role       string   `enum:"reader,curator,operator,admin" default:"reader" help:"The most that the token may do: ${enum}."`
	Program    bool     `help:"Make the token for a program, which acts under its own name. You are responsible for it."`
	Collection []string `placeholder:"NAME" help:"For the role curator: limit the token to this collection. May be repeated."`
	Place      []string `placeholder:"NAME" help:"For the role operator: limit the token to this place. May be repeated."`
	Expires    string   `placeholder:"TIME" help:"How long it can be used, such as 2160h; without this it does not expire."`
	Owner      string   `placeholder:"PERSON" help:"The person responsible for the program: id, e-mail address or name. Needed with a node's local token."`
	Replica    string   `hidden:"" help:"No longer used: join tokens are made with node invite."`
}

// Help says what limits a token.
func (tokenCreateCmd) Help() string {
	return "A token never allows more than its owner may do at that time: it loses what its owner loses, and is " +
		"refused " +
		"while its owner is disabled.\n\nJoin tokens, by which a machine becomes a node, are made with: holdfast " +
		"node invite"
}

func (c tokenCreateCmd) Run(a *app) error {
	switch {
	case c.Replica != "":
		return usage("join tokens are made with: holdfast node invite --replica %s", c.Replica)
	case c.Name == "":
		return usage("give the token a name: holdfast token create NAME. Join tokens are made with: holdfast node " +
			"invite --replica REPLICA")
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		asked := wire.AccessTokenRequest{Name: c.Name, Role: wire.Role(c.Role), Lifetime: c.Expires,
			Program: c.Program || c.Owner != "",
			Owner:   c.Owner, Collections: c.Collection, Places: c.Place}
		token, err := archive.Tokens().Create(ctx, asked)
		if err != nil {
			return err
		}
		return a.answer(token, func() error {
			fmt.Fprintf(a.stderr, "Access token %s, %s, with the role %s:\n", token.ID, whose(token), token.Role)
			_, err := fmt.Fprintln(a.stdout, token.Text)
			return err
		})
	})
}

// whose says to whom a token belongs.
func whose(t wire.AccessToken) string {
	switch {
	case t.Kind == "person":
		return t.OwnerName
	case t.Kind == "invitation":
		return "invitation of " + t.OwnerName
	case t.Owner == "":
		return "program without an owner"
	}
	return "program of " + t.OwnerName
}

type tokenListCmd struct {
	Owner  string `placeholder:"NAME" help:"List only tokens of this person and of her programs: a name or an id."`
	State  string `enum:",open,expired,revoked" default:"" help:"List only tokens in this state: open, expired or revoked."`
	Kind   string `enum:",person,program,invitation" default:"" help:"List only tokens of this kind: person, program or invitation."`
	Search string `placeholder:"TEXT" help:"List only tokens that have this text in their name or their owner's."`
	Newest bool   `help:"List the newest first."`
}

// Help explains the list.
func (tokenListCmd) Help() string {
	return "Administrators see all tokens; others see their own and those of programs without an owner. Programs " +
		"without an owner " +
		"come from before level 3; holdfast token take gives one an owner. The column Used shows the last day on " +
		"which a token " +
		"was used; it may be half an hour behind."
}

func (l tokenListCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, c *client.Client) error {
		q := client.TokenQuery{Owner: l.Owner, State: l.State, Kind: l.Kind, Search: l.Search, Newest: l.Newest}
		if l.Owner != "" {
			people, err := peopleNames(ctx, c)
			if err != nil {
				return err
			}
			q.Owner = idOf(people, l.Owner)
		}
		tokens, err := collect(c.Tokens().Find(ctx, q))
		if err != nil {
			return err
		}
		head := table.Row{"Id", "Name", "Belongs to", "Role", "Only in", "State", "Expires", "Used"}
		return list(a, tokens, head, func(t wire.AccessToken) table.Row {
			return table.Row{t.ID, t.Name, whose(t), t.Role, strings.Join(slices.Concat(t.Collections, t.Places), ", "),
				t.State, when(t.Expires), t.Used}
		})
	})
}

type tokenRevokeCmd struct {
	ID string `arg:"" name:"id" help:"The token's id, as token list prints it."`
}

func (c tokenRevokeCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if err := archive.Tokens().Revoke(ctx, c.ID); err != nil {
			return err
		}
		return a.done("revoked", c.ID)
	})
}

type tokenTakeCmd struct {
	ID    string `arg:"" name:"id" help:"The token's id, as token list prints it."`
	Owner string `placeholder:"PERSON" help:"The person responsible for the program from now on: id, e-mail address or name. Default: you. Needed with a node's local token."`
}

// Help says what changes.
func (tokenTakeCmd) Help() string {
	return "The program keeps its token, and from then on may do no more than its owner may. You can take a program " +
		"only if you " +
		"have its token's role for the whole archive."
}

func (c tokenTakeCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		token, err := archive.Tokens().Take(ctx, c.ID, c.Owner)
		if err != nil {
			return err
		}
		return a.answer(token, func() error {
			_, err := fmt.Fprintf(a.stdout, "%s %s is now a %s\n", token.ID, token.Name, whose(token))
			return err
		})
	})
}
