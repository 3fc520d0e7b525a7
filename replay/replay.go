// Package replay shows archived pages: for a URL and a time it shows the page as it was.
//
// It serves what the wayback machines of the field serve (replay under /web/, Memento, a CDX server) over two small
// interfaces. Archived pages are hostile: the handler belongs on a port of its own, sets no cookies, and tells the
// browser to reach only this port.
package replay

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"holdfast/access"
	"holdfast/cdx"
	"holdfast/internal/coding"
	"holdfast/internal/look"
	"holdfast/internal/words"
	"holdfast/replay/rewrite"
)

// Captures finds captures.
type Captures interface {
	// Query yields matching captures in order of key, then time, all that the
	// arranged answer may hold. An answer that lacks shards ends in a *cdx.Incomplete.
	// It heeds the query's gate.
	Query(ctx context.Context, q cdx.Query) iter.Seq2[cdx.Capture, error]
	// Original returns the earliest capture with that payload that the gate lets pass; false if none is known.
	Original(ctx context.Context, digest string, gate cdx.Gate) (cdx.Capture, bool, error)
}

// Records reads the archive's files.
type Records interface {
	// Open reads a record's bytes as stored, from an offset of a file; with length 0 (not known), to the end of the
	// file. The result may have a method Doubt() bool. The handler calls it to report that the bytes are not a
	// complete record; true means that reading once more may give other bytes.
	Open(ctx context.Context, file string, offset, length int64) (io.ReadCloser, error)
}

// Config says how the archive is shown.
type Config struct {
	Title      string       // of the archive, on its pages; default "Holdfast"
	BaseURL    string       // where readers reach the handler, as http://host; default: the request's host
	MaxDecoded int64        // bytes that a compressed page may unpack to; default 256 MiB
	NoBanner   bool         // leave out the bar that tells readers that a page is archived
	Languages  *words.Offer // of own pages and the bar; default: all of the program's, English first
	// Policy is asked for every answer; an error refuses the reader. Readers are told by the addresses of requests.
	// Default: everything may be seen.
	Policy func() (access.InForce, error)
	Now    func() time.Time // default: the machine's
	// folder for records that are too large for memory while they are verified; default: the system's
	Spool     string
	SpoolRoom func(n int64) bool // whether that folder's disk has room for n bytes; default: it has
}

// Handler answers HTTP requests for archived pages. It may be used concurrently.
type Handler struct {
	cfg      Config
	captures Captures
	records  Records
	log      *slog.Logger
	pages    *pages
	offer    *words.Offer
	style    look.Sheet
	memory   *spool
	spool    *spool
	codings  coding.Pool

	dictionaries dictionaries
}

// New returns a handler over captures and records.
func New(cfg Config, captures Captures, records Records, log *slog.Logger) (*Handler, error) {
	if cfg.Title == "" {
		cfg.Title = "Holdfast"
	}
	if cfg.Policy == nil {
		cfg.Policy = everything
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.MaxDecoded <= 0 {
		cfg.MaxDecoded = 256 << 20
	}
	cfg.BaseURL = strings.TrimSuffix(cfg.BaseURL, "/")
	p, err := newPages()
	if err != nil {
		return nil, err
	}
	if cfg.Languages == nil {
		w, err := words.Shipped()
		if err != nil {
			return nil, err
		}
		if cfg.Languages, err = w.Offer(w.Tags()...); err != nil {
			return nil, err
		}
	}
	h := &Handler{cfg: cfg, captures: gated{captures}, records: records, log: log, pages: p, offer: cfg.Languages,
		style: look.Style()}
	h.spool = &spool{dir: cfg.Spool, limit: spoolLimit, room: cfg.SpoolRoom}
	h.memory = &spool{limit: memoryLimit}
	return h, nil
}

// ServeHTTP implements http.Handler. It routes by hand: a ServeMux would change the URLs in the paths.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Referrer-Policy", "same-origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		h.fail(w, r, http.StatusMethodNotAllowed, "replay.read-only")
		return
	}
	chosen, path := h.offer.ByPath(r.URL.EscapedPath())
	if chosen == nil && path == "/_/"+h.style.Name {
		h.sheet(w, r)
		return
	}
	if path == "/" { // it says nothing of what the archive holds
		h.start(w, r)
		return
	}
	if r = h.admit(w, r); r == nil {
		return
	}
	switch {
	case path == "/cdx" || path == "/cdx/":
		h.cdxServer(w, r)
	case strings.HasPrefix(path, "/timemap/"):
		h.timeMap(w, r, withQuery(path[len("/timemap/"):], r))
	case path == "/web" || path == "/web/":
		http.Redirect(w, r, h.prefix(r)+"/", http.StatusFound)
	case strings.HasPrefix(path, "/web/"):
		h.web(w, r, withQuery(path[len("/web/"):], r))
	default:
		h.stray(w, r)
	}
}

// withQuery puts back the query that belongs to the archived URL in a path.
func withQuery(path string, r *http.Request) string {
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		return path + "?" + r.URL.RawQuery
	}
	return path
}

