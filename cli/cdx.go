package cli

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"holdfast/cdx"
	"holdfast/index"
	"holdfast/internal/sorter"
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

// sortRoom is how many bytes of memory sorted captures take; the rest lies in temporary files.
const sortRoom = 64 << 20

func (c *cdxCmd) Run(a *app) error {
	out := bufio.NewWriter(a.stdout)
	if c.Format != "cdxj" && !a.JSON {
		if _, err := fmt.Fprintln(out, map[string]string{"cdx11": cdx.Legend11,
			"cdx9": cdx.Legend9}[c.Format]); err != nil {
			return err
		}
	}
	sorted := sorter.New("", sortRoom)
	defer sorted.Close()
	var line, place []byte
	var damaged error
	for _, path := range c.Files {
		damage, err := readCaptures(a, path, func(capture cdx.Capture) error {
			line = c.line(a, line[:0], &capture)
			if c.Sort {
				place = appendPlace(place[:0], &capture)
				return sorted.Add(place, string(line))
			}
			_, err := out.Write(line)
			return err
		})
		if damaged = errors.Join(damaged, damage); err != nil { // captures that can be read are printed nevertheless
			return errors.Join(damaged, err)
		}
	}
	for entry, err := range sorted.Sorted() {
		if err == nil {
			_, err = out.Write(entry[lineOf(entry):])
		}
		if err != nil {
			return errors.Join(damaged, err)
		}
	}
	return errors.Join(damaged, out.Flush())
}

// appendPlace appends what makes byte strings sort as Capture.Compare does.
func appendPlace(b []byte, c *cdx.Capture) []byte {
	for _, part := range []string{c.Key, c.Timestamp, c.File} {
		b = append(append(b, strings.ReplaceAll(part, "\x00", "")...), 0)
	}
	return binary.BigEndian.AppendUint64(b, uint64(c.Offset))
}

// lineOf is where the line begins behind a place.
func lineOf(entry []byte) int {
	at := 0
	for range 3 {
		at += bytes.IndexByte(entry[at:], 0) + 1
	}
	return at + 8
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

// mostDamage is how many faults of a file are told.
const mostDamage = 20

// readCaptures calls visit for each capture of a WARC or ARC file that can be read. Faults of the file's bytes are
// damage; what can be read behind them is visited all the same. It ends with the error of visit.
func readCaptures(a *app, path string, visit func(cdx.Capture) error) (damage, err error) {
	f, err := os.Open(path)
	if err != nil {
		return err, nil
	}
	defer f.Close()
	r, err := warc.NewReader(bufio.NewReaderSize(f, 1<<18), path)
	if err != nil {
		return err, nil
	}
	faults := 0
	for capture, err := range index.Captures(r, filepath.Base(path)) {
		if err != nil {
			if faults++; faults <= mostDamage {
				damage = errors.Join(damage, err)
			}
			continue
		}
		if err := errors.Join(a.ctx.Err(), visit(capture)); err != nil {
			return damage, err
		}
	}
	if faults > mostDamage {
		damage = errors.Join(damage, fmt.Errorf("%s: %d faults more", path, faults-mostDamage))
	}
	return damage, nil
}
