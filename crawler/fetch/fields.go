package fetch

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is the longest Retry-After that is returned; a longer one is reduced to this.
const maxRetryAfter = 365 * 24 * time.Hour

// MediaType returns the media type in lower case, without parameters; the first, if there are several; "" if there is
// none.
func (h Head) MediaType() string {
	v := h.Get("Content-Type")
	if i := strings.IndexAny(v, ";,"); i >= 0 {
		v = v[:i]
	}
	return strings.ToLower(strings.TrimSpace(v))
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
