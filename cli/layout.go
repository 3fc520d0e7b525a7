package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type layoutCmd struct {
	Show   layoutShowCmd   `cmd:"" help:"Show the staged changes, and what would follow: what each node copies, and what would be short of copies."`
	Apply  layoutApplyCmd  `cmd:"" help:"Carry out all staged changes, or none of them."`
	Revert layoutRevertCmd `cmd:"" help:"Discard one of the staged changes, or all."`
	Staged layoutStagedCmd `cmd:"" help:"Say whether changes of the layout are always staged, and new nodes wait for an apply."`
}

// Help says what is staged.
func (layoutCmd) Help() string {
	return "Drains, weights, removals of drained nodes, and which collections a replica has to hold can be staged, " +
		"with --stage at\nnode drain, node undrain, node weight, node remove and replica set. Nothing happens before " +
		"layout apply. Repairs, and the\nremoval of lost nodes, are never staged. What waits for a second person is " +
		"not staged, either."
}

// stageFlags are those of a change that can be staged.
type stageFlags struct {
	Stage bool `help:"Keep the change for the next layout apply instead of making it now."`
}

type layoutShowCmd struct{}

func (layoutShowCmd) Run(a *app) error {
	return ask(a, showLayout, func(ctx context.Context, archive *client.Client) (wire.Layout, error) {
		return archive.Replicas().Layout().Show(ctx)
	})
}

type layoutApplyCmd struct {
	Version uint64 `arg:"" optional:"" help:"Apply without asking, if this is the version of what is staged, as layout show prints it."`
	Reason  string `help:"Reason, written into the audit trail."`
}

func (layoutApplyCmd) exits() []string {
	return []string{"0   all was carried out", "1   refused: what is staged is another version, or one of the " +
		"changes is refused; nothing was done"}
}

func (c layoutApplyCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		version := c.Version
		if version == 0 {
			shown, err := archive.Replicas().Layout().Show(ctx)
			if err != nil {
				return err
			}
			if len(shown.Changes) == 0 {
				return exitError{exitFailed, errors.New("nothing is staged")}
			}
			if !a.atTerminal() {
				return usage("look at layout show, and give the version that it prints")
			}
			if err := showLayout(a, shown); err != nil {
				return err
			}
			fmt.Fprintf(a.stderr, "Type yes to apply version %d: ", shown.Version)
			line, err := bufio.NewReader(a.stdin).ReadString('\n')
			if err != nil || strings.TrimSpace(line) != "yes" {
				return exitError{exitFailed, errors.New("nothing was done")}
			}
			version = shown.Version
		}
		l, err := archive.Replicas().Layout().Apply(ctx, wire.LayoutApply{Version: version, Reason: c.Reason})
		if err != nil {
			return err
		}
		return a.answer(l, func() error {
			_, err := fmt.Fprintf(a.stdout, "applied version %d\n", version)
			return err
		})
	})
}

type layoutRevertCmd struct {
	Change uint64 `arg:"" optional:"" help:"The change's number, as layout show prints it. Default: all changes."`
	Reason string `help:"Reason, written into the audit trail."`
}

func (layoutRevertCmd) Help() string {
	return "A node that has joined and waits for an apply stays drained when its change is reverted. To stage it " +
		"again: holdfast node undrain --stage"
}

func (c layoutRevertCmd) Run(a *app) error {
	return ask(a, showLayout, func(ctx context.Context, archive *client.Client) (wire.Layout, error) {
		return archive.Replicas().Layout().Revert(ctx, wire.LayoutRevert{Change: c.Change, Reason: c.Reason})
	})
}

type layoutStagedCmd struct {
	Always string `arg:"" optional:"" enum:"yes,no,show" default:"show" help:"yes: changes of the layout are always staged, and new nodes hold nothing before an apply. no: only with --stage. Default: show it."`
	Reason string `help:"Reason, written into the audit trail."`
}

func (c layoutStagedCmd) Run(a *app) error {
	return ask(a, showAlways, func(ctx context.Context, archive *client.Client) (wire.Layout, error) {
		if c.Always == "show" {
			return archive.Replicas().Layout().Show(ctx)
		}
		return archive.Replicas().Layout().Set(ctx, wire.LayoutSetting{Always: c.Always == "yes", Reason: c.Reason})
	})
}

func showAlways(a *app, l wire.Layout) error {
	return a.answer(l, func() error {
		text := "Changes of the layout are staged only with --stage."
		if l.Always {
			text = "Changes of the layout are always staged, and new nodes wait for layout apply."
		}
		_, err := fmt.Fprintln(a.stdout, text)
		return err
	})
}

// changeText says what a staged change does.
func changeText(c wire.LayoutChange) string {
	of := c.NodeName
	if of == "" {
		of = c.Node
	}
	switch c.Step {
	case "weight":
		return fmt.Sprintf("weight %d for %s", c.Weight, of)
	case "collections":
		if len(c.Collections) == 0 {
			return "replica " + c.Replica + " holds all collections"
		}
		return "replica " + c.Replica + " holds " + strings.Join(c.Collections, ", ")
	}
	if c.Joined {
		return of + " has joined, and gets shards"
	}
	return c.Step + " " + of
}

func showLayout(a *app, l wire.Layout) error {
	return a.answer(l, func() error {
		if len(l.Changes) == 0 {
			_, err := fmt.Fprintf(a.stdout, "Nothing is staged (version %d).\n", l.Version)
			return err
		}
		fmt.Fprintf(a.stdout, "Staged, version %d:\n", l.Version)
		rows := make([]table.Row, len(l.Changes))
		for i, c := range l.Changes {
			rows[i] = table.Row{c.ID, changeText(c), c.ByName, when(c.At), c.Reason}
		}
		if err := a.table(table.Row{"Change", "What", "By", "Since", "Reason"}, rows); err != nil || l.Plan == nil {
			return err
		}
		return showPlan(a, l.Plan)
	})
}

