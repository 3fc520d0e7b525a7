package index

import (
	"crypto/sha1"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"holdfast/cdx"
	"holdfast/warc"
)

// captureRules is raised when Captures takes other records for captures than
// before; files that were indexed by earlier rules are outdated.
const captureRules = 1

// Captures yields the captures of a WARC or ARC file in the order of its records, as the index and all our CDX files
// have them: the records for which warc.Record.IsCapture is true. A record whose URL has no key, or whose date cannot
// be read, is skipped. Faults of the file's bytes come as an *warc.Error between the captures; captures that can be
// read after it follow. A capture whose block is complete counts as read, whatever follows the block.
func Captures(r *warc.Reader, file string) iter.Seq2[cdx.Capture, error] {
	return func(yield func(cdx.Capture, error) bool) {
		for {
			rec, err := r.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				if !yield(cdx.Capture{}, err) {
					return
				}
				continue
			}
			c, ok := describe(rec)
			if !ok {
				continue
			}
			c.File = file
			err = finish(rec, &c)
			if (err == nil || errors.Is(err, warc.ErrTrailer)) && !yield(c, nil) {
				return
			}
			if err != nil && !yield(cdx.Capture{}, err) {
				return
			}
		}
	}
}

// describe reads what header and HTTP head say; false if the record is no capture.
func describe(rec *warc.Record) (cdx.Capture, bool) {
	if !rec.IsCapture() {
		return cdx.Capture{}, false
	}
	date, err := rec.Date()
	if err != nil {
		return cdx.Capture{}, false
	}
	c := cdx.Capture{URL: rec.TargetURI(), Timestamp: cdx.Timestamp(date), MIME: mime(rec.ContentType())}
	if c.Key, err = cdx.Key(c.URL); err != nil || len(c.Timestamp) != 14 {
		return cdx.Capture{}, false
	}
	var head *warc.HTTPHead
	if rec.IsHTTP() {
		c.MIME = ""
		if head, err = rec.HTTP(); err == nil {
			c.MIME = mime(head.Header.Get("Content-Type"))
		}
	}
	switch rec.Type {
	case warc.TypeRevisit:
		c.MIME = cdx.RevisitMIME
		c.Refers.URL = strings.Trim(rec.Header.Get("WARC-Refers-To-Target-URI"), "<>")
		if date, err := warc.ParseDate(rec.Header.Get("WARC-Refers-To-Date")); err == nil {
			c.Refers.Timestamp = cdx.Timestamp(date)
		}
	case warc.TypeResponse:
		if head != nil {
			c.Status = min(max(head.Status, 0), 999)
			if c.Status >= 300 && c.Status < 400 {
				c.Redirect = resolve(c.URL, head.Header.Get("Location"))
			}
		}
	}
	c.Digest = tidyDigest(rec.Header.Get("WARC-Payload-Digest"))
	c.Offset = rec.Offset
	return c, true
}

// finish passes over the block and fills in where the record lies, and the
// payload's digest if the header has none.
func finish(rec *warc.Record, c *cdx.Capture) error {
	var trailer error
	if c.Digest == "" && rec.Type != warc.TypeRevisit {
		sum := sha1.New()
		if _, trailer = io.Copy(sum, rec.Block); trailer != nil && !errors.Is(trailer, warc.ErrTrailer) {
			return trailer
		}
		c.Digest = "sha1:" + base32.StdEncoding.EncodeToString(sum.Sum(nil))
	}
	at, err := rec.Position()
	c.Offset, c.Length = at.Offset, at.Length
	if err == nil {
		err = trailer
	}
	return err
}

// tidyDigest writes a digest the one way that our indexes compare.
func tidyDigest(s string) string {
	if s == "" {
		return ""
	}
	if d, err := warc.ParseDigest(s); err == nil {
		return d.String()
	}
	if len(s) > 200 {
		return ""
	}
	return s
}

// mime returns a media type in lower case, without parameters, fit for a line.
func mime(s string) string {
	if i := strings.IndexAny(s, "; \t,"); i >= 0 {
		s = s[:i]
	}
	s = strings.ToLower(s)
	if len(s) > 100 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' }) {
		return ""
	}
	return s
}

// resolve returns where a Location header points to, "" if nowhere.
func resolve(base, location string) string {
	if location == "" || len(location) > cdx.MaxURL {
		return ""
	}
	u, err := whatwg.ParseRef(base, location)
	if err != nil {
		return ""
	}
	return u.Href(false)
}

// damage is what Add notes of the first error in a file's bytes.
func damage(err error) string {
	return fmt.Sprintf("%.300v", err)
}
