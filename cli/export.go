package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/cdx"
	"holdfast/client"
	"holdfast/internal/sorter"
	"holdfast/node"
	"holdfast/wacz"
)

type exportCmd struct {
	URL         string   `arg:"" name:"url" optional:"" help:"The captures of this URL; *.example.org stands for a domain, example.org/news/* for a prefix."`
	Job         uint64   `help:"All files that this job made, as they are." placeholder:"ID"`
	From        string   `help:"Timestamp of 4 to 14 digits."`
	To          string   `help:"Timestamp of 4 to 14 digits."`
	Filter      []string `sep:"none" placeholder:"[!][=|~]FIELD:TEXT" help:"Only captures that pass this filter of the CDX server, such as =status:200; all must hold."`
	Out         string   `short:"o" required:"" placeholder:"PATH" help:"The new file: its name ends in .wacz or .warc.gz."`
	Title       string   `help:"Title of the WACZ."`
	Description string   `help:"Description of the WACZ."`
	WACZVersion string   `name:"wacz-version" enum:"1.1.1,1.2.0" default:"1.1.1" help:"The version of the WACZ specification: ${enum}."`
	Sign        bool     `default:"true" negatable:"" help:"Sign the WACZ with a key that is made for it alone, by which later changes show."`
}

func (exportCmd) Help() string {
	return "Records come as they are stored, with the captures that revisits repeat. The file appears under its\n" +
		"name only when it is whole. A WACZ can be opened with ReplayWeb.page, and with holdfast replay."
}

func (exportCmd) exits() []string {
	return []string{"0   the file is written, with all that was asked for",
		"1   nothing is written",
		"2   the file is written, but captures that revisits repeat were not found, or files of the job are\n" +
			"    removed or lost; stderr says how many, and which files"}
}

func (c *exportCmd) Run(a *app) error {
	query, err := c.check()
	if err != nil {
		return err
	}
	return a.remote(func(ctx context.Context, archive *client.Client) (err error) {
		unfinished := c.Out + ".part"
		out, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return err
		}
		e := &exporting{exportCmd: c, a: a, archive: archive, dir: filepath.Dir(c.Out)}
		e.lines, e.pages = sorter.New(e.dir, sortRoom), sorter.New(e.dir, sortRoom/4)
		defer func() { err = errors.Join(err, e.lines.Close(), e.pages.Close()) }()
		err = errors.Join(e.write(ctx, out, query), out.Sync(), out.Close())
		if err == nil {
			err = publish(unfinished, c.Out)
		}
		if err == nil { // the file has its name from here on, whatever the folder's sync says
			return errors.Join(syncFolder(e.dir), e.done())
		}
		return errors.Join(err, os.Remove(unfinished))
	})
}

// syncFolder makes the names in a folder durable.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// publish gives a finished file its name, which no other file may have.
func publish(unfinished, path string) error {
	err := os.Link(unfinished, path)
	if err == nil {
		return os.Remove(unfinished)
	}
	if _, there := os.Lstat(path); !errors.Is(there, os.ErrNotExist) {
		return err
	}
	return os.Rename(unfinished, path) // a file system without links
}

// check reads what is asked for.
func (c *exportCmd) check() (cdx.Query, error) {
	q := cdx.Query{From: c.From, To: c.To, Filters: c.Filter}
	switch {
	case c.isWACZ() == strings.HasSuffix(c.Out, ".warc.gz"):
		return q, usage("-o %s: want a name that ends in .wacz or .warc.gz", c.Out)
	case (c.URL == "") == (c.Job == 0):
		return q, usage("say what to export: a URL, or --job ID, not both")
	case c.Job > 0 && (c.From != "" || c.To != "" || len(c.Filter) > 0):
		return q, usage("--job exports whole files: --from, --to and --filter choose captures of a URL")
	case c.Job > 0 && !c.isWACZ():
		return q, usage("-o %s: the files of a job fit into one .wacz; file get gets each as it is", c.Out)
	}
	if _, err := os.Lstat(c.Out); err == nil {
		return q, fmt.Errorf("%s: %w", c.Out, os.ErrExist)
	}
	if c.Job > 0 {
		return q, nil
	}
	q.URL, q.Match = cdx.Pattern(c.URL)
	if _, err := q.Compile(); err != nil {
		return q, exitError{exitUsage, err}
	}
	return q, nil
}

func (c *exportCmd) isWACZ() bool { return strings.HasSuffix(c.Out, ".wacz") }

// exporting is the state of an export.
type exporting struct {
	*exportCmd
	a       *app
	archive *client.Client
	dir     string // of the new file, where temporary files lie too
	lines   *sorter.Sorter
	pages   *sorter.Sorter

	to       io.Writer // the WARC file that is being written
	at       int64     // bytes of it
	files    int
	captures int
	missing  int // captures that revisits repeat and that were not found
	gone     int // files of the job that the archive does not have any more
}

func (e *exporting) write(ctx context.Context, out io.Writer, q cdx.Query) error {
	if !e.isWACZ() {
		e.to = out
		return e.records(ctx, q, filepath.Base(e.Out))
	}
	w, err := wacz.NewWriter(out, wacz.About{Title: e.Title, Description: e.Description, Version: e.WACZVersion,
		Sign: e.Sign, Software: "holdfast " + node.Version(), Created: time.Now()})
	if err != nil {
		return err
	}
	if e.Job > 0 {
		err = e.job(ctx, w)
	} else if e.to, err = w.Archive("data.warc.gz"); err == nil {
		err = e.records(ctx, q, "data.warc.gz")
	}
	if err != nil {
		return err
	}
	if err := w.Index(e.sortedLines()); err != nil {
		return err
	}
	if err := w.Pages(e.sortedPages()); err != nil {
		return err
	}
	return w.Close()
}

// done says what was exported.
func (e *exporting) done() error {
	info, err := os.Stat(e.Out)
	if err != nil {
		return err
	}
	if err := e.a.answer(map[string]any{"file": e.Out, "bytes": info.Size(), "captures": e.captures, "files": e.files,
		"originalsMissing": e.missing, "filesGone": e.gone}, func() error {
		_, err := fmt.Fprintf(e.a.stdout, "%s: %d captures, %s\n", e.Out, e.captures, size(info.Size()))
		return err
	}); err != nil {
		return err
	}
	if e.gone > 0 {
		return exitError{2, fmt.Errorf("%d files of job %d are removed or lost", e.gone, e.Job)}
	}
	if e.missing > 0 {
		return exitError{2, fmt.Errorf("of %d revisits the capture that they repeat was not found in the archive",
			e.missing)}
	}
	return nil
}
