package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"holdfast/ledger"
	"holdfast/node"
	"holdfast/node/rebuild"
)

type catalogRebuildCmd struct {
	From    []string `placeholder:"DIR" sep:"none" help:"A folder to look into, beside the node's own: the data folder of another node, one of its disks, or a folder with files. Repeat it for each."`
	Cluster string   `placeholder:"ID" help:"The id of the cluster, where none of the folders says it."`
	Also    []string `placeholder:"ID" sep:"none" help:"Take in folders of this cluster, too, which is another one."`
	Signers string   `placeholder:"FILE" help:"Nodes whose signatures of ledgers count, as ledger signers prints them, beside the members that the folders name."`
	DryRun  bool     `help:"Look, and say what would come back. Nothing is changed."`
	Yes     bool     `help:"Do not ask."`
}

func (catalogRebuildCmd) Help() string {
	return "Use this when every node has lost the catalog, and there is no backup (see catalog restore). It works\n" +
		"on the stopped node of --config and --node, and needs no other. The bytes stay where they are.\n" +
		"It reads the manifests, ledgers, metadata files of jobs and outboxes in the folders, votes where\n" +
		"they differ, names each difference, and says what does not come back. Then it asks, and makes the node\n" +
		"the only voter of the cluster, in a new epoch. It writes to raft, catalog and identity in the node's\n" +
		"own folder alone. No copy counts until the node that has it has read it."
}

func (catalogRebuildCmd) exits() []string {
	return []string{"0   rebuilt, or --dry-run: all that is known comes back",
		"1   rebuilt, or --dry-run: something does not come back, and is named; or the answer was no",
		"2   refused: a folder cannot be read, or is of another cluster; or the node has a catalog"}
}

// rebuilt is what catalog rebuild answers.
type rebuilt struct {
	rebuild.Report
	Rebuilt bool   `json:"rebuilt"`
	Epoch   uint64 `json:"newEpoch,omitempty"`
}

func (c catalogRebuildCmd) Run(a *app) error {
	cfg, err := a.nodeConfig()
	if err != nil {
		return err
	}
	if !c.DryRun {
		if err := node.MayRebuild(cfg); err != nil {
			return exitError{exitUnreadable, err}
		}
	}
	of := node.Rebuilding{From: c.From, Cluster: c.Cluster, Also: c.Also}
	if of.Signers, err = c.signers(); err != nil {
		return exitError{exitUnreadable, err}
	}
	progress := a.bars()
	defer progress.wait()
	shown := progress.count("shards", int64(ledger.Shards))
	of.Told = func(shard int, _, _ int64) { shown.set(int64(shard), ledger.Shards) }
	found, err := node.SurveyFolders(a.ctx, cfg, of)
	shown.end(err == nil)
	if err != nil {
		return c.refused(a, err)
	}
	out := rebuilt{Report: found.Report()}
	if !a.JSON {
		showFound(a.stdout, &out.Report)
	}
	if c.DryRun {
		return c.answer(a, &out)
	}
	if err := c.agree(a); err != nil {
		return err
	}
	cluster, err := node.RebuildCatalog(a.ctx, cfg, found, a.log)
	if err != nil {
		return c.refused(a, err)
	}
	out.Rebuilt, out.Epoch = true, cluster.Epoch
	if !a.JSON {
		fmt.Fprintf(a.stdout, "%s is the only voter of cluster %s (%s), in epoch %d. Start it, and let "+
			"the other nodes "+
			"join again.\n", cfg.Name, cluster.Name, short2(cluster.ID), cluster.Epoch)
		fmt.Fprintln(a.stdout, "No copy counts until it was read. People, tokens and grants are gone: "+
			"holdfast user invite")
	}
	return c.answer(a, &out)
}

func (c catalogRebuildCmd) signers() ([]ledger.Trusted, error) {
	if c.Signers == "" {
		return nil, nil
	}
	in, err := os.Open(c.Signers)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return ledger.ParseTrusted(filepath.Base(c.Signers), in)
}

func (c catalogRebuildCmd) refused(a *app, err error) error {
	if a.ctx.Err() != nil {
		return errors.Join(a.ctx.Err(), err)
	}
	return exitError{exitUnreadable, err}
}

// agree asks, unless that was answered beforehand.
func (c catalogRebuildCmd) agree(a *app) error {
	if c.Yes {
		return nil
	}
	if !a.atTerminal() {
		return usage("nothing was changed; to make this catalog, say --yes")
	}
	fmt.Fprint(a.stderr, "Type yes to make this catalog: ")
	line, err := bufio.NewReader(a.stdin).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "yes" {
		return exitError{exitFailed, errors.New("nothing was done")}
	}
	return nil
}

// answer prints the answer as JSON, and says by its error whether all comes back.
func (c catalogRebuildCmd) answer(a *app, out *rebuilt) error {
	if err := a.answer(out, func() error { return nil }); err != nil {
		return err
	}
	if !out.Whole() {
		return errNo
	}
	return nil
}

// showFound says what was found, what comes back, and what does not.
func showFound(to io.Writer, r *rebuild.Report) {
	fmt.Fprintf(to, "Cluster %s (%s), last known in epoch %d\n", r.Name, short2(r.Cluster), r.Epoch)
	for _, f := range r.Folders {
		whose := "of no node that is known"
		if f.Node != "" {
			whose = f.Node + ", replica " + f.Replica
		}
		if f.Unsaid {
			whose += "; nothing in it says of which cluster it is"
		}
		fmt.Fprintf(to, "  %s (%s): %d files, %s; %d listed, of these %d not there; %d not listed; %d in "+
			"the outbox\n", f.Dir,
			whose, f.Files, size(f.Bytes), f.Listed, f.Missing, f.Unlisted, f.Waiting)
	}
	for _, l := range r.Ledgers {
		fmt.Fprintf(to, "  %s: %d files, countersigned by %d\n", l.Name, l.Files, l.Countersigned)
	}
	for _, d := range r.Differences {
		fmt.Fprintf(to, "%s: %s\n", d.Name, d.What)
	}
	if more := r.Differing - int64(len(r.Differences)); more > 0 {
		fmt.Fprintf(to, "and %d more differences\n", more)
	}
	fmt.Fprintf(to, "%d files, %s, come back; %d removed ones that can be restored, %d removed for good, %d "+
		"lost\n", r.Files,
		size(r.Bytes), r.Hidden, r.Removed, r.Lost)
	fmt.Fprintf(to, "%d jobs and %d events of the audit trail come back; the date of %d files is that of "+
		"their ledger or of "+
		"the trail, of the others that of their oldest copy\n", r.Jobs, r.Events, r.Dated)
	if !r.Until.IsZero() {
		fmt.Fprintf(to, "What was decided after %s, such as removals, is not known\n", when(r.Until))
	}
	if r.Voted > 0 {
		fmt.Fprintf(to, "%d files were voted on\n", r.Voted)
	}
	if r.Unended > 0 {
		fmt.Fprintf(to, "%d jobs count as done, although nothing says how they ended\n", r.Unended)
	}
	for _, what := range r.Lacking {
		fmt.Fprintf(to, "NOT back: %s\n", what)
	}
}
