package metadata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"holdfast/crawler/report"
	"holdfast/index/dedup"
	"holdfast/warc"
)

// Piece is that of a dedup.Source: the list of documents in the metadata file of a job's present attempt. If the file
// has none, because it was written by an older program, the list is made of crawl.log and CDX.
func (f Files) Piece(ctx context.Context, job uint64) (io.ReadCloser, error) {
	attempts, err := f.Jobs.Attempts(job)
	if err != nil {
		return nil, err
	}
	if len(attempts) == 0 {
		return nil, dedup.ErrNone
	}
	file, err := f.Read(ctx, string(Name(job, attempts[len(attempts)-1])))
	if err != nil {
		return nil, err
	}
	block, err := file.block(DocumentsPath)
	if err == nil && block != nil {
		return struct {
			io.Reader
			io.Closer
		}{block, file}, nil
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return f.makePiece(ctx, job)
}

// makePiece makes the list of a job's documents of its crawl.log and CDX.
func (f Files) makePiece(ctx context.Context, job uint64) (_ io.ReadCloser, err error) {
	to := dedup.NewMaker(job, f.Dir, f.Memory)
	defer func() {
		if err != nil {
			err = errors.Join(err, to.Close())
		}
	}()
	logged, lost := false, 0
	err = f.visits(ctx, job, func(v *visit) error {
		if logged = logged || v.line != nil; !v.counts() {
			return nil
		}
		d, err := f.document(ctx, v)
		if err == nil {
			err = d.Check()
		}
		if err != nil {
			lost++
			f.Log.Debug("a document is left out of a job's list", "job", job, "url", v.url, "error", err)
			return ctx.Err()
		}
		return to.Add(d)
	})
	if err != nil {
		return nil, err
	}
	if !logged {
		return nil, fmt.Errorf("job %d: %w", job, dedup.ErrNone)
	}
	if lost > 0 {
		f.Log.Warn("documents are left out of a job's list: their records cannot be read", "job", job,
			"documents", lost)
	}
	out, in := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = in.CloseWithError(to.Write(in))
	}()
	return &making{out, to, ended}, nil
}

// making is a list that is being written.
type making struct {
	*io.PipeReader
	to    *dedup.Maker
	ended chan struct{}
}

// Close ends the writing.
func (m *making) Close() error {
	_ = m.PipeReader.Close()
	<-m.ended
	return m.to.Close()
}

// counts reports whether the visit brought a document that later jobs are compared with: one of http that came as a
// whole, or what did not change.
func (v *visit) counts() bool {
	l := v.line
	if l == nil || !strings.HasPrefix(l.URI, "http://") && !strings.HasPrefix(l.URI, "https://") ||
		slices.ContainsFunc(l.Annotations, cutOff) {
		return false
	}
	at, _ := v.stored()
	switch l.Revisit() {
	case report.Novel:
		return l.Status == 200 && l.Digest != "" && at.file != ""
	case report.DupByHash, report.NotModified:
		return at.file != ""
	}
	return false
}

// cutOff reports whether an annotation says that a document did not come as a whole.
func cutOff(note string) bool {
	return note == "lenTrunc" || note == "timeTrunc" || note == "midFetchTrunc" || note == "headerTrunc"
}

// errOtherContent reports that the record that a line of the log names is not that of its original.
var errOtherContent = errors.New("the record has another content")

// document is the visit's. That of a duplicate needs the record of its original, of which the log says no more than the
// place.
func (f Files) document(ctx context.Context, v *visit) (dedup.Document, error) {
	l := v.line
	at, _ := v.stored()
	d := dedup.Document{URL: l.URI, Time: l.Begin, Digest: l.Digest, Type: l.MIME, File: at.file, Offset: at.offset}
	if !v.revisits() {
		return d, nil
	}
	file, err := f.Records.Open(ctx, at.file, at.offset, 0)
	if err != nil {
		return d, err
	}
	defer func() { _ = file.Close() }()
	records, err := warc.NewReader(file, at.file)
	if err != nil {
		return d, err
	}
	rec, err := records.Next()
	if err != nil {
		return d, err
	}
	digest := rec.Header.Get("WARC-Payload-Digest")
	date, err := rec.Date()
	if err != nil {
		return d, err
	}
	if rec.Type != warc.TypeResponse || digest == "" || l.Revisit() == report.DupByHash && digest != l.Digest {
		return d, fmt.Errorf("%w: %s %s", errOtherContent, rec.Type, digest)
	}
	d.Digest, d.ID = digest, rec.ID()
	if url := rec.TargetURI(); url != d.URL {
		d.OfURL = url
	}
	if !date.Equal(d.Time) {
		d.OfTime = date
	}
	if head, err := rec.HTTP(); err == nil && d.OfURL == "" { // validators are a URL's own
		d.ETag, d.LastModified = head.Header.Get("ETag"), head.Header.Get("Last-Modified")
	}
	return d, nil
}
