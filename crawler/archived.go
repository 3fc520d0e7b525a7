package crawler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"time"

	"holdfast/cdx"
	"holdfast/crawler/chain"
	"holdfast/warc"
)

// Captures is an index of archived captures.
type Captures interface {
	// Query yields matching captures in the order asked for. An answer that lacks shards ends in a *cdx.Incomplete.
	Query(ctx context.Context, q cdx.Query) iter.Seq2[cdx.Capture, error]
	// Digest returns the earliest capture with that payload; false if there is none.
	Digest(ctx context.Context, digest string) (cdx.Capture, bool, error)
}

// Records reads archive files.
type Records interface {
	// Open reads of a file, by name, length bytes from offset; with length 0 to a place after the record's end.
	Open(ctx context.Context, file string, offset, length int64) (io.ReadCloser, error)
}

// Archived is a chain.Earlier over an index and the files that it points into.
type Archived struct {
	Captures Captures
	Records  Records
	Log      *slog.Logger
}

const (
	archivedLimit = 10 * time.Second // for an answer; the crawl goes on without one
	manyCaptures  = 50               // of one URL are looked at for its latest document
)

// Latest returns the latest capture of the URL that has a document, with its validators.
func (a Archived) Latest(ctx context.Context, url string) (*chain.Capture, error) {
	ctx, cancel := context.WithTimeout(ctx, archivedLimit)
	defer cancel()
	for c, err := range a.Captures.Query(ctx, cdx.Query{URL: url, Match: cdx.Exact, Sort: cdx.Reverse,
		Limit: manyCaptures}) {
		var part *cdx.Incomplete
		switch {
		case errors.As(err, &part):
			return nil, nil // what could not be asked may have a later one
		case err != nil:
			return nil, fmt.Errorf("find captures of %s: %w", url, err)
		case c.URL != url || c.Digest == "":
		case c.Revisit():
			found, err := a.Content(ctx, c.Digest)
			if found != nil && found.URL != url { // validators are a URL's own
				found.ETag, found.LastModified = "", ""
			}
			return found, err
		case c.Status == 200:
			return a.read(ctx, c)
		}
	}
	return nil, nil
}

// Content returns the earliest capture with the payload.
func (a Archived) Content(ctx context.Context, digest string) (*chain.Capture, error) {
	ctx, cancel := context.WithTimeout(ctx, archivedLimit)
	defer cancel()
	c, found, err := a.Captures.Digest(ctx, digest)
	if err != nil || !found || c.Revisit() {
		return nil, err
	}
	return a.read(ctx, c)
}

// read reads from a capture's record the facts that the index does not have. A record that cannot be read counts as
// missing.
func (a Archived) read(ctx context.Context, c cdx.Capture) (*chain.Capture, error) {
	body, err := a.Records.Open(ctx, c.File, c.Offset, c.Length)
	if err != nil {
		a.Log.Debug("earlier record is not here to be read", "file", c.File, "error", err)
		return nil, nil
	}
	defer func() { _ = body.Close() }()
	out, err := readCapture(body, c)
	if err != nil {
		a.Log.Warn("earlier record cannot be read", "file", c.File, "offset", c.Offset, "error", err)
		return nil, nil
	}
	return out, nil
}

// readCapture reads a record as far as its HTTP head.
func readCapture(body io.Reader, c cdx.Capture) (*chain.Capture, error) {
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
	out := &chain.Capture{URL: rec.TargetURI(), Date: date, RecordID: rec.Header.Get("WARC-Record-ID"),
		Digest: c.Digest, Type: c.MIME, File: c.File, Offset: c.Offset}
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
