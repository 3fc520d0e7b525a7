package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"holdfast/cdx"
	"holdfast/crawler"
	"holdfast/warc"
)

// earlier finds for a crawl what the archive has already.
type earlier struct{ n *Node }

// earlierLimit is how long a crawl waits for the archive's answer; it goes on without one.
const earlierLimit = 10 * time.Second

// manyCaptures is how many captures of one URL are looked at for its latest document.
const manyCaptures = 50

// Latest returns the latest capture of the URL that has a document, with its validators.
func (e earlier) Latest(ctx context.Context, url string) (*crawler.Capture, error) {
	ctx, cancel := context.WithTimeout(ctx, earlierLimit)
	defer cancel()
	for c, err := range captures(e).Query(ctx, cdx.Query{URL: url, Match: cdx.Exact, Sort: cdx.Reverse, Limit: manyCaptures}) {
		var part *cdx.Incomplete
		switch {
		case errors.As(err, &part):
			return nil, nil // what could not be asked may have a later one
		case err != nil:
			return nil, fmt.Errorf("find captures of %s: %w", url, err)
		case c.URL != url || c.Digest == "":
		case c.Revisit():
			found, err := e.Content(ctx, c.Digest)
			if found != nil && found.URL != url { // validators are a URL's own
				found.ETag, found.LastModified = "", ""
			}
			return found, err
		case c.Status == 200:
			return e.read(ctx, c)
		}
	}
	return nil, nil
}

// Content returns the earliest capture with the payload.
func (e earlier) Content(ctx context.Context, digest string) (*crawler.Capture, error) {
	ctx, cancel := context.WithTimeout(ctx, earlierLimit)
	defer cancel()
	c, found, err := captures(e).Digest(ctx, digest)
	if err != nil || !found || c.Revisit() {
		return nil, err
	}
	return e.read(ctx, c)
}

// read reads of a capture's record what the index does not have. A record that cannot be read is none.
func (e earlier) read(ctx context.Context, c cdx.Capture) (*crawler.Capture, error) {
	body, err := replayRecords(e).Open(ctx, c.File, c.Offset, c.Length)
	if err != nil {
		e.n.log.Debug("earlier record is not here to be read", "file", c.File, "error", err)
		return nil, nil
	}
	defer func() { _ = body.Close() }()
	out, err := readCapture(body, c)
	if err != nil {
		e.n.log.Warn("earlier record cannot be read", "file", c.File, "offset", c.Offset, "error", err)
		return nil, nil
	}
	return out, nil
}

// readCapture reads a record as far as its HTTP head.
func readCapture(body io.Reader, c cdx.Capture) (*crawler.Capture, error) {
	r, err := warc.NewReader(body, c.File)
	if err != nil {
		return nil, err
	}
	rec, err := r.Next()
	if err != nil {
		return nil, err
	}
	date, err := rec.Date()
	if err != nil {
		return nil, err
	}
	out := &crawler.Capture{URL: rec.TargetURI(), Date: date, RecordID: rec.Header.Get("WARC-Record-ID"), Digest: c.Digest, Type: c.MIME, File: c.File, Offset: c.Offset}
	if rec.Type != warc.TypeResponse || !rec.IsHTTP() {
		return out, nil
	}
	head, err := rec.HTTP()
	if err != nil {
		return nil, err
	}
	out.ETag, out.LastModified = head.Header.Get("ETag"), head.Header.Get("Last-Modified")
	return out, nil
}
