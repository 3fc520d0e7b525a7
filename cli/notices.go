package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type noticeCmd struct {
	Add    noticeAddCmd    `cmd:"" help:"Add an address that is told of alerts."`
	List   noticeListCmd   `cmd:"" help:"List the addresses, and how their notices fare."`
	Show   noticeShowCmd   `cmd:"" help:"Show an address, and how its notices fare."`
	Set    noticeSetCmd    `cmd:"" help:"Change an address."`
	Remove noticeRemoveCmd `cmd:"" help:"Remove an address, with the notices that are on their way there."`
	Test   noticeTestCmd   `cmd:"" help:"Send a test notice, and wait for its outcome."`
}

type noticeAddCmd struct {
	Name       string   `arg:"" help:"A name for the address, such as operators."`
	Way        string   `required:"" enum:"mail,webhook,stderr" help:"How it is told: mail, webhook or stderr."`
	To         string   `help:"A mail address; a webhook's URL, @FILE reads it from a file; of stderr the name of a node, any if not given."`
	Secret     string   `help:"A webhook's secret, whsec_ and base64; @FILE reads it from a file. If not given, one is made and printed."`
	Inside     bool     `help:"Let the webhook be at an address that is not public. Needs an operator of the whole archive."`
	Kind       []string `placeholder:"KIND" help:"Tell only of alerts of this kind; may be repeated."`
	Least      string   `enum:"look,bad," default:"" help:"Tell only of alerts of this severity or worse: look or bad."`
	Collection string   `help:"Tell only of alerts about jobs and harvests of this collection."`
	Place      string   `help:"Tell only of alerts about nodes and copies at this place, and of what its nodes see."`
	Language   string   `default:"en" help:"Language of the notices: en, da, it, fr, de."`
	When       string   `enum:"at-once,hourly,daily" default:"at-once" help:"When to tell: at-once, hourly (what an hour brought) or daily (a report at a time of day)."`
	Hour       string   `placeholder:"HH:MM" help:"When a daily report is made, such as 07:30."`
	Zone       string   `help:"Time zone of the hour and of times in notices, such as Europe/Copenhagen. UTC if not given."`
	Cleared    bool     `help:"Also tell when an alert is over."`
}

func (c noticeAddCmd) Run(a *app) error {
	to, err := readText(c.To)
	if err != nil {
		return err
	}
	secret, err := readText(c.Secret)
	if err != nil {
		return err
	}
	return ask(a, showNotice, func(ctx context.Context, archive *client.Client) (wire.NoticeAddress, error) {
		return archive.Notices().Add(ctx, wire.NoticeAddressRequest{Name: c.Name, Way: wire.NoticeWay(c.Way),
			To: strings.TrimSpace(to), Secret: strings.TrimSpace(secret), Inside: c.Inside,
			NoticeFilter: wire.NoticeFilter{Kinds: c.Kind, Least: c.Least, Collection: c.Collection, Place: c.Place},
			Language:     c.Language, When: c.When, Hour: c.Hour, Zone: c.Zone, Cleared: c.Cleared})
	})
}

type noticeListCmd struct{}

func (noticeListCmd) Run(a *app) error {
	return ask(a, func(a *app, all []wire.NoticeAddress) error {
		return list(a, all, table.Row{"Address", "Way", "To", "When", "Told", "Waiting", "Lost", "Trouble"},
			func(n wire.NoticeAddress) table.Row {
				return table.Row{n.Name, n.Way, n.To, whenTold(n), n.Told, n.Waiting, n.Lost, n.Reason}
			})
	}, func(ctx context.Context, archive *client.Client) ([]wire.NoticeAddress, error) {
		return archive.Notices().List(ctx)
	})
}

func whenTold(n wire.NoticeAddress) string {
	if n.Hour == "" {
		return n.When
	}
	return strings.TrimSpace(n.When + " " + n.Hour + " " + n.Zone)
}

type noticeShowCmd struct {
	Name string `arg:"" help:"The address's name."`
}

func (c noticeShowCmd) Run(a *app) error {
	return ask(a, showNotice, func(ctx context.Context, archive *client.Client) (wire.NoticeAddress, error) {
		return archive.Notices().Show(ctx, c.Name)
	})
}

