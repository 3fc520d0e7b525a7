package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"holdfast/cdx"
	"holdfast/index"
	"holdfast/warc"
)

type cdxCmd struct {
	Files  []string `arg:"" name:"file" help:"WARC or ARC files."`
	Format string   `enum:"cdxj,cdx11,cdx9" default:"cdxj" help:"${enum}."`
	Sort   bool     `default:"true" negatable:"" help:"Sort the lines as an index does; with --no-sort they come in the order of the records."`
}

func (cdxCmd) Help() string {
	return "With --json, prints one JSON object per line, with the CDX server's field names."
}

func (c *cdxCmd) Run(a *app) error {
	var all []cdx.Capture
	out := bufio.NewWriter(a.stdout)
	var line []byte
	if c.Format != "cdxj" && !a.JSON {
		if _, err := fmt.Fprintln(out, map[string]string{"cdx11": cdx.Legend11,
			"cdx9": cdx.Legend9}[c.Format]); err != nil {
			return err
		}
	}
	var damaged error
	for _, path := range c.Files {
		err := readCaptures(path, func(capture cdx.Capture) error {
			if c.Sort {
				all = append(all, capture)
				return nil
			}
			line = c.line(a, line[:0], &capture)
			_, err := out.Write(line)
			return err
		})
		damaged = errors.Join(damaged, err) // captures that can be read are printed nevertheless
	}
	slices.SortFunc(all, func(x, y cdx.Capture) int { return x.Compare(&y) })
	for i := range all {
		line = c.line(a, line[:0], &all[i])
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return errors.Join(damaged, out.Flush())
}

func (c *cdxCmd) line(a *app, b []byte, capture *cdx.Capture) []byte {
	switch {
	case a.JSON:
		b = capture.AppendJSON(b, cdx.FieldNames()...)
	case c.Format == "cdx11":
		b = capture.AppendCDX11(b)
	case c.Format == "cdx9":
		b = capture.AppendCDX9(b)
	default:
		b = capture.AppendCDXJ(b)
	}
	return append(b, '\n')
}

// readCaptures calls visit for each capture of a WARC or ARC file.
func readCaptures(path string, visit func(cdx.Capture) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := warc.NewReader(bufio.NewReaderSize(f, 1<<18), path)
	if err != nil {
		return err
	}
	for capture, err := range index.Captures(r, filepath.Base(path)) {
		if err == nil {
			err = visit(capture)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
