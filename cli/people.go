package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type userCmd struct {
	Invite  userInviteCmd  `cmd:"" help:"Invite a person; the invitation is printed once."`
	Accept  userAcceptCmd  `cmd:"" help:"Accept an invitation; your access token is printed once."`
	List    userListCmd    `cmd:"" help:"List the people."`
	Show    userShowCmd    `cmd:"" help:"Show a person and all grants, ended ones too."`
	Set     userSetCmd     `cmd:"" help:"Change a person's name, e-mail address, institution, language or time zone."`
	Disable userDisableCmd `cmd:"" help:"Disable a person: their tokens, and those of their programs, are refused."`
	Enable  userEnableCmd  `cmd:"" help:"Enable a disabled person again."`
	Unlink  userUnlinkCmd  `cmd:"" help:"Unlink an institution's account from a person: it no longer signs them in."`
	Create  userMovedCmd   `cmd:"" hidden:"" passthrough:"" help:"Replaced by: holdfast token create."`
	Revoke  userMovedCmd   `cmd:"" hidden:"" passthrough:"" help:"Replaced by: holdfast token revoke."`
}

// userMovedCmd tells where a command went.
type userMovedCmd struct {
	Rest []string `arg:"" optional:"" help:"Arguments of the replaced command; they are ignored."`
}

func (userMovedCmd) Run(*app) error {
	return usage("access tokens are made with holdfast token create and revoked with holdfast token revoke; people " +
		"are invited with holdfast user invite")
}

type userInviteCmd struct {
	Name        string `arg:"" help:"The person's name; with --again, their id or e-mail address works too."`
	Mail        string `help:"The person's e-mail address."`
	Institution string `help:"The place where the person works."`
	Language    string `placeholder:"TAG" help:"The person's language, such as da or en-GB."`
	Zone        string `help:"The person's time zone, such as Europe/Copenhagen."`
	Expires     string `default:"168h" help:"How long the invitation can be used."`
	Again       bool   `help:"Make another invitation for a person who is listed already and no longer has an access token."`
}

// Help says what follows.
func (userInviteCmd) Help() string {
	return "Give the invitation to that person only. They accept it with: holdfast user accept --server URL @FILE\n\n" +
		"Give them a role with: holdfast grant give. No two people can have the same name or e-mail address."
}

func (c userInviteCmd) Run(a *app) error {
	if c.Mail == "" && !c.Again {
		return usage("give the person's e-mail address: --mail")
	}
	return a.remote(func(ctx context.Context, archive *client.Client) (err error) {
		people := archive.People()
		var made wire.Invitation
		if c.Again {
			made, err = people.InviteAgain(ctx, c.Name, wire.AgainRequest{Lifetime: c.Expires})
		} else {
			made, err = people.Invite(ctx, wire.PersonRequest{Name: c.Name, Mail: c.Mail, Institution: c.Institution,
				Language: c.Language,
				Zone:     c.Zone, Lifetime: c.Expires})
		}
		if err != nil {
			return err
		}
		return a.answer(made, func() error {
			fmt.Fprintf(a.stderr, "Invitation for %s (%s), good until %s:\n", made.Person.Name, made.Person.ID,
				when(made.Expires))
			_, err := fmt.Fprintln(a.stdout, made.Text)
			if err == nil && made.URL != "" {
				fmt.Fprintf(a.stderr, "Or, in a browser, where they choose a password: %s\n", made.URL)
			}
			return err
		})
	})
}

type userAcceptCmd struct {
	Invitation string `arg:"" help:"The invitation's text; @FILE reads it from a file."`
}

func (c userAcceptCmd) Run(a *app) error {
	text, err := readText(c.Invitation)
	if err != nil {
		return err
	}
	if a.Token == "" && a.Server != "" {
		a.Token = "none" // it needs none
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		token, err := archive.People().Accept(ctx, text)
		if err != nil {
			return err
		}
		return a.answer(token, func() error {
			fmt.Fprintf(a.stderr, "Welcome, %s. This is your access token; keep it for yourself:\n", token.OwnerName)
			_, err := fmt.Fprintln(a.stdout, token.Text)
			return err
		})
	})
}

type userListCmd struct{}

func (userListCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, c *client.Client) error {
		people, err := c.People().List(ctx)
		if err != nil {
			return err
		}
		return list(a, people, table.Row{"Id", "Name", "E-mail", "Institution", "State", "Since"},
			func(p wire.Person) table.Row {
				return table.Row{p.ID, p.Name, p.Mail, p.Institution, p.State, when(p.Since)}
			})
	})
}

type userShowCmd struct {
	Person string `arg:"" help:"The person: id, e-mail address or name."`
}

