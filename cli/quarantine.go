package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type quarantineCmd struct {
	List    quarantineListCmd    `cmd:"" help:"List the bytes that the nodes have set aside."`
	Show    quarantineShowCmd    `cmd:"" help:"Have a node read bytes that it has set aside, and say what they are."`
	Restore quarantineRestoreCmd `cmd:"" help:"Return right bytes to the archive if it is missing them."`
	Delete  quarantineDeleteCmd  `cmd:"" help:"Delete bytes that a node has set aside."`
}

// asideArgs name bytes in a quarantine.
type asideArgs struct {
	Node string `arg:"" help:"The node's name."`
	ID   string `arg:"" help:"What has been set aside, as quarantine list shows it: the file's name, a dot, 17 digits."`
}

type quarantineListCmd struct {
	Node string `arg:"" optional:"" help:"List only what this node has set aside."`
}

func (quarantineListCmd) exits() []string {
	return []string{"0   every node answered, and the list is whole",
		"1   a node did not answer or could not list everything"}
}

func (c quarantineListCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		nodes, err := archive.Files().Quarantine(ctx)
		if err != nil {
			return err
		}
		if nodes, err = onlyNode(nodes, c.Node); err != nil {
			return err
		}
		show := func() error { return asideTable(a, nodes) }
		if err := a.answer(items[wire.NodeQuarantine]{nodes}, show); err != nil {
			return err
		}
		for _, n := range nodes {
			if n.Unreachable != "" || n.Fault != "" || n.Files > len(n.Aside) {
				return errNo
			}
		}
		return nil
	})
}

// onlyNode returns what is said of one node, or of all.
func onlyNode(all []wire.NodeQuarantine, name string) ([]wire.NodeQuarantine, error) {
	if name == "" {
		return all, nil
	}
	for _, n := range all {
		if n.Name == name || n.Node == name {
			return []wire.NodeQuarantine{n}, nil
		}
	}
	return nil, fmt.Errorf("no node %s", name)
}

func asideTable(a *app, nodes []wire.NodeQuarantine) error {
	var rows []table.Row
	for _, n := range nodes {
		if n.Unreachable != "" {
			rows = append(rows, table.Row{n.Name, "", "", "", "", "does not answer: " + n.Unreachable})
		}
		for _, s := range n.Aside {
			rows = append(rows, table.Row{n.Name, s.ID, size(s.Size), copiesOf(s), s.State, s.Reason})
		}
		if more := n.Files - len(n.Aside); more > 0 {
			rows = append(rows, table.Row{n.Name, fmt.Sprintf("and %d more", more)})
		}
		if n.Fault != "" {
			rows = append(rows, table.Row{n.Name, "", "", "", "", "the list is not whole: " + n.Fault})
		}
	}
	return a.table(table.Row{"Node", "Set aside", "Size", "Good copies", "State", "Reason"}, rows,
		table.ColumnConfig{Name: "Reason", WidthMax: 60})
}

func copiesOf(s wire.Aside) string {
	if !s.Known {
		return "-"
	}
	return fmt.Sprint(s.Good)
}

type quarantineShowCmd struct{ asideArgs }

func (c quarantineShowCmd) Run(a *app) error {
	return ask(a, showAside, func(ctx context.Context, archive *client.Client) (wire.Aside, error) {
		return archive.Files().ShowAside(ctx, c.Node, c.ID)
	})
}

func showAside(a *app, s wire.Aside) error {
	return a.answer(s, func() error {
		rows := []table.Row{{"set aside", s.ID}, {"file", s.Name}, {"path", s.Path}, {"size", size(s.Size)},
			{"sha256", s.SHA256}, {"since", s.Since.Format(time.RFC3339)}, {"reason", s.Reason}, {"state", s.State},
			{"good copies", copiesOf(s)}}
		if s.Kept != "" {
			rows = append(rows, table.Row{"cannot be deleted", s.Kept})
		}
		if s.Going {
			rows = append(rows, table.Row{"asked for", "deletion"})
		}
		return a.table(nil, rows)
	})
}

type quarantineRestoreCmd struct{ asideArgs }

func (quarantineRestoreCmd) Help() string {
	return "The node reads the bytes. If they are the archive's file, and it misses a copy, the node becomes\n" +
		"the file's source, and the copies are made from there. Wrong bytes stay where they are."
}

func (quarantineRestoreCmd) exits() []string {
	return []string{"0   the bytes are right, and the archive has them again",
		"1   refused: they are not the archive's file, or it misses no copy"}
}

func (c quarantineRestoreCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		return archive.Files().RestoreAside(ctx, c.Node, c.ID)
	})
}

type quarantineDeleteCmd struct {
	asideArgs
	Checksum string `required:"" placeholder:"SHA256" help:"SHA-256 of the bytes, as quarantine show prints it; other bytes are not deleted."`
	Reason   string `required:"" help:"Reason, written into the audit trail."`
}

func (quarantineDeleteCmd) Help() string {
	return "Refused while these may be the only bytes of a file that the archive wants: when no replica has\n" +
		"a verified copy and no other node is its source. The node asks the cluster once more before it\n" +
		"deletes them."
}

func (quarantineDeleteCmd) exits() []string {
	return []string{"0   the bytes are deleted",
		"1   refused, or it waits for a second person, or the node has kept them, or has not answered for a minute"}
}

// deleteLimit is how long it is waited for a node to delete what it was asked to.
const deleteLimit = time.Minute

func (c quarantineDeleteCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		ask := wire.AsideRemoval{SHA256: strings.ToLower(c.Checksum), Reason: c.Reason}
		if err := archive.Files().DeleteAside(ctx, c.Node, c.ID, ask); err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, deleteLimit)
		defer cancel()
		last, kept := "it has not begun", 0
		err := every(limited, time.Second, func() (done bool, err error) {
			one, err := archive.Files().ShowAside(limited, c.Node, c.ID)
			switch {
			case errors.Is(err, wire.ErrNotFound):
				done, err = c.gone(limited, archive)
			case err == nil && !one.Going: // it may just be about to delete them
				kept++
			}
			if err != nil {
				last = err.Error()
			}
			if kept > 5 {
				return false, fmt.Errorf("%s has kept %s: holdfast catalog trail says why", c.Node, c.ID)
			}
			return done, nil
		})
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return fmt.Errorf("it is decided that %s deletes %s, and not done yet: %s", c.Node, c.ID, last)
		}
		return err
	})
}

// gone reports whether the node is a member that says what it has, and the bytes are not among that.
func (c quarantineDeleteCmd) gone(ctx context.Context, archive *client.Client) (bool, error) {
	nodes, err := archive.Files().Quarantine(ctx)
	if err == nil {
		nodes, err = onlyNode(nodes, c.Node)
	}
	if err != nil {
		return false, err
	}
	if why := nodes[0].Unreachable + nodes[0].Fault; why != "" {
		return false, fmt.Errorf("%s does not say what it has: %s", c.Node, why)
	}
	for _, one := range nodes[0].Aside {
		if one.ID == c.ID {
			return false, nil
		}
	}
	return true, nil
}