func showNotice(a *app, n wire.NoticeAddress) error {
	return a.answer(n, func() error {
		rows := []table.Row{{"address", n.Name}, {"way", n.Way}, {"to", n.To}, {"when", whenTold(n)},
			{"kinds", strings.Join(n.Kinds, ", ")}, {"least", n.Least}, {"collection", n.Collection},
			{"place", n.Place}, {"language", n.Language}, {"when over, too", yes(n.Cleared)}, {"inside", yes(n.Inside)},
			{"told", n.Told}, {"waiting", n.Waiting}, {"lost", n.Lost}, {"undelivered since", when(n.Undelivered)},
			{"trouble", n.Reason}, {"changed", when(n.Changed)}, {"by", n.ChangedBy}}
		if n.Secret != "" {
			rows = append(rows, table.Row{"secret", n.Secret})
			fmt.Fprintln(a.stderr, "The receiver checks notices by the secret. It is not shown again.")
		}
		return a.table(nil, rows)
	})
}

type noticeSetCmd struct {
	Name       string    `arg:"" help:"The address's name."`
	To         *string   `help:"Another destination; @FILE reads it from a file. A webhook gets a new secret with it."`
	Secret     string    `help:"With --to: the webhook's secret."`
	Inside     *bool     `negatable:"" help:"Allow a webhook at an address that is not public; --no-inside forbids it again."`
	Kind       *[]string `placeholder:"KIND" help:"Tell only of alerts of this kind; may be repeated."`
	Least      *string   `help:"Tell only of alerts of this severity or worse: look or bad; empty: all."`
	Collection *string   `help:"Tell only of alerts about this collection; empty: all."`
	Place      *string   `help:"Tell only of alerts about this place; empty: all."`
	Language   *string   `help:"Language of the notices: en, da, it, fr, de."`
	When       *string   `help:"When to tell: at-once, hourly or daily."`
	Hour       *string   `placeholder:"HH:MM" help:"When the daily report is made; empty for an address that gets none any more."`
	Zone       *string   `help:"Time zone of the hour and of times in notices."`
	Cleared    *bool     `negatable:"" help:"Also tell when an alert is over; --no-cleared ends that."`
}

func (c noticeSetCmd) Run(a *app) error {
	secret, err := readText(c.Secret)
	if err != nil {
		return err
	}
	if c.To != nil {
		to, err := readText(*c.To)
		if err != nil {
			return err
		}
		to = strings.TrimSpace(to)
		c.To = &to
	}
	return ask(a, showNotice, func(ctx context.Context, archive *client.Client) (wire.NoticeAddress, error) {
		return archive.Notices().Set(ctx, c.Name, wire.NoticeAddressChange{To: c.To, Secret: strings.TrimSpace(secret),
			Inside: c.Inside, Kinds: c.Kind, Least: c.Least, Collection: c.Collection, Place: c.Place,
			Language: c.Language, When: c.When, Hour: c.Hour, Zone: c.Zone, Cleared: c.Cleared})
	})
}

type noticeRemoveCmd struct {
	Name string `arg:"" help:"The address's name."`
}

func (c noticeRemoveCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if err := archive.Notices().Remove(ctx, c.Name); err != nil {
			return err
		}
		return a.done("removed", c.Name)
	})
}

type noticeTestCmd struct {
	Name string `arg:"" help:"The address's name."`
}

func (noticeTestCmd) exits() []string {
	return []string{"0   the receiver has accepted the test notice", "1   it has not"}
}

func (c noticeTestCmd) Run(a *app) error {
	return ask(a, func(a *app, got wire.NoticeTest) error {
		if err := a.answer(got, func() error {
			if !got.Accepted {
				return nil
			}
			_, err := fmt.Fprintf(a.stdout, "accepted, sent by %s\n", got.Node)
			return err
		}); err != nil {
			return err
		}
		if !got.Accepted {
			by := ""
			if got.Node != "" {
				by = " (node " + got.Node + ")"
			}
			fmt.Fprintf(a.stderr, "%s was not told%s: %s\n", c.Name, by, got.Reason)
			return errNo
		}
		return nil
	}, func(ctx context.Context, archive *client.Client) (wire.NoticeTest, error) {
		return archive.Notices().Test(ctx, c.Name)
	})
}
