package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type alertCmd struct {
	List        alertListCmd        `cmd:"" help:"List what is wrong or waits for a person, as all nodes see it."`
	Acknowledge alertAcknowledgeCmd `cmd:"" help:"Say that you know of an alert: nobody else is told of it meanwhile."`
	Withdraw    alertWithdrawCmd    `cmd:"" help:"Withdraw the acknowledgement of an alert."`
}

// alertFlags name an alert.
type alertFlags struct {
	Kind    string `arg:"" help:"The alert's kind, as in: node-away."`
	Subject string `arg:"" optional:"" help:"What the alert is about, if alert list shows it: the name of a node, a path, or the number of a job."`
	By      string `placeholder:"NODE" help:"The node that sees it, if the list names one."`
}

func (f alertFlags) ref() wire.AlertRef {
	return wire.AlertRef{Kind: f.Kind, Node: f.By, Subject: f.Subject}
}

type alertAcknowledgeCmd struct {
	alertFlags
	Note string        `required:"" help:"Why, or what will be done."`
	For  time.Duration `default:"24h" help:"For how long, at most 2160h (90 days)."`
}

// Help says what it means that an alert is acknowledged.
func (alertAcknowledgeCmd) Help() string {
	return "An alert that is acknowledged stays in all lists, with your name and note. Who was not told of it yet is " +
		"not told until the time has passed. It is not acknowledged any more when it was over and comes back. " +
		"Alerts about jobs and harvests need a curator, all others an operator."
}

func (c alertAcknowledgeCmd) Run(a *app) error {
	return ask(a, func(a *app, got wire.Acknowledgement) error {
		return a.answer(got, func() error {
			_, err := fmt.Fprintf(a.stdout, "acknowledged until %s\n", when(got.Until))
			return err
		})
	}, func(ctx context.Context, archive *client.Client) (wire.Acknowledgement, error) {
		return archive.Acknowledge(ctx,
			wire.AcknowledgeRequest{AlertRef: c.ref(), Note: c.Note, Until: time.Now().Add(c.For)})
	})
}

type alertWithdrawCmd struct{ alertFlags }

func (c alertWithdrawCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if err := archive.Withdraw(ctx, c.ref()); err != nil {
			return err
		}
		return a.done("withdrawn", c.Kind)
	})
}

type alertListCmd struct{}

func (alertListCmd) exits() []string {
	return []string{"0   there is nothing, and all nodes answered", "1   there is something, or a node did not answer"}
}

func (alertListCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, c *client.Client) error {
		all, err := c.Alerts(ctx)
		if err != nil {
			return err
		}
		if err := a.answer(all, func() error { return alertTable(a, all.Items) }); err != nil {
			return err
		}
		for _, n := range all.Silent {
			_, _ = fmt.Fprintf(a.stderr, "node %s does not answer, and what it alone sees is missing: %s\n", n.Name,
				n.Reason)
		}
		if len(all.Items)+len(all.Silent) > 0 {
			return errNo
		}
		return nil
	})
}

func alertTable(a *app, all []wire.Alert) error {
	rows := make([]table.Row, len(all))
	for i, one := range all {
		known := ""
		if k := one.Acknowledged; k != nil {
			known = k.By + " until " + when(k.Until) + ": " + k.Note
		}
		rows[i] = table.Row{one.Severity, when(one.Since), one.Node, one.Kind, one.Subject, one.Text, known}
	}
	return a.table(table.Row{"Severity", "Since", "Node", "Kind", "Of", "What", "Acknowledged"}, rows)
}
