package replay

import (
	"io"
	"net/http"
	"strconv"
	"strings"
)

// byteRange is a part of a payload: the bytes from start on, length of them.
type byteRange struct{ start, length int64 }

// rangeOf reads the range that a request asks for of size bytes (RFC 9110, section 14). It reports false if the whole
// is to be sent: none is asked for, several are, or what is asked for is no range. A range of length 0 cannot be
// satisfied.
func rangeOf(r *http.Request, size int64, etag string) (byteRange, bool) {
	asked, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes=")
	if !ok || r.Method != http.MethodGet || strings.Contains(asked, ",") {
		return byteRange{}, false
	}
	if condition := r.Header.Get("If-Range"); condition != "" && (etag == "" || condition != etag) {
		return byteRange{}, false
	}
	from, to, ok := strings.Cut(strings.TrimSpace(asked), "-")
	if !ok || !digits(from) || !digits(to) || from == "" && to == "" {
		return byteRange{}, false
	}
	if from == "" {
		n := min(atLeastZero(to), size)
		return byteRange{size - n, n}, true
	}
	start, end := atLeastZero(from), size-1
	if to != "" {
		if end = min(end, atLeastZero(to)); atLeastZero(to) < start {
			return byteRange{}, false
		}
	}
	if start >= size {
		return byteRange{}, true
	}
	return byteRange{start, end - start + 1}, true
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// atLeastZero reads digits; more than fit are the largest number.
func atLeastZero(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 1<<63 - 1
	}
	return n
}

// part makes the answer that of a range, if one is asked for: 206 or 416. It returns the status and what of the payload
// to send.
func part(w http.ResponseWriter, r *http.Request, payload io.Reader, size int64, etag string) (int, io.Reader, error) {
	w.Header().Set("Accept-Ranges", "bytes")
	span, ok := rangeOf(r, size, etag)
	if !ok {
		return http.StatusOK, payload, nil
	}
	if span.length == 0 {
		w.Header().Set("Content-Range", "bytes */"+strconv.FormatInt(size, 10))
		w.Header().Set("Content-Length", "0")
		return http.StatusRequestedRangeNotSatisfiable, http.NoBody, nil
	}
	if _, err := io.CopyN(io.Discard, payload, span.start); err != nil {
		return 0, nil, err
	}
	w.Header().Set("Content-Range", "bytes "+strconv.FormatInt(span.start, 10)+"-"+
		strconv.FormatInt(span.start+span.length-1, 10)+"/"+strconv.FormatInt(size, 10))
	w.Header().Set("Content-Length", strconv.FormatInt(span.length, 10))
	return http.StatusPartialContent, io.LimitReader(payload, span.length), nil
}

// etagOf names the stored bytes of a document; empty if their digest is not known.
func etagOf(d *document) string {
	if d.capture.Digest == "" || d.flaw != "" || strings.ContainsFunc(d.capture.Digest, func(c rune) bool {
		return c <= '"' || c >= 0x7f
	}) {
		return ""
	}
	return `"` + d.capture.Timestamp + "-" + d.capture.Digest + `"`
}

// matches reports whether an If-None-Match names an entity tag (RFC 9110, section 13.1.2).
func matches(conditions []string, etag string) bool {
	for _, c := range conditions {
		for tag := range strings.SplitSeq(c, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}
