package runner

import (
	"bufio"
	"context"
	"log/slog"
	"strconv"
	"strings"

	"holdfast/catalog"
	"holdfast/crawler/chain"
	"holdfast/index/dedup"
	"holdfast/warc"
)

// documents collects what the job recorded of each URL, from its WARC files.
type documents struct {
	to     *dedup.Maker
	before *dedup.Set // nil, or what earlier jobs recorded
	log    *slog.Logger
	open   *dedup.Document // waits for the metadata record that follows it
	id     string          // of its record
}

// see takes the next record of a file. It must come before the record's position is asked for.
func (d *documents) see(rec *warc.Record, file string) error {
	if rec.Type == warc.TypeMetadata {
		if d.open == nil || rec.Header.Get("WARC-Concurrent-To") != d.id {
			return nil
		}
		d.place(rec)
		return d.end()
	}
	if rec.Type != warc.TypeResponse && rec.Type != warc.TypeRevisit {
		return nil
	}
	if err := d.end(); err != nil {
		return err
	}
	d.open, d.id = documentOf(rec, file), rec.ID()
	return nil
}

// documentOf is what later jobs can make use of: a document of http that was received as a whole.
func documentOf(rec *warc.Record, file string) *dedup.Document {
	at, err := rec.Date()
	one := &dedup.Document{URL: rec.TargetURI(), Time: at, Digest: rec.Header.Get("WARC-Payload-Digest"), File: file,
		Offset: rec.Offset, ID: rec.ID()}
	cut := rec.Type == warc.TypeResponse && rec.Header.Get("WARC-Truncated") != "" // revisits have no body anyway
	if err != nil || one.Digest == "" || !rec.IsHTTP() || cut {
		return nil
	}
	head, err := rec.HTTP()
	if err != nil {
		return nil
	}
	one.Type, one.ETag, one.LastModified = head.MIME(), head.Header.Get("ETag"), head.Header.Get("Last-Modified")
	if rec.Type == warc.TypeResponse {
		if head.Status != 200 {
			return nil
		}
		return one
	}
	one.File, one.Offset, one.ID = "", 0, rec.Header.Get("WARC-Refers-To")
	one.OfURL = strings.Trim(rec.Header.Get("WARC-Refers-To-Target-URI"), "<>")
	if of, err := warc.ParseDate(rec.Header.Get("WARC-Refers-To-Date")); err == nil {
		one.OfTime = of
	}
	return one
}

// place reads from a metadata record where the original of a revisit is.
func (d *documents) place(rec *warc.Record) {
	if d.open.File != "" {
		return
	}
	for lines := bufio.NewReader(rec.Block); ; {
		line, err := lines.ReadString('\n')
		if notes, found := strings.CutPrefix(line, chain.FieldAnnotation+": "); found {
			d.open.File, d.open.Offset = original(notes)
			return
		}
		if err != nil || strings.HasPrefix(line, chain.FieldOutlink) {
			return
		}
	}
}

// original reads the file and the offset from the annotation of a duplicate.
func original(notes string) (file string, offset int64) {
	_, rest, _ := strings.Cut(notes, `duplicate:"`)
	place, _, found := strings.Cut(rest, `"`)
	parts := strings.Split(place, ",")
	if !found || len(parts) < 3 {
		return "", 0
	}
	n := len(parts)
	offset, err := strconv.ParseInt(parts[n-2], 10, 64)
	if err != nil || offset < 0 {
		return "", 0
	}
	return strings.Join(parts[:n-2], ","), offset
}

// end takes the document that waits.
func (d *documents) end() error {
	one := d.open
	if d.open = nil; one == nil || one.File == "" {
		return nil
	}
	if one.OfURL == one.URL {
		one.OfURL = ""
	}
	if one.ETag == "" && one.LastModified == "" && !one.OfTime.IsZero() && d.before != nil {
		// a server that says that nothing has changed need not repeat by what it knows that
		was, found, err := d.before.Latest(one.URL)
		if err == nil && found && was.Digest == one.Digest {
			one.ETag, one.LastModified = was.ETag, was.LastModified
		}
	}
	if err := one.Check(); err != nil {
		d.log.Debug("a document is left out of the job's list", "error", err)
		return nil
	}
	return d.to.Add(*one)
}

// earlierJobs is a chain.Earlier over what certain jobs recorded.
type earlierJobs struct {
	set   *dedup.Set
	there func(file string) bool // the archive has it
}

// Latest returns the latest document of the URL.
func (e earlierJobs) Latest(_ context.Context, url string) (*chain.Capture, error) {
	return e.capture(e.set.Latest(url))
}

// Content returns a document with the digest.
func (e earlierJobs) Content(_ context.Context, digest string) (*chain.Capture, error) {
	return e.capture(e.set.Content(digest))
}

func (e earlierJobs) capture(d dedup.Document, found bool, err error) (*chain.Capture, error) {
	if err != nil || !found || !e.there(d.File) {
		return nil, err
	}
	url, date := d.Original()
	return &chain.Capture{URL: url, Date: date, RecordID: d.ID, Digest: d.Digest, Type: d.Type, File: d.File,
		Offset: d.Offset, ETag: d.ETag, LastModified: d.LastModified}, nil
}

// kept reports whether the archive has the file's content.
func (cfg *Config) kept(file string) bool {
	err := cfg.Agreement.View(func(v catalog.View) error {
		f, err := v.File(catalog.FileName(file))
		if err == nil && (f.RemovedAt() != 0 || f.Lost != 0) {
			err = catalog.ErrNotFound
		}
		return err
	})
	return err == nil
}
