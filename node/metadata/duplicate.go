package metadata

import (
	"strconv"
	"strings"

	"holdfast/cdx"
	"holdfast/crawler/report"
)

// Duplicate returns the capture that a line of a crawl.log is about, when it found what was recorded before and names
// the place of the original: with the time of the visit, and file and offset of the original. Else it returns false.
func Duplicate(line []byte) (cdx.Capture, bool) {
	l, err := report.ParseLine(line)
	if err != nil || !archived(&l) {
		return cdx.Capture{}, false
	}
	v := visit{url: l.URI, date: dateOf(&l), line: &l}
	at, _ := v.stored()
	if !v.revisits() || at.file == "" || len(v.date) != 14 {
		return cdx.Capture{}, false
	}
	c := cdx.Capture{Timestamp: v.date, URL: l.URI, MIME: strings.ToLower(l.MIME), Status: min(max(l.Status, 0), 999),
		Digest: l.Digest, File: at.file, Offset: at.offset}
	if _, err := strconv.ParseUint(v.date, 10, 64); err != nil {
		return cdx.Capture{}, false
	}
	c.Key, err = cdx.Key(c.URL)
	return c, err == nil
}
