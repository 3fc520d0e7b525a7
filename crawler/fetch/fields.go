package fetch

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is the longest Retry-After that is returned; a longer one is reduced to this.
const maxRetryAfter = 365 * 24 * time.Hour

// MediaType returns the media type in lower case, without parameters; "" if there is none.
func (h Head) MediaType() string {
	v, _, _ := strings.Cut(h.ContentType(), ";")
	return strings.ToLower(strings.TrimSpace(v))
}

// ContentType returns the media type with its parameters, as browsers read it: of several, in one field or in more, the
// last that is one; "" if none is, and the type is to be told by the content. A character set holds for the same type
// in a later field without one.
func (h Head) ContentType() string {
	last, charset := "", ""
	h.each("Content-Type", func(field string) {
		for value := range listed(field) {
			kind, parameters, _ := strings.Cut(value, ";")
			kind = strings.TrimSpace(kind)
			if kind == "*/*" || !isMediaType(kind) {
				continue
			}
			before, _, _ := strings.Cut(last, ";")
			if !strings.EqualFold(kind, strings.TrimSpace(before)) {
				charset = ""
			}
			if strings.Contains(strings.ToLower(parameters), "charset") {
				charset = parameters
			}
			if last = value; charset != "" && parameters == "" {
				last = value + ";" + charset
			}
		}
	})
	return last
}

// listed calls for each element of a list in a field, whose quoted texts may have commas.
func listed(field string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		quoted, from := false, 0
		for i := 0; i <= len(field); i++ {
			switch {
			case i == len(field), field[i] == ',' && !quoted:
				if !yield(strings.TrimSpace(field[from:i])) {
					return
				}
				from = i + 1
			case field[i] == '"':
				quoted = !quoted
			case field[i] == '\\' && quoted:
				i++
			}
		}
	}
}

// isMediaType reports whether a text is a type and a subtype.
func isMediaType(kind string) bool {
	major, minor, ok := strings.Cut(kind, "/")
	return ok && isToken(major) && isToken(minor)
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// ContentLength returns the length of the content as declared, -1 if there is none. A list of equal lengths, in one
// field or in more, is that length (RFC 9110, section 8.6); contradicting tells that they are not, or not numbers.
func (h Head) ContentLength() (n int64, contradicting bool) {
	n = -1
	h.each("Content-Length", func(field string) {
		for value := range listed(field) {
			length, err := strconv.ParseInt(value, 10, 64)
			if err != nil || !digits(value) || n >= 0 && length != n {
				contradicting = true
				continue
			}
			n = length
		}
	})
	if contradicting {
		n = -1
	}
	return n, contradicting
}

// ETag returns the validator for If-None-Match; "" if there is none.
func (h Head) ETag() string { return h.Get("ETag") }

// LastModified returns the validator for If-Modified-Since, as sent; "" if there is none, or it is not a time.
func (h Head) LastModified() string {
	v := h.Get("Last-Modified")
	if _, err := http.ParseTime(v); err != nil {
		return ""
	}
	return v
}

// RetryAfter is how long the server wants to be left alone; 0 where it does not say. A date counts from the
// server's own where it tells that, else from now.
func (h Head) RetryAfter(now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	if digits(v) {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(n) * time.Second
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(0, at.Sub(now)), maxRetryAfter)
}

// Redirects tells whether a status is that of an answer which leads elsewhere.
func Redirects(status int) bool { return status >= 300 && status < 400 }
