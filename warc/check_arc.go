package warc

import (
	"fmt"
	"io"
	"strings"
)

// The second line of an ARC file's version block: the fields of its records' lines.
const (
	arcDefinition  = "URL IP-address Archive-date Content-type Archive-length"
	arc2Definition = "URL IP-address Archive-date Content-type Result-code Checksum Location Offset Filename " +
		"Archive-length"
)

// arcCheck is what Check knows of an ARC file between its records.
type arcCheck struct {
	fields int // in the line of a record, as the version block says; 0: unknown
}

// arcRecord checks one record of an ARC file to its end: by its line, the end of its block, its compression and, of an
// HTTP response, by the message. ARC has no digests: that a block is as it was, nothing tells.
func (c *checker) arcRecord(rec *Record) error {
	c.sum.Types[rec.Type]++
	first := c.sum.Records == 1
	switch {
	case first && rec.Type != TypeWarcinfo:
		c.warn("arc-no-version-block", "first record is "+short(rec.TargetURI()))
	case !first && rec.Type == TypeWarcinfo:
		c.warn("arc-version-block-again", short(rec.TargetURI()))
	}
	if rec.Type == TypeWarcinfo {
		return c.arcVersion(rec)
	}
	c.arcLine(rec)
	return c.block(rec)
}

// arcVersion checks the block that an ARC file begins with, and learns which version the file has.
func (c *checker) arcVersion(rec *Record) error {
	const enough = 4 << 10
	text, err := io.ReadAll(io.LimitReader(rec.Block, enough))
	c.sum.BlockBytes += rec.Size
	if err != nil {
		return err
	}
	version, rest, _ := strings.Cut(string(text), "\n")
	definition, _, _ := strings.Cut(rest, "\n")
	definition = strings.TrimRight(definition, "\r ")
	switch {
	case strings.HasPrefix(version, "1 ") && strings.EqualFold(definition, arcDefinition):
		c.arc.fields = arcFields
	case strings.HasPrefix(version, "2 ") && strings.EqualFold(definition, arc2Definition):
		c.arc.fields = arc2Fields
	case !strings.HasPrefix(version, "1 ") && !strings.HasPrefix(version, "2 "):
		c.breach("arc-version-block", fmt.Sprintf("want version 1 or 2, found %.60q", version))
	default:
		c.breach("arc-version-block", fmt.Sprintf("fields of records are not those of the version: %.160q", definition))
	}
	_, err = io.Copy(io.Discard, rec.Block)
	return err
}

// arcLine checks the line of a record.
func (c *checker) arcLine(rec *Record) {
	line, err := parseARCLine([]byte(rec.head))
	if err != nil { // it was read before
		c.breach("arc-line", err.Error())
		return
	}
	switch {
	case !absoluteURI(line.url):
		c.breach("arc-url-syntax", short(line.url))
	case line.fields != c.arc.fields && c.arc.fields != 0:
		c.breach("arc-line-fields", fmt.Sprintf("%d fields, the version has %d: %.160q", line.fields, c.arc.fields,
			rec.head))
	}
	if line.date.IsZero() {
		c.breach("arc-no-date", "")
	} else if !c.plainDate(rec.head) {
		c.warn("arc-date-length", fmt.Sprintf("%.160q", rec.head))
	}
	if line.ip == "" {
		c.warn("arc-no-address", "")
	}
	if strings.HasSuffix(rec.head, "\r\n") {
		c.warn("arc-line-end", "line ends CR LF, not LF")
	}
	if rec.Type != TypeResponse && isWebURL(line.url) && rec.Size > 0 &&
		!strings.HasPrefix(strings.ToLower(line.url), "ftp") {
		c.warn("arc-not-http", short(line.url))
	}
}

// plainDate reports whether a line has a date of just 14 digits.
func (c *checker) plainDate(line string) bool {
	for _, f := range strings.Fields(line) {
		if len(f) == 14 && digits(f) {
			return true
		}
	}
	return false
}
