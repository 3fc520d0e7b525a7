package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"holdfast/ledger"
	"holdfast/ledger/proof"
)

type ledgerCheckCmd struct {
	Paths     []string `arg:"" name:"path" help:"Ledgers (files) of one replica, and folders: a node's data folder, its files folder, or one with the files themselves."`
	Signers   string   `required:"" placeholder:"FILE" help:"The nodes whose signatures count: a list as ledger signers prints it."`
	Witnesses int      `default:"1" help:"At least this many nodes at other places have to have countersigned the ledger."`
	Partial   bool     `help:"The folders are a part of the replica, such as one disk: files that are in none of them are counted, and are no fault."`
	Newer     bool     `help:"The folders may have files that the ledger does not list, because they came later: they are counted, and are no fault."`
	Workers   int      `help:"Read this many files at once. Default: one for each processor."`
	State     string   `placeholder:"FILE" help:"Save the progress in this file; a check that was stopped continues from there."`
}

func (ledgerCheckCmd) Help() string {
	return "Reads every byte of the files that the newest ledger lists, and checks signatures, the trail, and " +
		"that each ledger " +
		"follows\nthe one before. The other files of a ledger lie beside it, or in the folders. " +
		"doc/format/ledger.md says how to " +
		"do it with\nsha256sum and openssl."
}

func (ledgerCheckCmd) exits() []string {
	return []string{"0   all is as the ledger says", "1   a file is missing, changed, unreadable or not in the " +
		"ledger; or a ledger " +
		"is unsigned, wrong, signed by a stranger, or does not follow the one before",
		"2   a ledger or folder cannot be read"}
}

func (c ledgerCheckCmd) Run(a *app) error {
	cfg := proof.Config{Witnesses: c.Witnesses, Partial: c.Partial, Newer: c.Newer, Workers: c.Workers, State: c.State}
	for _, path := range c.Paths {
		info, err := os.Stat(path)
		if err != nil {
			return exitError{exitUnreadable, err}
		}
		if info.IsDir() {
			cfg.Dirs = append(cfg.Dirs, path)
		} else {
			cfg.Ledgers = append(cfg.Ledgers, path)
		}
	}
	if len(cfg.Ledgers) == 0 {
		return usage("name a ledger: a file such as ledger-north-20261124T030000Z-000017.txt")
	}
	if c.Witnesses < 0 {
		return usage("--witnesses %d: want 0 or more", c.Witnesses)
	}
	signers, err := os.Open(c.Signers)
	if err != nil {
		return exitError{exitUnreadable, err}
	}
	cfg.Trusted, err = ledger.ParseTrusted(filepath.Base(c.Signers), signers)
	if _ = signers.Close(); err != nil {
		return exitError{exitUnreadable, err}
	}
	findings := []proof.Finding{}
	cfg.Found = func(f proof.Finding) {
		if len(findings) < maxFindings {
			findings = append(findings, f)
		}
		if !a.JSON {
			fmt.Fprintf(a.stdout, "%s: %s: %s\n", f.Kind, f.Name, f.Detail)
		}
	}
	progress := a.bars()
	defer progress.wait()
	shown, begun := progress.bytes("check", 0), false
	cfg.Progress = func(p proof.Progress) {
		if !begun {
			begun = true
			shown.from(p.Bytes, p.TotalBytes)
		}
		shown.set(p.Bytes, p.TotalBytes)
	}
	result, err := proof.Run(a.ctx, cfg)
	shown.end(err == nil)
	if err != nil {
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		return exitError{exitUnreadable, err}
	}
	return c.show(a, cfg, result, findings)
}

// proved is the answer of ledger check as JSON.
type proved struct {
	proof.Result
	Whole bool            `json:"whole"`
	Found []proof.Finding `json:"found"`
}

func (c ledgerCheckCmd) show(a *app, cfg proof.Config, r proof.Result, findings []proof.Finding) error {
	err := a.answer(proved{r, r.Whole(), findings}, func() error { c.tell(a.stdout, cfg, r); return nil })
	if err == nil && !r.Whole() {
		err = exitError{code: exitFailed}
	}
	return err
}

