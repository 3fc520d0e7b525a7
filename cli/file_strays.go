package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type fileStraysCmd struct {
	SetAside string `placeholder:"NAME" help:"Move the stray of this name to its node's quarantine."`
	At       string `placeholder:"NODE" help:"The node that has it; needed if several have one."`
	Reason   string `help:"Reason, kept beside the bytes."`
}

func (fileStraysCmd) exits() []string {
	return []string{"0   every node answered, and the list is whole; with --set-aside: the stray is in the quarantine",
		"1   a node did not answer or could not look at everything, or it was refused"}
}

func (c fileStraysCmd) Run(a *app) error {
	if (c.SetAside == "") != (c.Reason == "") || c.SetAside == "" && c.At != "" {
		return usage("--set-aside and --reason go together, and --at belongs to them")
	}
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		if c.SetAside != "" {
			node, err := hasStray(ctx, archive, c.At, c.SetAside)
			if err != nil {
				return err
			}
			return archive.Files().SetAside(ctx, node, c.SetAside, c.Reason)
		}
		nodes, err := archive.Files().Strays(ctx)
		if err != nil {
			return err
		}
		if err := a.answer(nodes, func() error { return strayTable(a, nodes) }); err != nil {
			return err
		}
		for _, n := range nodes {
			if n.Unreachable != "" || n.Fault != "" {
				return errNo
			}
		}
		return nil
	})
}

func strayTable(a *app, nodes []wire.NodeStrays) error {
	var rows []table.Row
	for _, n := range nodes {
		if n.Unreachable != "" {
			rows = append(rows, table.Row{n.Name, "", "", "", "does not answer: " + n.Unreachable})
		}
		for _, s := range n.Strays {
			rows = append(rows, table.Row{n.Name, s.Name, s.Where, size(s.Size), s.State})
		}
		if more := n.Files - len(n.Strays); more > 0 {
			rows = append(rows, table.Row{n.Name, "", "", "", fmt.Sprintf("and %d more", more)})
		}
		if n.Fault != "" {
			rows = append(rows, table.Row{n.Name, "", "", "", "the list is not whole: " + n.Fault})
		}
	}
	return a.table(table.Row{"Node", "File", "Where", "Size", "State"}, rows)
}

// hasStray returns the node that has the stray: the one that is named, or else the only one that lists it.
func hasStray(ctx context.Context, archive *client.Client, at, name string) (string, error) {
	if at != "" {
		return at, nil
	}
	nodes, err := archive.Files().Strays(ctx)
	if err != nil {
		return "", err
	}
	var found, silent []string
	for _, n := range nodes {
		if n.Unreachable != "" || n.Fault != "" {
			silent = append(silent, n.Name)
		}
		if slices.ContainsFunc(n.Strays, func(s wire.Stray) bool { return s.Name == name }) {
			found = append(found, n.Name)
		}
	}
	switch {
	case len(silent) > 0:
		return "", fmt.Errorf("%s: these nodes do not say all that they have: %s; name the node with --at", name,
			strings.Join(silent, ", "))
	case len(found) == 0:
		return "", fmt.Errorf("%s: no node lists a stray of this name yet; name the node with --at", name)
	case len(found) > 1:
		return "", fmt.Errorf("%s: several nodes have one: %s; name the node with --at", name,
			strings.Join(found, ", "))
	}
	return found[0], nil
}
