package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
	"holdfast/ledger"
)

type ledgerCmd struct {
	Make    ledgerMakeCmd    `cmd:"" help:"Make a ledger of a replica now."`
	List    ledgerListCmd    `cmd:"" help:"List the last ledgers of a replica, newest first."`
	Show    ledgerShowCmd    `cmd:"" help:"Show a ledger, and who has countersigned it."`
	Get     ledgerGetCmd     `cmd:"" help:"Download all files of a ledger into a folder."`
	Signers ledgerSignersCmd `cmd:"" help:"Print the list of nodes whose signatures count, for ledger check."`
	Check   ledgerCheckCmd   `cmd:"" help:"Prove folders, disks or a whole replica by ledgers, without a cluster."`
	Diff    ledgerDiffCmd    `cmd:"" help:"List what came, went and changed between two ledgers, without a cluster."`
}

type ledgerMakeCmd struct {
	Replica string `required:"" help:"The replica."`
}

func (ledgerMakeCmd) Help() string {
	return "Waits until the ledger is a file of the archive. Ctrl-C ends only the waiting: the node goes on. A " +
		"ledger that is not finished\nwhen its node stops is dropped, and the next one is made from the beginning."
}

func (ledgerMakeCmd) exits() []string {
	return []string{"0   made, and every node at another place has countersigned it", "1   not made; or made, and " +
		"not countersigned " +
		"by every node at another place; or files that the catalog counts on were not found"}
}

func (c ledgerMakeCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		making, err := archive.Ledgers().Make(ctx, c.Replica)
		if err != nil {
			return err
		}
		if making, err = waitLedger(ctx, a, archive, making); err != nil {
			return err
		}
		made, err := archive.Ledgers().Show(ctx, c.Replica, making.Serial)
		if err != nil {
			return err
		}
		if err := showLedger(a, made); err != nil {
			return err
		}
		if len(made.Unsigned) > 0 || made.Missing > 0 {
			return errNo
		}
		return nil
	})
}

// waitLedger waits until the node has made the ledger.
func waitLedger(ctx context.Context, a *app, archive *client.Client, making wire.LedgerMaking) (wire.LedgerMaking,
	error) {
	progress := a.bars()
	defer progress.wait()
	shown := progress.count("ledger of "+making.Replica, 1)
	var lacking time.Time
	err := every(ctx, 200*time.Millisecond, func() (bool, error) {
		all, err := archive.Ledgers().Making(ctx, making.Replica)
		if err != nil {
			return false, err
		}
		now := wire.LedgerMaking{State: "unreachable", Detail: "it is no node of the replica any more"}
		for _, one := range all {
			if one.Node == making.Node {
				now = one
			}
		}
		shown.on(now.Stage)
		switch now.State {
		case "made":
			making = now
			return true, nil
		case "failed":
			return false, errors.New(now.Detail)
		case "idle": // its node has started again
			return false, errors.New("the node stopped while it made the ledger; make it again")
		case "unreachable":
			if lacking.IsZero() {
				lacking = time.Now()
			}
			if time.Since(lacking) > patience {
				return false, fmt.Errorf("node %s, which makes the ledger, does not answer: %s", making.Node,
					now.Detail)
			}
		default:
			lacking = time.Time{}
		}
		return false, nil
	})
	shown.end(err == nil)
	return making, err
}

func showLedger(a *app, l wire.Ledger) error {
	return a.answer(l, func() error {
		fmt.Fprintf(a.stdout, "%s\n  SHA-256 %s\n", l.Name, l.SHA256)
		fmt.Fprintf(a.stdout, "  number %d of replica %s, as of %s: %d files, %s; events %d to %d of the trail\n",
			l.Serial,
			l.Replica, when(l.Time), l.Files, size(l.Bytes), l.First, l.Last)
		if l.Missing > 0 {
			fmt.Fprintf(a.stdout, "  %d files that the catalog counts on were NOT FOUND; the pages name them\n",
				l.Missing)
		}
		for _, s := range l.Signed {
			fmt.Fprintf(a.stdout, "  countersigned by %s\n", nameOr(s))
		}
		for _, s := range l.Unsigned {
			fmt.Fprintf(a.stdout, "  NOT countersigned by %s: %s\n", nameOr(s.LedgerSigner), s.Reason)
		}
		if len(l.Signed) == 0 {
			fmt.Fprintln(a.stdout, "  NOBODY at another place has countersigned it")
		}
		return nil
	})
}

