package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/api/wire"
	"holdfast/client"
)

type auditCmd struct {
	Run_   auditRunCmd    `cmd:"" name:"run" help:"Check all copies, or those of a replica, a shard, a prefix or some files."`
	List   auditListCmd   `cmd:"" help:"List the audits, newest first."`
	Show   auditShowCmd   `cmd:"" help:"Show an audit and the progress of each node."`
	Pause  auditPauseCmd  `cmd:"" help:"Pause an audit."`
	Resume auditResumeCmd `cmd:"" help:"Resume a paused audit."`
	Stop   auditStopCmd   `cmd:"" help:"Stop an audit."`
}

type auditRunCmd struct {
	Files   []string `arg:"" optional:"" name:"file" help:"Audit only the copies of these files."`
	Kind    string   `enum:"checksum,presence,challenge" default:"checksum" help:"checksum: read every byte of each copy. presence: look at names, sizes and manifests, and read only copies at which something is odd. challenge: let a node of another replica, that nobody chooses, ask for what only the bytes can answer."`
	Replica string   `placeholder:"NAME" help:"Audit only this replica."`
	Shard   string   `placeholder:"SHARD" help:"Audit only this shard: three hexadecimal digits, as file show prints them."`
	Prefix  string   `help:"Audit only files whose names begin with this."`
	Reason  string   `help:"Reason, written into the audit trail."`
	Wait    bool     `help:"Wait until the audit has ended."`
}

func (auditRunCmd) exits() []string {
	return []string{"0   started; with --wait: every copy asked for was checked and is right",
		"1   with --wait: a copy or a line of a manifest was wrong, or not all copies were checked (a node did " +
			"not answer, or copies are still to be made)"}
}

func (c auditRunCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		audit, err := archive.Audits().Start(ctx, c.request())
		if err != nil {
			return err
		}
		if audit.Unrecorded != "" {
			fmt.Fprintf(a.stderr, "audit %s has begun, but the audit trail may not say so: %s\n", audit.ID,
				audit.Unrecorded)
		}
		if c.Wait {
			if audit, err = waitAudit(ctx, a, archive, audit); err != nil {
				return err
			}
		}
		if err := showAudit(a, audit); err != nil {
			return err
		}
		if c.Wait && !audit.Clean() {
			return errNo
		}
		return nil
	})
}

// request is what is asked of the API. A program of an earlier version knows neither kinds nor parts, and is not told
// of what is the default.
func (c auditRunCmd) request() wire.AuditRequest {
	in := wire.AuditRequest{Replica: c.Replica, Shard: c.Shard, Prefix: c.Prefix, Files: c.Files,
		Reason: c.Reason}
	if c.Kind != "checksum" {
		in.Kind = c.Kind
	}
	return in
}

// patience is how long a node may not answer before an audit that waits for it counts as ended.
const patience = 10 * time.Second

// waitAudit shows the audit's progress until it has ended.
func waitAudit(ctx context.Context, a *app, archive *client.Client, audit wire.Audit) (wire.Audit, error) {
	progress := a.bars()
	defer progress.wait()
	shown := progress.count("audit "+audit.ID, audit.Total)
	var lacking time.Time // since when parts are not known
	err := every(ctx, 200*time.Millisecond, func() (bool, error) {
		now, err := archive.Audits().Show(ctx, audit.ID)
		if err != nil {
			return false, err
		}
		audit = now
		shown.set(audit.Files+audit.Owed+audit.Refused+audit.Late+audit.Unreached, audit.Total)
		shown.on(atWork(audit))
		if audit.State != "incomplete" {
			lacking = time.Time{}
		} else if lacking.IsZero() {
			lacking = time.Now()
		}
		return audit.State == "done" || audit.State == "stopped" || !lacking.IsZero() && time.Since(lacking) > patience,
			nil
	})
	shown.end(err == nil)
	return audit, err
}

// atWork names the nodes that have not finished.
func atWork(audit wire.Audit) string {
	var names []string
	for _, n := range audit.Nodes {
		if n.State == "running" {
			names = append(names, n.Name)
		}
	}
	return strings.Join(names, ", ")
}

