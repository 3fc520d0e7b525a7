package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type catalogCmd struct {
	Check   catalogCheckCmd        `cmd:"" help:"Have every node check its own catalog, and compare them all."`
	Rebuild catalogRebuildCmd      `cmd:"" help:"Rebuild a lost catalog from this node's files."`
	Backup  catalogBackupCmd       `cmd:"" help:"Save the catalog in a folder, encrypted, while the cluster runs."`
	Backups catalogBackupsCmd      `cmd:"" help:"List the scheduled backups of the node that is asked."`
	Key     catalogKeyCmd          `cmd:"" name:"backup-key" help:"Keys of backups."`
	Verify  catalogVerifyBackupCmd `cmd:"" name:"verify-backup" help:"Restore a backup aside, and check all that is in it."`
	Restore catalogRestoreCmd      `cmd:"" help:"Make a cluster of one node from a backup of the catalog, in a new epoch."`
	Trail   catalogTrailCmd        `cmd:"" help:"Print the audit trail of decisions."`
}

type catalogCheckCmd struct{}

func (catalogCheckCmd) Help() string {
	return "Every node reads its own catalog, of one index, as it lies on its disk: every value, the audit " +
		"trail's chain, " +
		"and what follows\nfrom the entries of files (lists, roots, totals, words). Then the nodes' catalogs " +
		"are compared. " +
		"A node that does not answer is\nnamed, and the check is no success. Ctrl-C stops it."
}

func (catalogCheckCmd) exits() []string {
	return []string{"0   every node has checked its catalog, nothing was found, and all are alike", "1   " +
		"otherwise; the " +
		"answer says what, and names the nodes that did not check"}
}

func (catalogCheckCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, c *client.Client) error {
		begun, err := client.CatalogOf(c).Check(ctx)
		if err != nil {
			return err
		}
		is, err := waitCheck(ctx, a, c, begun)
		if err != nil {
			return err
		}
		problems := is.Problem()
		report := catalogReport{Index: is.Index, Nodes: is.Nodes, Problems: append([]string{}, problems...)}
		if err := a.answer(report, func() error { return showCheck(a, report) }); err != nil {
			return err
		}
		if len(problems) > 0 {
			return errNo
		}
		return nil
	})
}

// catalogReport is what catalog check found.
type catalogReport struct {
	Index    uint64           `json:"index"`
	Nodes    []wire.NodeCheck `json:"nodes"`
	Problems []string         `json:"problems"`
}

// waitCheck waits until no node is at work any more. A node that did not begin is told as it was then.
func waitCheck(ctx context.Context, a *app, c *client.Client, begun wire.CatalogCheck) (wire.CatalogCheck, error) {
	progress := a.bars()
	defer progress.wait()
	shown := progress.count("catalog of index "+strconv.FormatUint(begun.Index, 10), int64(len(begun.Nodes)))
	lacking := map[string]time.Time{}
	last := begun
	err := every(ctx, 200*time.Millisecond, func() (bool, error) {
		now, err := client.CatalogOf(c).Checked(ctx)
		if err != nil {
			return false, err
		}
		last = begun.Follow(now)
		working := 0
		for _, n := range last.Nodes {
			switch n.State {
			case "running":
				working++
				delete(lacking, n.Node)
			case "unreachable":
				if since, before := lacking[n.Node]; !before {
					lacking[n.Node] = time.Now()
					working++
				} else if begun.Began(n.Node) && time.Since(since) < patience {
					working++
				}
			}
		}
		return working == 0, nil
	})
	shown.end(err == nil)
	if ctx.Err() != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		_, failed := client.CatalogOf(c).StopCheck(stop)
		return last, errors.Join(ctx.Err(), failed)
	}
	return last, err
}

func showCheck(a *app, r catalogReport) error {
	for _, p := range r.Problems {
		fmt.Fprintln(a.stdout, p)
	}
	rows := make([]table.Row, len(r.Nodes))
	for i, n := range r.Nodes {
		rows[i] = table.Row{n.Name, n.State, n.Keys, n.Events, n.Files, n.Removed, n.Found,
			n.Digest[:min(12, len(n.Digest))]}
	}
	err := a.table(table.Row{"Node", "Check", "Keys", "Events", "Files", "Removed", "Problems", "Digest"}, rows)
	if err == nil && len(r.Problems) == 0 {
		_, err = fmt.Fprintf(a.stdout, "All catalogs are alike at index %d, and nothing was found.\n", r.Index)
	}
	return err
}

type catalogTrailCmd struct {
	Newest bool   `help:"Print the newest first."`
	Limit  int    `placeholder:"N" help:"Print at most this many; 0 prints all."`
	Actor  string `placeholder:"NAME" help:"Print only what this person, program or node did: a name, or an id as --json prints it."`
	Act    string `placeholder:"file.remove" help:"Print only these acts."`
	About  string `placeholder:"NAME" help:"Print only what was done to this thing, such as a file, a job or a node, or to a part of it."`
	From   string `placeholder:"TIME" help:"Print only what was done at this time or later, such as 2026-01-02T03:04:05Z."`
	Until  string `placeholder:"TIME" help:"Print only what was done before this time."`
}

func (catalogTrailCmd) Help() string {
	return "With --json, prints one JSON object per line. What is printed by a filter hangs together by no hashes."
}

func (c catalogTrailCmd) query(names map[string]string) (q client.EventQuery, err error) {
	q = client.EventQuery{Newest: c.Newest, Actor: idOf(names, c.Actor), Act: c.Act, Subject: idOf(names, c.About)}
	if q.From, err = readTime("from", c.From); err == nil {
		q.Until, err = readTime("until", c.Until)
	}
	return q, err
}

// idOf is the id of what alone has the name; else the name itself.
func idOf(names map[string]string, name string) string {
	id, found := name, 0
	for one, is := range names {
		if is == name {
			id = one
			found++
		}
	}
	if found != 1 {
		return name
	}
	return id
}

func (c catalogTrailCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		names, err := nodeNames(ctx, archive)
		if err != nil {
			return err
		}
		known := newTrailNames(names)
		people, err := peopleNames(ctx, archive)
		if err != nil {
			return err
		}
		for id, name := range people {
			known.names[id] = name
		}
		q, err := c.query(known.names)
		if err != nil {
			return err
		}
		return stream(a, most(c.Limit, archive.Trail().Find(ctx, q)), func(w io.Writer, e wire.Event) error {
			return showEvent(w, known.show(e))
		})
	})
}

func showEvent(w io.Writer, e wire.Event) error {
	_, err := fmt.Fprintf(w, "%6d %s %-16s %s %s by %s\n", e.Seq, when(e.At), e.Act, e.Subject, e.Detail, e.Actor)
	return err
}