func nameOr(s wire.LedgerSigner) string {
	if s.Name == "" {
		return s.Node
	}
	return s.Name
}

type ledgerListCmd struct {
	Replica string `required:"" help:"The replica."`
}

func (c ledgerListCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		all, err := collect(archive.Ledgers().List(ctx, c.Replica))
		if err != nil {
			return err
		}
		return list(a, all, table.Row{"Number", "Time", "Files", "Size", "Missing", "Countersigned", "Not", "Name"},
			func(l wire.Ledger) table.Row {
				return table.Row{l.Serial, when(l.Time), l.Files, size(l.Bytes), l.Missing, len(l.Signed),
					len(l.Unsigned), l.Name}
			})
	})
}

type ledgerShowCmd struct {
	Replica string `required:"" help:"The replica."`
	Number  uint64 `arg:"" optional:"" help:"The ledger's number. Default: the newest."`
}

// find returns the ledger of the number, or the newest.
func (c ledgerShowCmd) find(ctx context.Context, archive *client.Client) (wire.Ledger, error) {
	if c.Number != 0 {
		return archive.Ledgers().Show(ctx, c.Replica, c.Number)
	}
	for l, err := range archive.Ledgers().List(ctx, c.Replica) {
		return l, err
	}
	return wire.Ledger{}, fmt.Errorf("replica %s has no ledger yet", c.Replica)
}

func (c ledgerShowCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		l, err := c.find(ctx, archive)
		if err != nil {
			return err
		}
		return showLedger(a, l)
	})
}

type ledgerGetCmd struct {
	ledgerShowCmd
	Out string `short:"o" default:"." placeholder:"DIR" help:"The folder. Files that are there already and whole are not downloaded again."`
}

func (c ledgerGetCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		l, err := c.find(ctx, archive)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(c.Out, 0o777); err != nil {
			return err
		}
		names, err := c.fetch(ctx, a, archive, l)
		if err != nil {
			return err
		}
		return a.answer(map[string]any{"ledger": l, "folder": c.Out, "files": names}, func() error {
			_, err := fmt.Fprintf(a.stdout, "%s: %d files of %s\n", c.Out, len(names), l.Name)
			return err
		})
	})
}

// fetch downloads the ledger's files, each verified, and names them.
func (c ledgerGetCmd) fetch(ctx context.Context, a *app, archive *client.Client, l wire.Ledger) ([]string, error) {
	var names []string
	get := func(name string) ([]byte, error) {
		names = append(names, name)
		path := filepath.Join(c.Out, filepath.Base(name))
		if _, err := (fileGetCmd{Name: name}).save(ctx, a, archive, path); err != nil {
			return nil, fmt.Errorf("get %s: %w", name, err)
		}
		if strings.HasSuffix(name, "-files.txt") {
			return nil, nil
		}
		return os.ReadFile(path)
	}
	text, err := get(l.Name)
	if err != nil {
		return nil, err
	}
	h, err := ledger.ReadHead(l.Name, text)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{h.Trail.Name, ledger.SignaturesName(h.Base)} {
		if _, err := get(name); err != nil {
			return nil, err
		}
	}
	for _, s := range h.Sheets {
		if text, err = get(s.File.Name); err != nil {
			return nil, err
		}
		p, err := ledger.ReadPage(s.File.Name, text)
		if err != nil {
			return nil, err
		}
		for _, one := range p.Lists {
			if _, err := get(one.Name); err != nil {
				return nil, err
			}
		}
	}
	return names, nil
}

type ledgerSignersCmd struct{}

func (ledgerSignersCmd) Help() string {
	return "Prints a line for each node: its id, its name and its place, separated by tabs. An id is the " +
		"fingerprint of the " +
		"node's\nkey. Keep the list where nobody can change it: a check believes what it says."
}

func (ledgerSignersCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		nodes, err := archive.Nodes().List(ctx)
		if err != nil {
			return err
		}
		replicas, err := archive.Replicas().List(ctx)
		if err != nil {
			return err
		}
		places := map[string]string{}
		for _, r := range replicas {
			places[r.Name] = r.Place
		}
		signers := make([]ledger.Trusted, len(nodes))
		for i, n := range nodes {
			signers[i] = ledger.Trusted{ID: n.ID, Name: n.Name, Place: places[n.Replica]}
		}
		return a.answer(items[ledger.Trusted]{signers}, func() error {
			for _, s := range signers {
				fmt.Fprintf(a.stdout, "%s\t%s\t%s\n", s.ID, s.Name, s.Place)
			}
			return nil
		})
	})
}
