package warc

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// arcLine is the header of an ARC record.
type arcLine struct {
	url, ip, mime string
	date          time.Time
	size          int64
}

// parseARCLine reads "URL IP-address Archive-date Content-type Archive-length". The URL may
// hold spaces, as may the content type; the fields of ARC version 2 in between are passed over.
func parseARCLine(line []byte) (arcLine, error) {
	if len(line) > MaxLine {
		return arcLine{}, ErrLimit
	}
	fields := strings.Split(strings.TrimRight(string(line), "\r\n"), " ")
	n := len(fields)
	for i := n - 4; i >= 1; i-- {
		if len(fields[i+1]) < 14 || !digits(fields[i+1]) {
			continue
		}
		if _, err := netip.ParseAddr(fields[i]); err != nil {
			continue
		}
		date, err := ParseDate(fields[i+1])
		if err != nil {
			return arcLine{}, err
		}
		size, err := strconv.ParseInt(fields[n-1], 10, 64)
		if err != nil || !digits(fields[n-1]) {
			return arcLine{}, fmt.Errorf("ARC record length %.40q: %w", fields[n-1], ErrHeader)
		}
		url := strings.Join(fields[:i], " ")
		if !strings.Contains(url, ":") {
			return arcLine{}, fmt.Errorf("ARC record URL %.80q: %w", url, ErrHeader)
		}
		mime := strings.Join(fields[i+2:n-1], " ")
		if n-1-(i+2) == 6 { // version 2: type, status, checksum, location, offset, file name
			mime = fields[i+2]
		}
		return arcLine{url: url, ip: fields[i], mime: mime, date: date, size: size}, nil
	}
	return arcLine{}, fmt.Errorf("no ARC record but %.80q: %w", line, ErrHeader)
}

// readARCHeader reads the header line of an ARC record and describes the record in the words
// of WARC: the version block is a warcinfo, an HTTP response a response, all else a resource.
func (r *Reader) readARCHeader(rec *Record) error {
	line, err := bufferedLines{r.text}.line()
	if err != nil && err != io.EOF {
		return err
	}
	a, err := parseARCLine(line)
	if err != nil {
		return err
	}
	rec.Version = "ARC/1"
	rec.head = string(line)
	rec.Size = a.size
	rec.Type = TypeResource
	contentType := a.mime
	switch {
	case strings.HasPrefix(a.url, "filedesc:"):
		rec.Type = TypeWarcinfo
	case r.httpAhead(a.size):
		rec.Type = TypeResponse
		contentType = httpMessage + "; msgtype=response"
	}
	rec.Header = Header{
		{"WARC-Type", rec.Type},
		{"WARC-Target-URI", a.url},
		{"WARC-Date", a.date.Format("2006-01-02T15:04:05Z")},
		{"WARC-IP-Address", a.ip},
		{"Content-Type", contentType},
		{"Content-Length", strconv.FormatInt(a.size, 10)},
		{"WARC-Identified-Payload-Type", a.mime},
	}
	return nil
}

// httpAhead reports whether a block of the given size begins as an HTTP response does.
func (r *Reader) httpAhead(size int64) bool {
	b, _ := r.text.Peek(int(min(5, size)))
	return string(b) == "HTTP/"
}

// finishARC reads the line end after a block, and the end of the member.
func (r *Reader) finishARC(rec *Record) error {
	for {
		b, err := r.text.Peek(1)
		switch {
		case len(b) == 0 && r.pack != nil:
			return r.endOfMember(rec, err)
		case len(b) == 0 && err == io.EOF:
			rec.Length = r.src.offset() - rec.Offset
			return nil
		case len(b) == 0:
			return r.fail(rec.Offset, err)
		case !bytes.ContainsAny(b, "\r\n"):
			if r.pack == nil {
				rec.Length = r.src.offset() - rec.Offset
			}
			return nil
		}
		if _, err := r.text.Discard(1); err != nil {
			return r.fail(rec.Offset, err)
		}
	}
}
