package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"

	"holdfast/internal/coding"
)

// maxUnpacked bounds how far Check decompresses one entity: bombs are not worth more.
const maxUnpacked = 256 << 20

// expected is a digest that a header announces, and the hash that will tell.
type expected struct {
	field string
	want  Digest
	hash.Hash
	valid bool
}

// expect prepares the check of a digest field.
func (c *checker) expect(rec *Record, name, code string) *expected {
	e := &expected{field: rec.Header.Get(name)}
	if e.field == "" {
		return e
	}
	var err error
	if e.want, err = ParseDigest(e.field); err != nil {
		if errors.Is(err, ErrAlgorithm) {
			c.warn("digest-algorithm", short(e.field))
		} else {
			c.breach(code, err.Error())
		}
		return e
	}
	e.valid, e.Hash = true, e.want.Algorithm.New()
	return e
}

// twin returns a fresh hash of the same algorithm.
func (e *expected) twin() hash.Hash {
	if !e.valid {
		return SHA1.New()
	}
	return e.want.Algorithm.New()
}

// is reports whether a sum is the expected one.
func (e *expected) is(h hash.Hash) bool { return e.want.Equal(DigestOf(e.want.Algorithm, h)) }

// tap copies what is read through it to hashes.
type tap struct {
	in    io.Reader
	sinks []io.Writer
	n     int64
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	t.n += int64(n)
	for _, s := range t.sinks {
		if _, err := s.Write(p[:n]); err != nil {
			return n, err
		}
	}
	return n, err
}

