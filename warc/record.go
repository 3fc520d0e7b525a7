package warc

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
)

// Record is the record at which a Reader is. Its block can be read until the next call of Next; header and fields
// stay valid.
type Record struct {
	Version string // "1.1", "1.0", …; "ARC/1" for a record of an ARC file
	Type    string
	Header  Header
	Offset  int64 // where the record's member starts in the file as stored
	// Length is the record's length in the file as stored. It is known once the block was
	// read to its end or Position was called, and stays 0 where several records share a
	// gzip member.
	Length int64
	// Inner is how many decompressed bytes lie before the record in its gzip member: 0
	// but in files of tools that do not write one member per record. A record with Inner
	// above 0 cannot be read by its Offset alone.
	Inner int64
	// Size is the length of the block as the header declares it.
	Size int64
	// Block reads the block and returns io.EOF only if record and compression are whole.
	Block io.Reader

	head  string // version line and header exactly as read
	block *block
	http  *HTTPHead
}

// TargetURI returns WARC-Target-URI without the brackets that some tools put around it.
func (r *Record) TargetURI() string { return bare(r.Header.Get("WARC-Target-URI")) }

// bare takes <> off a URI.
func bare(uri string) string {
	if strings.HasPrefix(uri, "<") && strings.HasSuffix(uri, ">") {
		return uri[1 : len(uri)-1]
	}
	return uri
}

// Date returns WARC-Date.
func (r *Record) Date() (time.Time, error) { return ParseDate(r.Header.Get("WARC-Date")) }

// ID returns WARC-Record-ID with its brackets, "" for records of ARC files.
func (r *Record) ID() string { return r.Header.Get("WARC-Record-ID") }

// ContentType returns the type of the block.
func (r *Record) ContentType() string { return r.Header.Get("Content-Type") }

// IsHTTP reports whether the block is an HTTP message by its content type.
func (r *Record) IsHTTP() bool {
	ct := r.ContentType()
	return len(ct) >= len(httpMessage) && strings.EqualFold(ct[:len(httpMessage)], httpMessage)
}

// IsCapture reports whether the record holds what its URL stood for: a response, a revisit, a resource; or a metadata
// record that is a document under a URL of its own, such as urn:screenshot:…. Metadata under the URL of a page is about
// the page, and so are warc-fields.
func (r *Record) IsCapture() bool {
	switch r.Type {
	case TypeResponse, TypeRevisit:
		return true
	case TypeResource:
		return !r.isFields()
	case TypeMetadata:
		return !r.isFields() && !isWebURL(r.TargetURI())
	}
	return false
}

func (r *Record) isFields() bool {
	kind, _, _ := strings.Cut(r.ContentType(), ";")
	return strings.EqualFold(strings.TrimSpace(kind), fieldsType)
}

// isWebURL reports whether a URI names something that a server answers for.
func isWebURL(uri string) bool {
	scheme, _, ok := strings.Cut(uri, ":")
	if !ok {
		return false
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "ftp", "ftps", "ws", "wss", "gopher", "gemini":
		return true
	}
	return false
}

// Position passes over the rest of the block and returns where the record lies.
// Length is 0 where records share a gzip member.
func (r *Record) Position() (Position, error) {
	err := r.block.skip()
	return Position{File: r.block.r.name, Offset: r.Offset, Length: r.Length}, err
}

// block is the block of the Reader's current record.
type block struct {
	r    *Reader
	rec  *Record
	left int64
	done bool  // the end of the record was read, too
	err  error // what to answer from now on
}

// Read implements io.Reader.
func (b *block) Read(p []byte) (int, error) {
	if b.left == 0 || b.err != nil {
		return 0, b.end()
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := b.r.text.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if err == nil || n > 0 {
		return n, nil
	}
	return 0, b.broken(err)
}

// WriteTo implements io.WriterTo without a buffer of its own.
func (b *block) WriteTo(w io.Writer) (int64, error) {
	var total int64
	for b.left > 0 && b.err == nil {
		p, err := b.window(1)
		if err != nil {
			return total, err
		}
		n, err := w.Write(p)
		b.take(n)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	if err := b.end(); err != io.EOF {
		return total, err
	}
	return total, nil
}

// window returns the buffered part of the block: at least n bytes, unless the block ends before or the buffer is
// smaller. The bytes stay there until take.
func (b *block) window(n int) ([]byte, error) {
	want := min(int64(n), b.left)
	for int64(b.r.text.Buffered()) < want {
		p, err := b.r.text.Peek(int(want))
		if err == nil || len(p) > 0 && int64(len(p)) < want && b.r.text.Buffered() > 0 {
			break
		}
		if err := b.broken(err); err != nil {
			return nil, err
		}
	}
	return b.r.text.Peek(int(min(b.left, int64(b.r.text.Buffered()))))
}

// take moves past n bytes that window gave.
func (b *block) take(n int) {
	m, _ := b.r.text.Discard(n) // buffered: cannot fail
	b.left -= int64(m)
}

// head takes what the block begins with up to and with an empty line, and tells whether there was one. A
// line may be as long as the whole: that is bounded by MaxHeader, beyond which it is ErrLimit.
func (b *block) head() (text []byte, ended bool, err error) {
	start := 0 // of the last line in text
	for b.left > 0 {
		p, err := b.window(1)
		if err != nil {
			return text, false, err
		}
		i := bytes.IndexByte(p, '\n')
		if i >= 0 {
			p = p[:i+1]
		}
		if len(text)+len(p) > MaxHeader {
			return text, false, fmt.Errorf("HTTP header of more than %d bytes: %w", MaxHeader, ErrLimit)
		}
		text = append(text, p...)
		b.take(len(p))
		if i < 0 {
			continue
		}
		if blank(text[start:]) {
			return text, true, nil
		}
		start = len(text)
	}
	return text, false, nil
}

// broken handles the end of a member, or an error, within the block. It returns nil if the block continues in the
// next member.
func (b *block) broken(err error) error {
	if err == io.EOF {
		err = b.r.span()
		if err == nil {
			return nil
		}
	}
	b.done = true
	b.err = b.r.fail(b.rec.Offset, fmt.Errorf("%d of %d bytes of the block are missing: %w", b.left, b.rec.Size, err))
	return b.err
}

// end reads the end of the record after its block, once.
func (b *block) end() error {
	if !b.done {
		b.done = true
		b.err = io.EOF
		if err := b.r.finish(b.rec); err != nil {
			b.err = err
		}
	}
	return b.err
}

// skip skips the rest of the block and the end of the record. An error is returned once.
func (b *block) skip() error {
	for b.left > 0 && b.err == nil {
		n, err := b.r.text.Discard(int(min(b.left, 1<<30)))
		b.left -= int64(n)
		if err != nil {
			if err := b.broken(err); err != nil {
				return err
			}
		}
	}
	if b.done {
		return nil
	}
	if err := b.end(); err != io.EOF {
		return err
	}
	return nil
}