func (c userShowCmd) Run(a *app) error {
	return ask(a, showPerson, func(ctx context.Context, archive *client.Client) (wire.Person, error) {
		return archive.People().Show(ctx, c.Person)
	})
}

func showPerson(a *app, p wire.Person) error {
	return a.answer(p, func() error {
		var rows []table.Row
		for _, f := range []struct{ name, value string }{{"id", p.ID}, {"name", p.Name}, {"e-mail", p.Mail},
			{"institution", p.Institution},
			{"language", p.Language}, {"zone", p.Zone}, {"state", string(p.State)}, {"since", when(p.Since)},
			{"reason", p.Reason}} {
			if f.value != "" {
				rows = append(rows, table.Row{f.name, f.value})
			}
		}
		if err := a.table(nil, rows); err != nil {
			return err
		}
		if err := identityTable(a, p.Identities); err != nil || len(p.Grants) == 0 {
			return err
		}
		fmt.Fprintln(a.stdout)
		return grantTable(a, p.Grants)
	})
}

// identityTable shows the accounts with which a person signs in, if there are any.
func identityTable(a *app, all []wire.Identity) error {
	if len(all) == 0 {
		return nil
	}
	var rows []table.Row
	for _, i := range all {
		rows = append(rows, table.Row{i.ID, i.Issuer, i.Subject, when(i.Since)})
	}
	fmt.Fprintln(a.stdout)
	return a.table(table.Row{"Linked account", "Issuer", "Subject", "Since"}, rows)
}

type userUnlinkCmd struct {
	Person  string `arg:"" help:"The person: id, e-mail address or name."`
	Account string `arg:"" help:"The id of the linked account, as holdfast user show prints it."`
	Reason  string `required:"" help:"Reason, written into the audit trail."`
}

// Help says what becomes of sessions.
func (userUnlinkCmd) Help() string {
	return "The person's sessions end, and so do the grants that the account's groups gave. To link another account, " +
		"invite them again (holdfast user invite --again); they accept the invitation with that account."
}

func (c userUnlinkCmd) Run(a *app) error {
	return ask(a, showPerson, func(ctx context.Context, archive *client.Client) (wire.Person, error) {
		return archive.People().Unlink(ctx, c.Person, c.Account, c.Reason)
	})
}

type userSetCmd struct {
	Person      string  `arg:"" help:"The person: id, e-mail address or name."`
	Name        *string `help:"The new name."`
	Mail        *string `help:"The new e-mail address."`
	Institution *string `help:"The place where the person works."`
	Language    *string `placeholder:"TAG" help:"The language, such as da or en-GB."`
	Zone        *string `help:"The time zone, such as Europe/Copenhagen."`
}

// Help says who may.
func (userSetCmd) Help() string {
	return "You can set your own language and time zone; everything else needs an administrator. A person's id never " +
		"changes."
}

func (c userSetCmd) Run(a *app) error {
	change := wire.PersonChange{Name: c.Name, Mail: c.Mail, Institution: c.Institution, Language: c.Language,
		Zone: c.Zone}
	if change == (wire.PersonChange{}) {
		return usage("nothing to change: give --name, --mail, --institution, --language or --zone")
	}
	return ask(a, showPerson, func(ctx context.Context, archive *client.Client) (wire.Person, error) {
		return archive.People().Set(ctx, c.Person, change)
	})
}

type userDisableCmd struct {
	Person string `arg:"" help:"The person: id, e-mail address or name."`
	Reason string `required:"" help:"Reason, written into the audit trail."`
}

// Help says what becomes of tokens.
func (userDisableCmd) Help() string {
	return "Every node refuses all tokens of the person and of their programs as soon as it has received the change. " +
		"At least one active administrator must keep a grant without an end date, so the last one cannot be disabled."
}

func (c userDisableCmd) Run(a *app) error {
	return ask(a, showPerson, func(ctx context.Context, archive *client.Client) (wire.Person, error) {
		return archive.People().Disable(ctx, c.Person, c.Reason)
	})
}

type userEnableCmd struct {
	Person string `arg:"" help:"The person: id, e-mail address or name."`
	Reason string `required:"" help:"Reason, written into the audit trail."`
}

func (c userEnableCmd) Run(a *app) error {
	return ask(a, showPerson, func(ctx context.Context, archive *client.Client) (wire.Person, error) {
		return archive.People().Enable(ctx, c.Person, c.Reason)
	})
}

// peopleNames are the names of people, programs and their tokens, by id; empty when the cluster does not tell.
func peopleNames(ctx context.Context, c *client.Client) (map[string]string, error) {
	names := map[string]string{}
	people, err := c.People().List(ctx)
	if errors.Is(err, wire.ErrNotFound) { // a node with an older program
		return names, nil
	}
	for _, p := range people {
		names[p.ID] = p.Name
	}
	return names, err
}