// target is what a replay path asks for.
type target struct {
	timestamp string // as asked, 1 to 14 digits; empty: the latest
	modifier  string // mp_, id_, …; empty: a page
	url       string
	list      bool // of captures, instead of one
}

// parseTarget reads <timestamp><modifier>/<url>, */<url>, or a bare URL.
func parseTarget(path string) target {
	first, rest, found := strings.Cut(path, "/")
	if !found {
		return target{url: repairURL(path)}
	}
	if first == "*" {
		return target{list: true, url: repairURL(rest)}
	}
	digits := len(first) - len(strings.TrimLeft(first, "0123456789"))
	if list, ok := strings.CutSuffix(first, "*"); ok && digits == len(list) && digits <= 14 {
		return target{list: true, timestamp: list, url: repairURL(rest)}
	}
	modifier := first[digits:]
	if digits <= 14 && (modifier == "" && digits > 0 || isModifier(modifier)) {
		return target{timestamp: first[:digits], modifier: modifier, url: repairURL(rest)}
	}
	return target{url: repairURL(path)}
}

func isModifier(s string) bool {
	switch s {
	case "mp_", "id_", "ir_", "bn_", "tf_", "js_", "cs_", "im_", "oe_", "if_", "fr_", "wkr_", "wkrf_", "sw_":
		return true
	}
	return false
}

// repairURL adds a missing scheme, and the slash that some proxies and browsers drop.
func repairURL(url string) string {
	for _, scheme := range []string{"http", "https", "ftp"} {
		rest, ok := strings.CutPrefix(url, scheme+":/")
		if ok && !strings.HasPrefix(rest, "/") {
			return scheme + "://" + rest
		}
	}
	if !hasScheme(url) {
		return "http://" + url
	}
	return url
}

// hasScheme tells a scheme from a host with a port.
func hasScheme(url string) bool {
	i := strings.IndexAny(url, ":/?#")
	if i <= 0 || url[i] != ':' {
		return false
	}
	if strings.HasPrefix(url[i+1:], "//") {
		return true
	}
	switch strings.ToLower(url[:i]) {
	case "dns", "urn", "whois", "mailto", "data", "filedesc", "screenshot", "metadata":
		return true
	}
	return false
}

// web answers everything under /web/.
func (h *Handler) web(w http.ResponseWriter, r *http.Request, path string) {
	t := parseTarget(path)
	if t.list {
		h.list(w, r, t)
		return
	}
	if _, err := cdx.Key(t.url); err != nil {
		h.fail(w, r, http.StatusBadRequest, "replay.bad-url")
		return
	}
	if t.timestamp == "" && t.modifier == "" {
		w.Header().Add("Vary", "Accept-Datetime")
		if when := r.Header.Get("Accept-Datetime"); when != "" {
			at, err := http.ParseTime(when)
			if err != nil {
				h.fail(w, r, http.StatusBadRequest, "replay.bad-date", "header", "Accept-Datetime",
					"example", "Thu, 31 May 2007 20:35:00 GMT")
				return
			}
			t.timestamp = cdx.Timestamp(at)
		}
	}
	h.memento(w, r, t)
}

// stray answers a path that is no page of ours: most likely a link that a script of an archived page made. The
// Referer shows which URL was meant.
func (h *Handler) stray(w http.ResponseWriter, r *http.Request) {
	if l, _ := h.offer.ByPath(r.URL.EscapedPath() + "/"); l != nil && r.URL.EscapedPath() == l.Prefix() {
		redirect(w, l.Prefix()+"/", http.StatusFound)
		return
	}
	w.Header().Add("Vary", "Referer")
	_, from, _ := strings.Cut(r.Referer(), "//"+r.Host)
	chosen, from := h.offer.ByPath(from)
	if from, ok := strings.CutPrefix(from, "/web/"); ok {
		t := parseTarget(from)
		if to, ok := rewrite.Resolve(t.url, withQuery(r.URL.EscapedPath(), r)); ok && t.timestamp != "" && !t.list {
			redirect(w, prefixOf(chosen)+"/web/"+t.timestamp+t.modifier+"/"+to, http.StatusTemporaryRedirect)
			return
		}
	}
	if r.URL.Path == "/favicon.ico" { // browsers ask for it; our own pages have none
		w.WriteHeader(http.StatusNoContent)
		return
	}
	h.fail(w, r, http.StatusNotFound, "replay.no-page")
}

// redirect sends the browser to a path without tidying the URL in it.
func redirect(w http.ResponseWriter, path string, status int) {
	w.Header().Set("Location", path)
	w.WriteHeader(status)
}

// base returns where the handler is reached, as http://host. Who serves the handler takes X-Forwarded-Proto off
// requests that are not a trusted proxy's.
func (h *Handler) base(r *http.Request) string {
	if h.cfg.BaseURL != "" {
		return h.cfg.BaseURL
	}
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// timeOf reads a capture's timestamp; the zero time if it is not valid.
func timeOf(timestamp string) time.Time {
	t, err := cdx.ParseTimestamp(timestamp, cdx.Low)
	if err != nil {
		return time.Time{}
	}
	return t
}
