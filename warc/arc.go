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

// arcLine is the header of an ARC record. A dash in the line is an empty field.
type arcLine struct {
	url, ip, mime string
	date          time.Time
	size          int64
	fields        int // how many fields the line has, spaces within URL and content type counted as between fields
}

// The numbers of fields in a line of ARC version 1 and 2.
const (
	arcFields  = 5
	arc2Fields = 10
)

// parseARCLine reads "URL IP-address Archive-date Content-type Archive-length". The URL and the content type may
// contain spaces; the additional fields of ARC version 2 are skipped. A dash stands for an unknown address, date (in
// a line without further spaces) or type.
func parseARCLine(line []byte) (arcLine, error) {
	if len(line) > MaxLine {
		return arcLine{}, ErrLimit
	}
	fields := strings.Split(strings.TrimRight(string(line), "\r\n"), " ")
	n := len(fields)
	for i := n - 4; i >= 1; i-- {
		undated := fields[i+1] == "-" && i == 1 && (n == arcFields || n == arc2Fields)
		if !undated && (len(fields[i+1]) < 14 || !digits(fields[i+1])) {
			continue
		}
		if _, err := netip.ParseAddr(fields[i]); err != nil && fields[i] != "-" {
			continue
		}
		var date time.Time
		var err error
		if !undated {
			if date, err = ParseDate(fields[i+1]); err != nil {
				return arcLine{}, err
			}
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
		known := func(s string) string { return strings.TrimPrefix(s, "-") } // none of these begins with a dash
		return arcLine{url: url, ip: known(fields[i]), mime: known(mime), date: date, size: size, fields: n}, nil
	}
	return arcLine{}, fmt.Errorf("want an ARC record, found %.80q: %w", line, ErrHeader)
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
		{"Content-Type", contentType},
		{"Content-Length", strconv.FormatInt(a.size, 10)},
		{"WARC-Identified-Payload-Type", a.mime},
	}
	if a.ip != "" {
		rec.Header.Add("WARC-IP-Address", a.ip)
	}
	if !a.date.IsZero() {
		rec.Header.Add("WARC-Date", a.date.Format("2006-01-02T15:04:05Z"))
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
	for ends := 0; ; {
		b, err := r.text.Peek(1)
		if ends == 0 && len(b) > 0 && b[0] != '\r' && b[0] != '\n' {
			r.tell("record-trailer", fmt.Sprintf("expected a line end, found %q", b))
		}
		if len(b) > 0 && b[0] == '\n' {
			ends++
		}
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