func showAudit(a *app, audit wire.Audit) error {
	return a.answer(audit, func() error {
		if err := auditTable(a, []wire.Audit{audit}); err != nil {
			return err
		}
		fmt.Fprintln(a.stdout)
		rows := make([]table.Row, len(audit.Nodes))
		for i, n := range audit.Nodes {
			rows[i] = table.Row{n.Name, n.State, fmt.Sprintf("%d/%d", n.Files, n.Total), size(n.Bytes), n.Owed,
				n.Missing, n.Corrupt, n.Detail}
		}
		if err := a.table(table.Row{"Node", "State", "Files", "Read", "Owed", "Missing", "Corrupt", "Detail"},
			rows); err != nil {
			return err
		}
		return auditFindings(a, audit)
	})
}

// auditFindings prints which copies were wrong and which were not read.
func auditFindings(a *app, audit wire.Audit) error {
	if audit.Owed > 0 {
		fmt.Fprintf(a.stdout, "\n%d copies (%s) were not read: they are still to be made.\n", audit.Owed,
			size(audit.OwedBytes))
	}
	if audit.Unheld > 0 {
		fmt.Fprintf(a.stdout, "\n%d copies could not be read: no node holds their shards.\n", audit.Unheld)
	}
	if audit.Answered > 0 {
		fmt.Fprintf(a.stdout, "\n%d of the following challenges were answered rightly when they were asked again.\n",
			audit.Answered)
	}
	if failed := audit.Wrong + audit.Refused + audit.Late; failed > 0 {
		fmt.Fprintf(a.stdout, "\n%d challenges were not answered rightly: %d wrong, %d refused, %d late.\n", failed,
			audit.Wrong, audit.Refused, audit.Late)
	}
	if audit.Unreached > 0 {
		fmt.Fprintf(a.stdout, "\n%d challenges could not be made or compared: nobody knows about these copies.\n",
			audit.Unreached)
	}
	if audit.Unseen > 0 {
		fmt.Fprintf(a.stdout, "\n%d copies were not checked: their shards moved, or the files were removed, while the "+
			"audit began.\n", audit.Unseen)
	}
	if audit.Left > 0 {
		fmt.Fprintf(a.stdout, "\nAbout %s left.\n", time.Duration(audit.Left)*time.Second)
	}
	if audit.Lines > 0 {
		fmt.Fprintf(a.stdout, "\n%d lines of manifests were wrong or missing, and have been put right from the "+
			"catalog.\n", audit.Lines)
	}
	if audit.Extra > 0 {
		fmt.Fprintf(a.stdout, "\n%d files lie there that the archive does not count on: holdfast file strays\n",
			audit.Extra)
	}
	var rows []table.Row
	var omitted int64
	for _, n := range audit.Nodes {
		omitted += n.Omitted
		for _, f := range n.Findings {
			found := cmp.Or(f.SHA256, f.Detail)
			if f.Replica != "" {
				found = strings.TrimSpace("in " + f.Replica + " " + f.Detail)
				if !f.Answered.IsZero() {
					found += "; answered rightly at " + when(f.Answered)
				} else if f.Tries > 0 {
					found += fmt.Sprintf("; asked again %d times", f.Tries)
				}
			}
			rows = append(rows, table.Row{n.Name, f.File, f.State, found})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(a.stdout)
	if err := a.table(table.Row{"Node", "File", "Found", "Detail"}, rows); err != nil {
		return err
	}
	if omitted > 0 {
		fmt.Fprintf(a.stdout, "and %d more\n", omitted)
	}
	return nil
}

func auditTable(a *app, audits []wire.Audit) error {
	rows := make([]table.Row, len(audits))
	for i, u := range audits {
		rows[i] = table.Row{u.ID, strings.Join(u.Replicas, ", "), u.State, auditOf(u), when(u.Began), when(u.Ended),
			fmt.Sprintf("%d/%d", u.Files, u.Total), size(u.Bytes),
			u.Owed, u.Missing, u.Corrupt}
	}
	return a.table(table.Row{"Audit", "Replicas", "State", "Kind", "Began", "Ended", "Files", "Read", "Owed", "Missing",
		"Corrupt"}, rows)
}

// auditOf says what an audit checks, and of which copies.
func auditOf(u wire.Audit) string {
	words := []string{u.Kind}
	if u.Challenged != "" {
		words = append(words, "of "+u.Challenged)
	}
	if u.Shard != "" {
		words = append(words, "of shard "+u.Shard)
	}
	if u.Prefix != "" {
		words = append(words, "of "+u.Prefix+"…")
	}
	switch {
	case len(u.Named) == 1:
		words = append(words, "of "+u.Named[0])
	case len(u.Named) > 1:
		words = append(words, fmt.Sprintf("of %d files", len(u.Named)))
	}
	return strings.Join(words, " ")
}

type auditListCmd struct {
	State   string `enum:",running,paused,stopped,incomplete,done" default:"" help:"List only audits in this state: running, paused, stopped, incomplete or done."`
	Replica string `placeholder:"NAME" help:"List only audits that read copies of this replica."`
	Limit   int    `default:"0" help:"Show at most this many, newest first; 0 shows all."`
}

func (l auditListCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		found, silent, err := l.find(ctx, archive.Audits())
		if err != nil {
			return err
		}
		answer := wire.Page[wire.Audit]{Items: found, Silent: silent}
		if err := a.answer(answer, func() error { return auditTable(a, found) }); err != nil {
			return err
		}
		for _, n := range silent {
			_, _ = fmt.Fprintf(a.stderr, "node %s does not answer, so audits that only it knows are missing: %s\n",
				n.Name, n.Reason)
		}
		if len(silent) > 0 {
			return errNo
		}
		return nil
	})
}