// block reads the block in one pass and checks its content.
func (c *checker) block(rec *Record) error {
	c.sum.BlockBytes += rec.Size
	whole := c.expect(rec, "WARC-Block-Digest", "block-digest")
	payload := c.expect(rec, "WARC-Payload-Digest", "payload-digest")
	in := &tap{in: rec.Block}
	if whole.valid {
		in.sinks = append(in.sinks, whole)
	}
	whole2 := payload.twin() // the whole block by the payload's algorithm: for a common mistake
	if payload.valid {
		in.sinks = append(in.sinks, whole2)
	}
	var err error
	switch {
	case rec.IsHTTP():
		err = c.http(rec, in, whole, whole2, payload)
	case rec.Type == TypeWarcinfo || mediaType(rec.ContentType()) == fieldsType:
		err = c.warcFields(rec, in)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	if err != nil {
		return err
	}
	if whole.valid && whole.is(whole) {
		c.sum.BlockDigests++
	} else if whole.valid {
		c.breach("block-digest", fmt.Sprintf("%s %.100s %s", rec.Type, rec.TargetURI(), whole.field))
	}
	if payload.valid && !rec.IsHTTP() && !rec.Header.Has("WARC-Segment-Number") {
		switch rec.Type {
		case TypeResource, TypeConversion, TypeMetadata, TypeWarcinfo:
			c.judge(payload.is(whole2), rec, payload, "")
		}
	}
	switch rec.Type {
	case TypeResponse, TypeResource, TypeConversion:
		c.remember(rec)
	}
	return nil
}

func (c *checker) judge(right bool, rec *Record, e *expected, why string) {
	if right {
		c.sum.PayloadDigests++
		return
	}
	c.breach("payload-digest", fmt.Sprintf("%s %.100s %s%s", rec.Type, rec.TargetURI(), e.field, why))
}

// http checks a block that is an HTTP message.
func (c *checker) http(rec *Record, in *tap, whole *expected, whole2 hash.Hash, payload *expected) error {
	c.messageType(rec)
	if rec.Type == TypeRevisit && rec.Size == 0 {
		return nil
	}
	head, err := rec.readHTTP()
	if err != nil {
		if errors.Is(err, ErrLimit) {
			c.breach("http-header-limit", err.Error())
			err = nil
		}
		whole.valid = false // part of the block went by unseen
		return err
	}
	for _, s := range in.sinks {
		if _, err := io.WriteString(s, head.Raw); err != nil {
			return err
		}
	}
	for _, p := range head.problems {
		if rec.Type != TypeRevisit || !strings.HasPrefix(p, "no blank") {
			c.warn("http-header", p)
		}
	}
	c.startLine(rec, head)
	body := rec.Size - int64(len(head.Raw))
	if rec.Type == TypeRevisit && body > 0 {
		c.warn("revisit-with-body", fmt.Sprintf("%d bytes", body))
	}
	switch rec.Type {
	case TypeResponse:
		return c.response(rec, head, body, in, whole2, payload)
	case TypeRequest:
		return c.request(rec, in, payload)
	}
	return nil
}

// messageType compares msgtype with the type of the record.
func (c *checker) messageType(rec *Record) {
	ct := strings.ToLower(strings.ReplaceAll(rec.ContentType(), " ", ""))
	if rec.Type != TypeRequest && rec.Type != TypeResponse {
		return
	}
	if strings.Contains(ct, "msgtype=") && !strings.Contains(ct, "msgtype="+rec.Type) {
		c.breach("msgtype-mismatch", short(ct))
	}
}

func (c *checker) startLine(rec *Record, head *HTTPHead) {
	ok := head.parseStart(rec.Type == TypeRequest)
	switch {
	case rec.Type == TypeRequest && (!ok || strings.Contains(head.URI, " ") ||
		strings.ToUpper(head.Method) != head.Method):
		c.breach("http-request-line", short(head.StartLine))
	case rec.Type == TypeRequest && !head.Header.Has("Host"):
		c.warn("request-without-host", "")
	case ok || rec.Type == TypeRequest:
	case rec.Type == TypeResponse:
		c.breach("http-status-line", short(head.StartLine))
	default:
		c.warn("http-status-line", short(head.StartLine))
	}
}

func (c *checker) request(rec *Record, in *tap, payload *expected) error {
	if payload.valid {
		in.sinks = append(in.sinks, payload)
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	if payload.valid && !rec.Header.Has("WARC-Segment-Number") {
		c.judge(payload.is(payload), rec, payload, "")
	}
	return nil
}

// response checks an entity body: its length, its codings, its digest as recorded or, as
// some tools have it, without the transfer coding.
func (c *checker) response(rec *Record, head *HTTPHead, body int64, in *tap, whole2 hash.Hash,
	payload *expected) error {
	if payload.valid {
		in.sinks = append(in.sinks, payload)
	}
	entity := payload.twin() // without transfer coding
	cut, segment := rec.Header.Has("WARC-Truncated"), rec.Header.Has("WARC-Segment-Number")
	var inner io.Reader = in
	chunked := coding.Chunked(head.Header.Values("Transfer-Encoding"))
	var chunks *coding.Reader
	if chunked {
		var err error
		if chunks, err = coding.Open(in, coding.Head{Transfer: head.Header.Values("Transfer-Encoding")},
			coding.Options{}); err != nil {
			return err
		}
		defer chunks.Close()
		inner = &tap{in: chunks, sinks: []io.Writer{entity}}
	} else if v := head.Header.Get("Content-Length"); digits(v) && v != strconv.FormatInt(body, 10) && !cut &&
		!segment {
		if n, err := strconv.ParseInt(v, 10, 64); err != nil || n != body {
			c.warn("http-content-length", fmt.Sprintf("%.100s says %.20s, entity has %d", rec.TargetURI(), v, body))
		}
	}
	if err := c.encoded(head, body, inner); err != nil {
		return err
	}
	_, broken := io.Copy(io.Discard, inner)
	if broken != nil && !isCoding(broken) {
		return broken
	}
	if _, err := io.Copy(io.Discard, in); err != nil { // what follows the last chunk
		return err
	}
	whole := chunked && broken == nil && !chunks.Untrue()
	if chunked && (!whole || body == 0) && !cut {
		c.warn("chunked-not-chunked", "Transfer-Encoding: chunked, but the entity does not parse")
	}
	if payload.valid && !segment {
		why := ""
		if payload.is(whole2) {
			why = " (it is the digest of the whole block)"
		}
		c.judge(payload.is(payload) || whole && payload.is(entity), rec, payload, why)
	}
	return nil
}

// encoded checks that an entity decompresses if its header says so.
func (c *checker) encoded(head *HTTPHead, body int64, in io.Reader) error {
	encoding := strings.ToLower(head.Header.Get("Content-Encoding"))
	if encoding != "gzip" && encoding != "x-gzip" || body == 0 {
		return nil
	}
	z, err := coding.Open(in, coding.Head{Content: []string{encoding}}, coding.Options{})
	if err != nil {
		return err
	}
	defer z.Close()
	_, err = io.CopyN(io.Discard, z, maxUnpacked)
	var damaged *Error
	if errors.As(err, &damaged) {
		return err
	}
	var failed *coding.Error
	if z.Untrue() || errors.As(err, &failed) && failed.Layer == encoding && !errors.Is(err, io.ErrUnexpectedEOF) {
		c.warn("content-encoding", encoding+" does not decode")
	}
	return nil
}

// isCoding tells whether reading failed at a coding, not at the record around it.
func isCoding(err error) bool {
	var failed *coding.Error
	return errors.As(err, &failed)
}

// warcFields checks a block of "name: value" lines.
func (c *checker) warcFields(rec *Record, in io.Reader) error {
	lines := mediaType(rec.ContentType()) == fieldsType
	if !lines {
		if rec.Size > 0 {
			c.warn("warcinfo-content-type", short(rec.ContentType()))
		}
		return nil
	}
	software, odd := false, false
	buffered := bufio.NewReaderSize(in, MaxLine)
	for whole := true; ; {
		l, err := buffered.ReadSlice('\n')
		software = software || bytes.Contains(bytes.ToLower(l), []byte("software"))
		if t := bytes.TrimRight(l, "\r\n"); whole && !odd && len(t) > 0 && t[0] != ' ' && t[0] != '\t' &&
			!bytes.Contains(t, []byte(":")) {
			odd = true
			c.warn("warc-fields-line", fmt.Sprintf("%.60q", t))
		}
		whole = !errors.Is(err, bufio.ErrBufferFull)
		if err == io.EOF {
			break
		}
		if err != nil && whole {
			return err
		}
	}
	if rec.Type == TypeWarcinfo && !software {
		c.warn("warcinfo-no-software", "")
	}
	return nil
}
