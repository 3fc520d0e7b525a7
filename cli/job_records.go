package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"holdfast/client"
	"holdfast/internal/disk"
	"holdfast/warc"
)

type jobRecordsCmd struct {
	URL  string `name:"url" placeholder:"REGEX" help:"Only records whose URL has a match of this regular expression."`
	Type string `placeholder:"REGEX" help:"Only records whose media type has a match of this regular expression."`
	Out  string `short:"o" required:"" placeholder:"PATH" help:"Write to this path; - is stdout."`
	Job  uint64 `arg:"" name:"job" help:"A job's number."`
}

func (jobRecordsCmd) Help() string {
	return "Copies responses, revisits and resources out of the job's files, as they are stored, into one WARC file " +
		"(.warc.gz). Each is compared with its digest before. If some cannot be read, the file ends with a record " +
		"urn:holdfast:unread that names them, and stays as PATH.part."
}

func (jobRecordsCmd) exits() []string {
	return []string{"0   done", "1   failed, or some records cannot be read, which stderr names"}
}

func (c jobRecordsCmd) Run(a *app) error {
	return a.remote(func(ctx context.Context, archive *client.Client) error {
		get := func(w io.Writer) error { return archive.Jobs().Records(ctx, c.Job, c.URL, c.Type, w) }
		if c.Out == "-" {
			return get(a.stdout)
		}
		d, part := disk.New(), c.Out+".part"
		f, err := d.Create(part)
		if err != nil {
			return err
		}
		err = get(f)
		size := f.Size()
		if err == nil {
			err = f.Sync()
		}
		err = errors.Join(err, f.Close())
		if err == nil {
			err = d.Rename(part, c.Out)
		}
		if err != nil {
			return errors.Join(err, namesUnread(a.stderr, part), removeEmpty(d, part, size))
		}
		return a.answer(map[string]any{"job": c.Job, "path": c.Out, "size": size}, func() error {
			_, err := fmt.Fprintf(a.stdout, "%s: records of job %d\n", c.Out, c.Job)
			return err
		})
	})
}

// removeEmpty removes a file into which nothing was written.
func removeEmpty(d disk.Disk, path string, size int64) error {
	if size > 0 {
		return nil
	}
	return d.Remove(path)
}

// namesUnread prints which records cannot be read, if the file ends with a record that says so.
func namesUnread(to io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	records, err := warc.NewReader(f, path)
	for err == nil {
		var rec *warc.Record
		if rec, err = records.Next(); err == nil && rec.TargetURI() == "urn:holdfast:unread" {
			_, err = io.Copy(to, rec.Block)
		}
	}
	if damage := (*warc.Error)(nil); errors.Is(err, io.EOF) || errors.As(err, &damage) {
		return nil // it was cut
	}
	return err
}
