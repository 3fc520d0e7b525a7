package warc

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Draft is a record about to be written.
type Draft struct {
	Type, TargetURI, ContentType string    // Type: TypeResponse, …
	ID                           string    // "<urn:uuid:…>"; empty: a new one is made
	Date                         time.Time // WARC-Date; zero: the time of writing
	Fields                       []Field   // further fields in order, e.g. WARC-IP-Address
	Block                        io.Reader // read once, exactly Size bytes; nil for an empty block
	Size                         int64
	// BlockDigest and PayloadDigest are labelled digests as Digest.String writes them. Empty
	// ones are computed when Block is an io.ReadSeeker or not above 1 MiB; the payload's for
	// responses, resources and conversions only, over the entity as recorded.
	BlockDigest, PayloadDigest string
}

// Format is how the records of a file are written.
type Format struct {
	Version string    // "1.1" (default) or "1.0"
	Digest  Algorithm // for digests the writer computes; default SHA-1
}

func (f Format) version() string {
	if f.Version == "" {
		return "1.1"
	}
	return f.Version
}

// valid refuses what would make a record that other tools cannot read, or that forges
// fields through line ends.
func (d *Draft) valid() error {
	switch d.Type {
	case TypeWarcinfo, TypeMetadata:
	case TypeResponse, TypeRequest, TypeResource, TypeRevisit, TypeConversion, TypeContinuation:
		if d.TargetURI == "" {
			return fmt.Errorf("a record of type %s needs a target URI: %w", d.Type, ErrDraft)
		}
	default:
		return fmt.Errorf("type %.40q: %w", d.Type, ErrDraft)
	}
	if d.TargetURI != "" && !absoluteURI(d.TargetURI) {
		return fmt.Errorf("target URI %.100q: %w", d.TargetURI, ErrDraft)
	}
	if d.Size < 0 || d.Block == nil && d.Size > 0 {
		return fmt.Errorf("block of %d bytes: %w", d.Size, ErrDraft)
	}
	if !oneLine(d.ContentType) || !oneLine(d.ID) || !oneLine(d.BlockDigest) || !oneLine(d.PayloadDigest) {
		return fmt.Errorf("a header field has more than one line: %w", ErrDraft)
	}
	for _, f := range d.Fields {
		if !token(f.Name) || !oneLine(f.Value) {
			return fmt.Errorf("field %.60q: %w", f.Name, ErrDraft)
		}
	}
	return nil
}

// absoluteURI reports whether s is a scheme, a colon and printable ASCII.
func absoluteURI(s string) bool {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || !token(scheme) || scheme[0] < 'A' || strings.Trim(scheme, "!#$%&'*^_`|~") != scheme {
		return false
	}
	for i := 0; i < len(rest); i++ {
		if rest[i] < 0x21 || rest[i] > 0x7e {
			return false
		}
	}
	return true
}

// oneLine reports whether s can be in a header line.
func oneLine(s string) bool {
	return strings.IndexByte(s, '\n') < 0 && strings.IndexByte(s, '\r') < 0 && strings.IndexByte(s, 0) < 0
}

// appendHeader writes version line and fields, with the empty line, behind b.
func (d *Draft) appendHeader(b []byte, version string) []byte {
	add := func(name, value string) {
		b = append(b, name...)
		b = append(b, ": "...)
		b = append(b, value...)
		b = append(b, "\r\n"...)
	}
	b = append(append(append(b, "WARC/"...), version...), "\r\n"...)
	add("WARC-Type", d.Type)
	add("WARC-Record-ID", d.ID)
	add("WARC-Date", formatDateFor(version, d.Date))
	if d.TargetURI != "" {
		add("WARC-Target-URI", d.TargetURI)
	}
	for _, f := range d.Fields {
		add(f.Name, f.Value)
	}
	if d.BlockDigest != "" {
		add("WARC-Block-Digest", d.BlockDigest)
	}
	if d.PayloadDigest != "" {
		add("WARC-Payload-Digest", d.PayloadDigest)
	}
	if d.ContentType != "" {
		add("Content-Type", d.ContentType)
	}
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, d.Size, 10)
	return append(b, "\r\n\r\n"...)
}

// wantsPayloadDigest reports whether the writer is to compute the payload's digest.
func (d *Draft) wantsPayloadDigest() bool {
	if d.PayloadDigest != "" {
		return false
	}
	switch d.Type {
	case TypeResponse, TypeResource, TypeConversion:
		return true
	}
	return false
}

// isHTTP reports whether the block is an HTTP message.
func (d *Draft) isHTTP() bool {
	return len(d.ContentType) >= len(httpMessage) && strings.EqualFold(d.ContentType[:len(httpMessage)], httpMessage)
}

// digest fills in the digests of a block held in memory.
func (d *Draft) digest(block []byte, a Algorithm) {
	h := a.New()
	if d.BlockDigest == "" {
		h.Write(block)
		d.BlockDigest = DigestOf(a, h).String()
	}
	if !d.wantsPayloadDigest() {
		return
	}
	payload := block
	if d.isHTTP() {
		payload = block[headEnd(block):]
		if len(payload) == len(block) {
			return
		}
	} else if strings.HasPrefix(d.BlockDigest, a.String()+":") {
		d.PayloadDigest = d.BlockDigest
		return
	}
	h.Reset()
	h.Write(payload)
	d.PayloadDigest = DigestOf(a, h).String()
}

// headEnd returns the length of the HTTP head at the start of b, 0 when it does not end in b.
func headEnd(b []byte) int {
	for i := 0; i < len(b); {
		n := bytes.IndexByte(b[i:], '\n') + 1
		if n == 0 {
			return 0
		}
		if blank(b[i : i+n]) {
			return i + n
		}
		i += n
	}
	return 0
}

// digestSeeker fills in the digests of a block in one pass over it, and goes back to its start.
func (d *Draft) digestSeeker(s io.ReadSeeker, a Algorithm, buf []byte) error {
	start, err := s.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("block: %w", err)
	}
	whole, payload := a.New(), a.New()
	in := io.LimitReader(s, d.Size)
	wanted := d.wantsPayloadDigest()
	inPayload := !d.isHTTP()
	for first := true; ; first = false {
		n, err := io.ReadFull(in, buf)
		part := buf[:n]
		whole.Write(part)
		if first && !inPayload {
			skip := headEnd(part)
			wanted = wanted && skip > 0 // a head longer than the buffer: leave it
			part = part[skip:]
		}
		if wanted {
			payload.Write(part)
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			return fmt.Errorf("block: %w", err)
		}
	}
	if d.BlockDigest == "" {
		d.BlockDigest = DigestOf(a, whole).String()
	}
	if wanted {
		d.PayloadDigest = DigestOf(a, payload).String()
	}
	if _, err := s.Seek(start, io.SeekStart); err != nil {
		return fmt.Errorf("block: %w", err)
	}
	return nil
}