func (c ledgerCheckCmd) tell(to io.Writer, cfg proof.Config, r proof.Result) {
	if r.Ledger != "" {
		fmt.Fprintf(to, "%s of replica %s, as of %s\n", r.Ledger, r.Replica, r.Time)
		fmt.Fprintf(to, "  %d files, %d read and right, %s read\n", r.Files, r.Good, size(r.Bytes))
		if r.Absent > 0 {
			fmt.Fprintf(to, "  %d files are in none of the folders\n", r.Absent)
		}
		if r.Newer > 0 {
			fmt.Fprintf(to, "  %d files of the folders are not in the ledger\n", r.Newer)
		}
		if r.Known > 0 {
			fmt.Fprintf(to, "  %d more files were counted on when the ledger was made, and not found\n", r.Known)
		}
		first := "the first of them is the replica's first"
		if !r.First {
			first = "what came before them is not here"
		}
		fmt.Fprintf(to, "  %d ledgers followed, one to the next; %s\n", r.Ledgers, first)
		for _, id := range r.Signed {
			for _, s := range cfg.Trusted {
				if s.ID == id {
					fmt.Fprintf(to, "  countersigned by %s (%s) %s\n", s.Name, s.Place, s.ID)
				}
			}
		}
	}
	switch {
	case !r.Whole():
		fmt.Fprintln(to, "NOT as the ledger says")
	case len(cfg.Dirs) == 0:
		fmt.Fprintln(to, "the ledger is whole; no folder was compared with it")
	case r.Absent > 0:
		fmt.Fprintln(to, "what is in the folders is as the ledger says; the rest was not checked")
	default:
		fmt.Fprintln(to, "all is as the ledger says")
	}
}

type ledgerDiffCmd struct {
	Before string `arg:"" help:"The older ledger (a file)."`
	After  string `arg:"" help:"The newer ledger (a file)."`
}

func (ledgerDiffCmd) Help() string {
	return "Prints a line for each file: + came, - went, ! changed. The other files of each ledger lie beside it. " +
		"Signatures are " +
		"not\nlooked at: ledger check does that."
}

func (ledgerDiffCmd) exits() []string {
	return []string{"0   both list the same files", "1   they differ", "2   a ledger cannot be read, or is wrong"}
}

// differs is a file in which two ledgers differ.
type differs struct {
	How    string `json:"how"` // came, went, changed
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Before string `json:"before,omitempty"` // the SHA-256 of what changed
}

func (c ledgerDiffCmd) Run(a *app) error {
	before, err := openBook(c.Before)
	if err != nil {
		return exitError{exitUnreadable, err}
	}
	defer before.Drop()
	after, err := openBook(c.After)
	if err != nil {
		return exitError{exitUnreadable, err}
	}
	defer after.Drop()
	if before.Head.Replica != after.Head.Replica {
		return usage("%s is of replica %s, %s of %s", c.Before, before.Head.Replica, c.After, after.Head.Replica)
	}
	if before.Head.ClusterID != after.Head.ClusterID {
		return usage("%s is of another cluster than %s", c.Before, c.After)
	}
	counts := map[string]int{}
	all := []differs{}
	err = ledger.Diff(before, after, func(ch ledger.Changes) error {
		for _, d := range difference(ch) {
			counts[d.How]++
			if a.JSON {
				all = append(all, d)
				continue
			}
			mark := map[string]string{"came": "+", "went": "-", "changed": "!"}[d.How]
			if _, err := fmt.Fprintf(a.stdout, "%s %s  %s  %d\n", mark, d.SHA256, d.Name, d.Size); err != nil {
				return err
			}
		}
		return a.ctx.Err()
	})
	if err != nil {
		return exitError{exitUnreadable, err}
	}
	err = a.answer(items[differs]{all}, func() error {
		_, err := fmt.Fprintf(a.stdout, "%d came, %d went, %d changed\n", counts["came"], counts["went"],
			counts["changed"])
		return err
	})
	if err == nil && len(counts) > 0 {
		err = exitError{code: exitFailed}
	}
	return err
}

// difference turns what came and went into what a person reads.
func difference(c ledger.Changes) (out []differs) {
	gone := map[string]ledger.Entry{}
	for _, e := range c.Gone {
		gone[e.Name] = e
	}
	for _, e := range c.Came {
		d := differs{How: "came", Name: e.Name, Size: e.Size, SHA256: e.SHA256.String()}
		if was, there := gone[e.Name]; there {
			d.How, d.Before = "changed", was.SHA256.String()
			delete(gone, e.Name)
		}
		out = append(out, d)
	}
	for _, e := range c.Gone {
		if _, there := gone[e.Name]; there {
			out = append(out, differs{How: "went", Name: e.Name, Size: e.Size, SHA256: e.SHA256.String()})
		}
	}
	return out
}

// openBook opens a ledger whose other files lie beside it.
func openBook(path string) (*ledger.Book, error) {
	open := func(name string) (io.ReadCloser, error) { return os.Open(filepath.Join(filepath.Dir(path), name)) }
	b, err := ledger.OpenBook(filepath.Base(path), open)
	if err == nil {
		err = b.OpenLists(open)
	}
	return b, err
}
