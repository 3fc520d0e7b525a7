package fetch

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is the longest Retry-After that is told; what is more is as good as for ever.
const maxRetryAfter = 365 * 24 * time.Hour

// MediaType is the media type in lower case, without parameters; "" where there is none.
func (h Head) MediaType() string {
	v, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(v))
}

// Charset is the charset that Content-Type declares, in lower case; "" where it does not.
func (h Head) Charset() string {
	_, params, _ := strings.Cut(h.Get("Content-Type"), ";")
	for params != "" {
		var param string
		param, params, _ = strings.Cut(params, ";")
		if name, value, ok := strings.Cut(param, "="); ok && strings.EqualFold(strings.TrimSpace(name), "charset") {
			return strings.ToLower(strings.Trim(strings.TrimSpace(value), `"'`))
		}
	}
	return ""
}

// FileName is the name that Content-Disposition gives the content; "" where it does not.
func (h Head) FileName() string {
	if v := h.Get("Content-Disposition"); v != "" {
		if _, params, err := mime.ParseMediaType(v); err == nil {
			return params["filename"]
		}
	}
	return ""
}

// ETag is the validator for If-None-Match; "" where there is none.
func (h Head) ETag() string { return h.Get("ETag") }

// LastModified is the validator for If-Modified-Since, as sent; "" where there is none, or it is no time.
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
