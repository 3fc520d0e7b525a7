package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// readHeader reads version line and fields of a WARC record.
func (r *Reader) readHeader(rec *Record) error {
	lines := bufferedLines{r.text}
	first, err := lines.line()
	if err != nil && err != io.EOF {
		return err
	}
	version, ok := versionLine(first)
	if !bytes.HasSuffix(first, []byte("\n")) {
		r.tell("truncated-header", "")
		return fmt.Errorf("header: %w", ErrTruncated)
	}
	if !ok {
		r.tell("bad-version-line", fmt.Sprintf("%.60q", first))
		return fmt.Errorf("want a version line, found %.60q: %w", first, ErrHeader)
	}
	n := len(first)
	r.scratch, err = readLines(lines, append(r.scratch[:0], first...))
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			r.tell("truncated-header", "")
			err = fmt.Errorf("header: %w", ErrTruncated)
		}
		return err
	}
	rec.head = string(r.scratch)
	rec.Version = version
	if r.say != nil {
		r.checkVersionLine(rec.head[:n], version)
	}
	rec.Header = parseFields(rec.head[n:], r.say)
	rec.Type = recordType(rec.Header.Get("WARC-Type"))
	if rec.Size, err = contentLength(rec.Header); err != nil {
		if v := rec.Header.Get("Content-Length"); v == "" {
			r.tell("missing-content-length", "")
		} else {
			r.tell("content-length-value", fmt.Sprintf("%.40q", v))
		}
	}
	return err
}

// recordType returns the type as the standard writes it: some tools use other case.
func recordType(s string) string {
	for _, t := range []string{TypeResponse, TypeRequest, TypeRevisit, TypeMetadata, TypeResource, TypeWarcinfo,
		TypeConversion, TypeContinuation} {
		if len(t) == len(s) && strings.EqualFold(t, s) {
			return t
		}
	}
	return s
}

// checkVersionLine reports what is odd about a version line that can be read.
func (r *Reader) checkVersionLine(line, version string) {
	if line[:5] != "WARC/" {
		r.tell("version-line-case", fmt.Sprintf("%.20q", line))
	}
	switch {
	case strings.HasSuffix(line, "\r\r\n"):
		r.tell("bad-version-line", fmt.Sprintf("%.60q", line))
	case !strings.HasSuffix(line, "\r\n"):
		r.tell("lf-line-end", "version line ends in bare LF")
	}
	switch version {
	case "1.0", "1.1", "0.17", "0.18":
	default:
		r.tell("unknown-version", version)
	}
}

// finish reads what follows a block: the end of the record, and of its member.
func (r *Reader) finish(rec *Record) error {
	if r.arc {
		return r.finishARC(rec)
	}
	b, err := r.text.Peek(4)
	if err != nil && err != io.EOF {
		return r.fail(rec.Offset, err)
	}
	whole := string(b) == "\r\n\r\n"
	if whole {
		if _, err := r.text.Discard(4); err != nil {
			return r.fail(rec.Offset, err)
		}
	} else {
		r.tell("record-trailer", fmt.Sprintf("expected CRLF CRLF, found %q", b))
	}
	if err := r.skipLineEnds(whole); err != nil {
		return r.fail(rec.Offset, err)
	}
	b, err = r.text.Peek(5)
	if len(b) > 0 {
		if r.pack == nil {
			rec.Length = r.src.offset() - rec.Offset
		}
		if strings.EqualFold(string(b), "WARC/"[:len(b)]) { // or the beginning of that, in a torn file
			return nil
		}
		r.tell("resync", fmt.Sprintf("want the next record, found %q", b))
		return r.fail(rec.Offset, fmt.Errorf("%w but by %q", ErrTrailer, b))
	}
	return r.endOfMember(rec, err)
}

// skipLineEnds skips line ends that should not be there, and reports them if asked to.
func (r *Reader) skipLineEnds(tell bool) error {
	for blanks := false; ; blanks = true {
		b, err := r.text.Peek(1)
		if len(b) == 0 || b[0] != '\r' && b[0] != '\n' {
			if err == io.EOF {
				err = nil
			}
			if blanks && tell {
				r.tell("extra-blank-lines", "after a record")
			}
			return err
		}
		if _, err := r.text.Discard(1); err != nil {
			return err
		}
	}
}

// endOfMember notes the length of a record after which nothing came but err.
func (r *Reader) endOfMember(rec *Record, err error) error {
	if err != io.EOF {
		return r.fail(rec.Offset, err)
	}
	r.inside = false
	if rec.Inner == 0 {
		rec.Length = r.src.offset() - rec.Offset
	}
	return nil
}

// span continues in the next member if a block is longer than its own.
func (r *Reader) span() error {
	if r.pack == nil {
		return ErrTruncated
	}
	r.inside = false
	if err := r.open(); err != nil {
		if err == io.EOF {
			return ErrTruncated
		}
		return err
	}
	b, err := r.text.Peek(5)
	if bytes.EqualFold(b, []byte("WARC/")) {
		return ErrTruncated
	}
	if err == io.EOF {
		err = nil
	}
	return err
}