func showPlan(a *app, p *wire.LayoutPlan) error {
	for _, r := range p.Refused {
		fmt.Fprintf(a.stdout, "\nChange %d would be refused now, and with it all: %s\n", r.Change, r.Why)
	}
	if len(p.Links) == 0 {
		fmt.Fprintln(a.stdout, "\nNo file would be copied.")
	} else {
		fmt.Fprintln(a.stdout, "\nWould be copied:")
		rows := make([]table.Row, len(p.Links))
		for i, k := range p.Links {
			rows[i] = table.Row{k.Replica, orWords(k.FromName, "nobody"), orWords(k.ToName, "nobody"), k.Files,
				size(k.Bytes), linkTime(k)}
		}
		if err := a.table(table.Row{"Replica", "From", "To", "Files", "Bytes", "Time"}, rows); err != nil {
			return err
		}
	}
	least := ""
	if p.Partly {
		least = "at least "
	}
	for _, s := range p.Short {
		fmt.Fprintf(a.stdout, "\nReplica %s gives up good copies of %s%d files; %s%d of them are left in one place "+
			"only, %s%d without any good copy.\n", s.Replica, least, s.Fewer, least, s.OnePlace, least, s.None)
	}
	switch {
	case p.Partly:
		fmt.Fprintln(a.stdout, "Not all files were looked at: more may have fewer good copies than now.")
	case len(p.Short) == 0:
		fmt.Fprintln(a.stdout, "No file would have fewer good copies than now.")
	}
	for _, f := range p.Full {
		fmt.Fprintf(a.stdout, "\n%s would have to take %s, and has room for %s.\n", f.NodeName, size(f.Bytes),
			size(f.Free))
	}
	for _, n := range p.Stuck {
		fmt.Fprintf(a.stdout, "\n%s keeps %d shards: no node of its replica that is there takes them.\n", n.NodeName,
			n.Shards)
	}
	for _, r := range p.Unsettled {
		fmt.Fprintf(a.stdout, "\nIt cannot be foreseen where all shards of replica %s will lie.\n", r)
	}
	for _, effect := range p.Effects {
		fmt.Fprintf(a.stdout, "\n%s.\n", effect)
	}
	return nil
}

func orWords(text, none string) string {
	if text == "" {
		return none
	}
	return text
}

// linkTime says how long a link takes, as far as its limits say that.
func linkTime(k wire.LayoutLink) string {
	switch {
	case k.Bytes == 0:
		return "–"
	case k.Seconds == 0:
		return "not known"
	}
	return fmt.Sprintf("at least %s at %s/s", time.Duration(k.Seconds)*time.Second, size(k.Rate))
}

// onlyStaged reports whether a change was refused as it is staged alone in this cluster.
func onlyStaged(err error) bool {
	var refused *wire.Error
	return errors.As(err, &refused) && refused.Code == wire.CodeOnlyStaged
}

// stageOr makes a change, or stages it: if that is wanted, or if the cluster makes no such changes at once.
func (a *app) stageOr(stage bool, now func(context.Context, *client.Client) error,
	later func(context.Context, *client.Client) (wire.LayoutChange, error)) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if !stage {
			if err := now(ctx, archive); !onlyStaged(err) {
				return err
			}
		}
		c, err := later(ctx, archive)
		if err != nil {
			return err
		}
		return a.answer(c, func() error {
			_, err := fmt.Fprintf(a.stdout, "staged as change %d: %s. Look at layout show, then layout apply.\n", c.ID,
				changeText(c))
			return err
		})
	})
}

// changeNode changes a node, or stages it.
func (a *app) changeNode(name string, stage bool, change wire.NodeChange, staged wire.NodeStaging) error {
	return a.stageOr(stage, func(ctx context.Context, archive *client.Client) error {
		n, err := archive.Nodes().Change(ctx, name, change)
		if err != nil {
			return err
		}
		return showNode(a, n)
	}, func(ctx context.Context, archive *client.Client) (wire.LayoutChange, error) {
		return archive.Nodes().Stage(ctx, name, staged)
	})
}

type replicaSetCmd struct {
	Name       string   `arg:"" help:"A replica's name."`
	Collection []string `placeholder:"NAME" xor:"collections" required:"" help:"Keep the files of this collection, and of no other that is not named; may be repeated."`
	All        bool     `xor:"collections" required:"" help:"Keep the files of all collections."`
	stageFlags
	Reason string `help:"Reason, kept with a staged change."`
}

func (replicaSetCmd) Help() string {
	return "Copies of a collection that the replica does not have to hold any more are released; those of a new one " +
		"are made. Stage\nthe change to see first how many files would have fewer copies."
}

func (c replicaSetCmd) Run(a *app) error {
	in := wire.ReplicaChange{Collections: c.Collection, Reason: c.Reason}
	if c.All {
		in.Collections = []string{}
	}
	return a.stageOr(c.Stage, func(ctx context.Context, archive *client.Client) error {
		r, err := archive.Replicas().Change(ctx, c.Name, in)
		if err != nil {
			return err
		}
		return a.answer(r, func() error { return replicaTable(a, []wire.Replica{r}) })
	}, func(ctx context.Context, archive *client.Client) (wire.LayoutChange, error) {
		return archive.Replicas().Stage(ctx, c.Name, in)
	})
}
