package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"holdfast/warc"
)

type warcCmd struct {
	Check   warcCheckCmd   `cmd:"" help:"Check WARC and ARC files against the standard, digests included."`
	List    warcListCmd    `cmd:"" help:"List the records."`
	Cat     warcCatCmd     `cmd:"" help:"Print one record, its block, or its payload."`
	Convert warcConvertCmd `cmd:"" help:"Write a file again with another compression, or an ARC file as WARC."`
}

type warcCheckCmd struct {
	Files []string `arg:"" name:"file" help:"WARC or ARC files."`
	Quiet bool     `short:"q" help:"Leave out the warnings."`
}

func (warcCheckCmd) exits() []string {
	return []string{"0   valid", "1   errors found", "2   a file cannot be read"}
}

// finding is a finding as JSON.
type finding struct {
	Record   int    `json:"record"`
	Offset   int64  `json:"offset"`
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

// checked is what warc check says of a file.
type checked struct {
	File     string    `json:"file"`
	Valid    bool      `json:"valid"`
	Records  int       `json:"records"`
	Findings []finding `json:"findings"`
	Error    string    `json:"error,omitempty"`
}

// maxFindings bounds how many findings are kept of a file with an error in each record; counting continues.
const maxFindings = 10_000

func (c *warcCheckCmd) Run(a *app) error {
	code := exitOK
	results := []checked{}
	for _, path := range c.Files {
		r := checked{File: path, Findings: []finding{}}
		summary, err := warc.Check(path, func(f warc.Finding) {
			if f.Severity == warc.Warning && c.Quiet {
				return
			}
			if len(r.Findings) < maxFindings {
				r.Findings = append(r.Findings, finding{f.Record, f.Offset, f.Code, f.Severity.String(), f.Message})
			}
			if !a.JSON {
				fmt.Fprintf(a.stdout, "%s: %s\n", path, f)
			}
		})
		r.Records, r.Valid = summary.Records, summary.Errors == 0 && err == nil
		switch {
		case err != nil:
			r.Error = err.Error()
			fmt.Fprintln(a.stderr, "holdfast:", err)
			code = exitUnreadable
		case summary.Errors > 0:
			code = max(code, exitFailed)
		}
		if !a.JSON && err == nil {
			fmt.Fprintf(a.stdout, "%s: %s, %d records, %d errors\n", path,
				map[bool]string{true: "valid", false: "NOT valid"}[r.Valid], r.Records, summary.Errors)
		}
		results = append(results, r)
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
	}
	if err := a.answer(items[checked]{results}, func() error { return nil }); err != nil {
		return err
	}
	if code != exitOK {
		return exitError{code: code}
	}
	return nil
}

type warcListCmd struct {
	Files []string `arg:"" name:"file" help:"WARC or ARC files."`
	Type  string   `help:"Only records of this type, such as response."`
}

// listed is a record as warc list shows it.
type listed struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	Type   string `json:"type"`
	Date   string `json:"date"`
	URL    string `json:"url,omitempty"`
	Status int    `json:"status,omitempty"`
	MIME   string `json:"mime,omitempty"`
	ID     string `json:"id"`
}

func (c *warcListCmd) Run(a *app) error {
	for _, path := range c.Files {
		if err := stream(a, c.records(path), func(w io.Writer, r listed) error {
			status := "-"
			if r.Status > 0 {
				status = fmt.Sprint(r.Status)
			}
			_, err := fmt.Fprintf(w, "%12d %10d  %-12s %-20s %-3s %s\n", r.Offset, r.Length, r.Type, r.Date, status,
				r.URL)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// records yields a file's records in order.
func (c *warcListCmd) records(path string) func(func(listed, error) bool) {
	return func(yield func(listed, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(listed{}, err)
			return
		}
		defer f.Close()
		r, err := warc.NewReader(bufio.NewReaderSize(f, 1<<18), path)
		for err == nil {
			var record *warc.Record
			if record, err = r.Next(); err == io.EOF {
				return
			}
			var line listed
			if err == nil {
				line, err = listRecord(path, record)
			}
			if err == nil && (c.Type == "" || c.Type == record.Type) && !yield(line, nil) {
				return
			}
		}
		yield(listed{}, err)
	}
}

func listRecord(path string, record *warc.Record) (listed, error) {
	line := listed{File: path, Offset: record.Offset, Type: record.Type, URL: record.TargetURI(), ID: record.ID(),
		MIME: record.ContentType()}
	if date, err := record.Date(); err == nil {
		line.Date = date.UTC().Format(time.RFC3339)
	}
	if record.IsHTTP() {
		if head, err := record.HTTP(); err == nil {
			line.Status, line.MIME = head.Status, head.MIME()
		}
	}
	position, err := record.Position()
	line.Length = position.Length
	return line, err
}

type warcCatCmd struct {
	File    string `arg:"" help:"A WARC or ARC file."`
	Offset  int64  `help:"Where the record begins, as warc list and cdx print it."`
	Block   bool   `xor:"what" help:"Only the block, without the record's header."`
	Payload bool   `xor:"what" help:"Only the payload, without the HTTP header, as it was sent."`
	Content bool   `xor:"what" help:"Only the payload, its transfer and content encodings undone."`
}

func (c *warcCatCmd) Run(a *app) error {
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer f.Close()
	record, err := warc.ReadAt(f, c.File, c.Offset, 0)
	if err != nil {
		return err
	}
	return writeRecord(a.stdout, record, c.Block, c.Payload, c.Content)
}

type warcConvertCmd struct {
	File  string `arg:"" help:"A WARC or ARC file."`
	Out   string `arg:"" optional:"" help:"The file to write; default: the same name with the compression's ending."`
	To    string `enum:"gzip,zstd,none" default:"gzip" help:"Compression: ${enum}."`
	Level int    `help:"Of the compression; 0: its default."`
}

func (c *warcConvertCmd) Run(a *app) error {
	to, err := warc.ParseCompression(c.To)
	if err != nil {
		return usage("--to: %w", err)
	}
	out := c.Out
	if out == "" {
		base := filepath.Base(c.File)
		for _, end := range []string{".gz", ".zst", ".warc", ".arc"} {
			base = strings.TrimSuffix(base, end)
		}
		out = filepath.Join(filepath.Dir(c.File), base+".warc"+strings.TrimPrefix(to.Suffix(), ".warc"))
	}
	if _, err := os.Lstat(out); !errors.Is(err, os.ErrNotExist) {
		return usage("%s is there already", out)
	}
	made, err := warc.Convert(c.File, out, to, c.Level)
	if err != nil {
		return err
	}
	return a.answer(map[string]any{"file": made.Path, "size": made.Size, "records": made.Records,
		"sha256": fmt.Sprintf("%x", made.SHA256)}, func() error {
		return a.table(nil, []table.Row{{"file", made.Path}, {"records", made.Records}, {"size", size(made.Size)},
			{"sha256", fmt.Sprintf("%x", made.SHA256)}})
	})
}
