package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"holdfast/access"
	"holdfast/cdx"
	"holdfast/internal/coding"
	"holdfast/warc"
)

// errNoRecord reports that a capture's record is not where the index says.
var errNoRecord = errors.New("there is no record at that place of the file")

// errNoOriginal reports a revisit whose content was not found.
var errNoOriginal = errors.New("the capture that this revisit refers to is not in the archive")

// document is an archived answer: status and header as the server sent them,
// and its payload as recorded.
type document struct {
	capture cdx.Capture
	content string // the key of the capture that has the content
	status  int
	header  warc.Header
	payload io.Reader    // transfer coding removed, content coding kept
	size    int64        // of the payload, -1 if unknown
	flaw    string       // how the record's own digest differs from its content; "" if it does not
	broken  func() error // why the record could not be read to its end; nil if it could
	closer  io.Closer
}

// watched remembers why reading a record failed, which what reads through it may hide.
type watched struct {
	in  io.Reader
	err error
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.in.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

func (d *document) Close() error { return d.closer.Close() }

// open reads a capture's record, and that of the content if it is a revisit.
func (h *Handler) open(ctx context.Context, c cdx.Capture) (*document, error) {
	rec, err := h.record(ctx, c)
	if err != nil {
		return nil, err
	}
	if rec.Type != warc.TypeRevisit {
		d, err := newDocument(c, rec)
		if err != nil {
			rec.Close()
			return nil, err
		}
		return d, nil
	}
	flaw := rec.flaw
	var own *warc.HTTPHead
	if rec.IsHTTP() {
		own, _ = rec.HTTP() // a revisit may do without
	}
	rec.Close()
	original, err := original(ctx, h.captures, c)
	if err != nil {
		return nil, err
	}
	rec, err = h.record(ctx, original)
	if err != nil {
		return nil, err
	}
	d, err := newDocument(c, rec)
	if err != nil {
		rec.Close()
		return nil, err
	}
	d.content = original.Key
	if d.flaw == "" {
		d.flaw = flaw
	}
	if own != nil && own.Status != 304 && own.Status >= 200 {
		d.status = own.Status
		d.header = framed(own.Header, d.header)
	}
	return d, nil
}

// framed is a revisit's header, with the fields that say how the bytes are to
// be read from the record that holds them.
func framed(own, original warc.Header) warc.Header {
	var out warc.Header
	for _, f := range own {
		if !isFraming(f.Name) {
			out = append(out, f)
		}
	}
	for _, f := range original {
		if isFraming(f.Name) {
			out = append(out, f)
		}
	}
	if !out.Has("Content-Type") && original.Has("Content-Type") {
		out.Set("Content-Type", original.Get("Content-Type"))
	}
	return out
}

func isFraming(name string) bool {
	return strings.EqualFold(name, "Content-Encoding") || strings.EqualFold(name, "Transfer-Encoding") ||
		strings.EqualFold(name, "Content-Length")
}

// maxShared is how many records of one gzip member are looked through.
const maxShared = 10_000

// findRecord reads on to the capture's record: the first, but in files of tools
// that pack several into one gzip member.
func findRecord(in io.Reader, c cdx.Capture, d *warc.Dictionary) (*warc.Record, error) {
	r, err := warc.NewRecordReader(in, c.File, d)
	if err != nil {
		return nil, err
	}
	for range maxShared {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if rec.Offset > 0 {
			break // the next member: not ours
		}
		date, err := rec.Date()
		if err != nil || cdx.Timestamp(date) != c.Timestamp {
			continue
		}
		if key, err := cdx.Key(rec.TargetURI()); err == nil && key == c.Key &&
			(rec.IsCapture() || rec.Type == warc.TypeConversion) {
			return rec, nil
		}
	}
	return nil, errNoRecord
}

func newDocument(c cdx.Capture, rec *whole) (*document, error) {
	d := &document{capture: c, content: c.Key, closer: rec, status: 200, size: rec.Size, flaw: rec.flaw}
	source := &watched{in: rec.block}
	d.payload, d.broken = source, func() error { return source.err }
	if !rec.IsHTTP() {
		d.header.Set("Content-Type", rec.ContentType())
		return d, nil
	}
	head, err := rec.HTTP()
	if err != nil {
		return nil, err
	}
	d.status, d.header = head.Status, head.Header
	d.size = rec.Size - int64(len(head.Raw))
	if transfer := head.Header.Values("Transfer-Encoding"); coding.Chunked(transfer) {
		chunks, err := coding.Open(source, coding.Head{Transfer: transfer}, coding.Options{})
		if err != nil {
			return nil, err
		}
		d.payload, d.size = chunks, -1
	}
	return d, nil
}

// original finds the capture that a revisit repeats: by the URL and date it
// names, else by digest under the same URL, else by digest anywhere. The reader must be allowed to see it: what a rule
// closes is not opened by another capture that refers to it.
func original(ctx context.Context, in Captures, c cdx.Capture) (cdx.Capture, error) {
	sight := sightOf(ctx)
	found, err := repeated(ctx, in, c, access.Open{Sight: sight})
	if !errors.Is(err, errNoOriginal) {
		return found, err
	}
	found, closed := repeated(ctx, in, c, blocked{sight})
	if closed == nil {
		return cdx.Capture{}, &refusal{sight.Decide(found.Key, found.Timestamp).Message}
	}
	return cdx.Capture{}, closed
}

// repeated is original, of the captures that the gate lets pass.
func repeated(ctx context.Context, in Captures, c cdx.Capture, gate cdx.Gate) (cdx.Capture, error) {
	var unasked error // why it is not known what the archive has
	for _, try := range []struct {
		url, timestamp string
		same           bool // the time must be the very one
	}{{c.Refers.URL, c.Refers.Timestamp, true}, {c.Refers.URL, c.Timestamp, false}, {c.URL, c.Timestamp, false}} {
		if try.url == "" || try.timestamp == "" {
			continue
		}
		q := cdx.Query{URL: try.url, Sort: cdx.Closest, Closest: try.timestamp, Limit: 20, Gate: gate,
			Filters: []string{"!=mime:" + cdx.RevisitMIME}}
		switch {
		case try.same:
			q.From, q.To = try.timestamp, try.timestamp
		case c.Digest != "":
			q.Filters = append(q.Filters, "=digest:"+c.Digest)
		default: // the server said that nothing had changed: what came later is another page
			q.To = c.Timestamp
		}
		for found, err := range cdx.Arrange(q, in.Query(ctx, q)) {
			if err != nil {
				unasked = err // the missing capture may be found by digest
				break
			}
			if try.same && c.Digest != "" && found.Digest != "" && c.Digest != found.Digest {
				continue
			}
			return found, nil
		}
	}
	if c.Digest != "" {
		found, ok, err := in.Original(ctx, c.Digest, gate)
		if err != nil {
			return cdx.Capture{}, fmt.Errorf("look up %s: %w", c.Digest, err)
		}
		if ok {
			return found, nil
		}
	}
	if unasked != nil {
		return cdx.Capture{}, fmt.Errorf("look for the capture that %s refers to: %w", c.URL, unasked)
	}
	return cdx.Capture{}, errNoOriginal
}