// find returns the audits that are asked for, and the nodes that did not answer for one of the pages.
func (l auditListCmd) find(ctx context.Context, audits client.Audits) ([]wire.Audit, []wire.SilentNode, error) {
	found, silent := []wire.Audit{}, map[string]wire.SilentNode{}
	for at := (client.Place{}); ; {
		page, err := audits.Page(ctx, l.State, l.Replica, at)
		if err != nil {
			return nil, nil, err
		}
		for _, n := range page.Silent {
			silent[n.Name] = n
		}
		found = append(found, page.Items...)
		if at.After = page.Next; at.After == "" || l.Limit > 0 && len(found) >= l.Limit {
			break
		}
	}
	if l.Limit > 0 && len(found) > l.Limit {
		found = found[:l.Limit]
	}
	names := slices.Sorted(maps.Keys(silent))
	out := make([]wire.SilentNode, len(names))
	for i, name := range names {
		out[i] = silent[name]
	}
	return found, out, nil
}

type auditShowCmd struct {
	ID string `arg:"" name:"id" help:"The audit's id, as audit list prints it."`
}

func (c auditShowCmd) Run(a *app) error {
	return ask(a, showAudit, func(ctx context.Context, archive *client.Client) (wire.Audit, error) {
		return archive.Audits().Show(ctx, c.ID)
	})
}

// auditWish are the arguments of pause, resume and stop.
type auditWish struct {
	ID     string `arg:"" name:"id" help:"The audit's id, as audit list prints it."`
	Reason string `help:"Reason, written into the audit trail."`
}

func (w auditWish) wish(a *app, wish wire.Wish) error {
	return ask(a, showAudit, func(ctx context.Context, archive *client.Client) (wire.Audit, error) {
		return archive.Audits().Wish(ctx, w.ID, wish, w.Reason)
	})
}

type (
	auditPauseCmd  struct{ auditWish }
	auditResumeCmd struct{ auditWish }
	auditStopCmd   struct{ auditWish }
)

func (c auditPauseCmd) Run(a *app) error  { return c.wish(a, wire.WishPause) }
func (c auditResumeCmd) Run(a *app) error { return c.wish(a, wire.WishRun) }
func (c auditStopCmd) Run(a *app) error   { return c.wish(a, wire.WishStop) }
