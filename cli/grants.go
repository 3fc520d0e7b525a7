package cli

import (
	"context"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type grantCmd struct {
	Give grantGiveCmd `cmd:"" help:"Give a person a role."`
	End  grantEndCmd  `cmd:"" help:"End a grant."`
	List grantListCmd `cmd:"" help:"List the grants."`
}

type grantGiveCmd struct {
	Person     string `arg:"" help:"The person: id, e-mail address or name."`
	Role       string `arg:"" enum:"reader,curator,operator,admin" help:"The role: ${enum}. Each role includes the ones before it."`
	Collection string `help:"For the role curator: only in this collection."`
	Place      string `help:"For the role operator: only for the nodes, replicas and copies at this place."`
	Until      string `placeholder:"DAY" help:"The day on which the grant ends (it no longer counts on that day), such as 2027-07-01."`
	Reason     string `help:"Reason, written into the audit trail."`
}

// Help explains what is refused.
func (grantGiveCmd) Help() string {
	return "Without --collection or --place, the role counts in the whole archive. You cannot give a grant to " +
		"yourself. " +
		"A grant for a collection ends when the collection is removed, even if another is added under the same name " +
		"later.\n\n" +
		"Give the first administrator their grant with the local token of a node (--config); that token works " +
		"whatever the grants are."
}

func (c grantGiveCmd) Run(a *app) error {
	asked := wire.GrantRequest{Person: c.Person, Role: wire.Role(c.Role), Collection: c.Collection, Place: c.Place,
		Reason: c.Reason}
	if c.Until != "" {
		day, err := time.Parse(time.DateOnly, c.Until)
		if err != nil {
			return usage("--until %s: want a day such as 2027-07-01", c.Until)
		}
		asked.Until = day
	}
	return ask(a, showGrant, func(ctx context.Context, archive *client.Client) (wire.Grant, error) {
		return archive.Grants().Give(ctx, asked)
	})
}

type grantEndCmd struct {
	ID     uint64 `arg:"" name:"id" help:"The grant's number, as grant list prints it."`
	Reason string `required:"" help:"Reason, written into the audit trail."`
}

// Help says what stays.
func (grantEndCmd) Help() string {
	return "The grant stays in grant list --ended. At least one active administrator must keep a grant without an " +
		"end date."
}

func (c grantEndCmd) Run(a *app) error {
	return ask(a, showGrant, func(ctx context.Context, archive *client.Client) (wire.Grant, error) {
		return archive.Grants().End(ctx, c.ID, c.Reason)
	})
}

type grantListCmd struct {
	Person string `arg:"" optional:"" help:"Show only the grants of this person: id, e-mail address or name."`
	Ended  bool   `help:"Also show grants that have ended."`
}

func (c grantListCmd) Run(a *app) error {
	return ask(a, showAll(grantTable), func(ctx context.Context, archive *client.Client) ([]wire.Grant, error) {
		return archive.Grants().List(ctx, c.Person, c.Ended)
	})
}

func showGrant(a *app, g wire.Grant) error {
	return a.answer(g, func() error { return grantTable(a, []wire.Grant{g}) })
}

func grantTable(a *app, all []wire.Grant) error {
	rows := make([]table.Row, len(all))
	for i, g := range all {
		where := "the whole archive"
		switch {
		case g.Collection != "":
			where = "collection " + g.Collection
		case g.Place != "":
			where = "place " + g.Place
		}
		rows[i] = table.Row{g.ID, g.PersonName, g.Role, where, g.State, g.ByName, when(g.Since), when(g.Until),
			when(g.Ended), g.Reason}
	}
	return a.table(table.Row{"Id", "Person", "Role", "In", "State", "Given by", "Since", "Until", "Ended", "Reason"},
		rows)
}
