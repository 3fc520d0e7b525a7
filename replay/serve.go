package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/net/http/httpguts"
	"golang.org/x/text/transform"

	"holdfast/cdx"
	"holdfast/internal/coding"
)

// policy tells the browser about archived pages: their scripts may run, but may fetch, send or frame nothing from
// beyond this port.
const policy = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; worker-src blob:; " +
	"base-uri 'self'; form-action 'self'; frame-ancestors 'self'"

// flawHeader says that a record's own digest is not that of its content, though the archive holds the bytes as they
// came.
const flawHeader = "X-Archive-Digest-Mismatch"

// memento answers with the capture nearest to a time.
func (h *Handler) memento(w http.ResponseWriter, r *http.Request, t target) {
	ctx := r.Context()
	if key, err := cdx.Key(t.url); err == nil {
		governed(w, r, key)
	}
	best, err := nearest(ctx, h.captures, t)
	if err != nil {
		h.unasked(w, r, err)
		return
	}
	if best.incomplete != nil {
		w.Header().Set("X-Archive-Incomplete", fmt.Sprintf("%d shards not covered", len(best.incomplete.Shards)))
	}
	why, err := refusedAt(ctx, h.captures, t, best.captures)
	if err != nil {
		h.unasked(w, r, err)
		return
	}
	if why != nil {
		h.linkHeader(w, r, t, nil)
		h.refuse(w, r, *why)
		return
	}
	h.linkHeader(w, r, t, best.captures)
	if len(best.captures) == 0 {
		h.notFound(w, r, t, best.incomplete)
		return
	}
	var failed error
	for _, c := range best.captures {
		d, err := h.open(ctx, c)
		if err != nil {
			h.log.Warn("capture cannot be replayed", "url", c.URL, "time", c.Timestamp, "file", c.File, "offset",
				c.Offset, "error", err)
			if failed == nil || errors.Is(failed, errNoOriginal) {
				failed = err // a fault that may pass is reported before a missing capture
			}
			continue
		}
		defer d.Close()
		h.answer(w, r, t, d)
		return
	}
	h.broken(w, r, failed)
}

// refusedAt returns why the reader is refused: the capture of the very second that was asked for is blocked, or all
// captures are.
func refusedAt(ctx context.Context, in Captures, t target, found []cdx.Capture) (*refusal, error) {
	q := cdx.Query{URL: t.url, Limit: 1}
	switch {
	case len(found) == 0:
	case len(t.timestamp) == 14 && found[0].Timestamp != t.timestamp:
		q.From, q.To = t.timestamp, t.timestamp
	default:
		return nil, nil
	}
	return refusalOf(ctx, in, q)
}

// linkHeader sets Memento's Link, as far as it can be said.
func (h *Handler) linkHeader(w http.ResponseWriter, r *http.Request, t target, found []cdx.Capture) {
	base, url := h.base(r), t.url
	var links []string
	if len(found) > 0 {
		url = found[0].URL
		links = append(links, fmt.Sprintf(`<%s/web/%s/%s>; rel="memento"; datetime="%s"`,
			base, found[0].Timestamp, linkSafe(url), timeOf(found[0].Timestamp).Format(http.TimeFormat)))
	}
	links = append([]string{
		fmt.Sprintf(`<%s>; rel="original"`, linkSafe(url)),
		fmt.Sprintf(`<%s/web/%s>; rel="timegate"`, base, linkSafe(url)),
		fmt.Sprintf(`<%s/timemap/link/%s>; rel="timemap"; type="application/link-format"`, base, linkSafe(url)),
	}, links...)
	w.Header().Set("Link", strings.Join(links, ", "))
}

// linkSafe makes a URL fit to be between < and > in a header.
func linkSafe(url string) string {
	var b strings.Builder
	for i := range len(url) {
		if c := url[i]; c <= ' ' || c >= 0x7f || c == '<' || c == '>' || c == '"' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// answer writes a capture: redirected to its exact place, rewritten, or as it is.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, t target, d *document) {
	c := d.capture
	governed(w, r, d.content)
	address, _, _ := strings.Cut(c.URL, "#")
	exact := "/web/" + c.Timestamp + t.modifier + "/" + address
	isPage := t.modifier == "" || t.modifier == "mp_"
	if isPage && (t.timestamp != c.Timestamp || !sameURL(t.url, address)) {
		redirect(w, h.prefix(r)+linkSafe(exact), http.StatusFound)
		return
	}
	header := w.Header()
	header.Set("Memento-Datetime", timeOf(c.Timestamp).Format(http.TimeFormat))
	header.Set("Content-Location", linkSafe(exact))
	header.Set("Content-Security-Policy", policy)
	if d.flaw != "" {
		header.Set(flawHeader, d.flaw)
	}
	raw := t.modifier == "id_" || t.modifier == "ir_"
	if !raw {
		header.Add("Vary", "Prefer") // a cache keeps what was asked for with it apart (RFC 7240, section 2)
	}
	if strings.Contains(r.Header.Get("Prefer"), "original-content") || strings.Contains(r.Header.Get("Prefer"), "raw") {
		raw = true
		header.Set("Preference-Applied", "original-content")
	}
	for _, f := range d.header {
		if httpguts.ValidHeaderFieldName(f.Name) && httpguts.ValidHeaderFieldValue(f.Value) {
			header.Add("X-Archive-Orig-"+f.Name, f.Value)
		}
	}
	for _, name := range []string{"Content-Type", "Content-Language", "Content-Disposition", "Content-Range"} {
		if v := d.header.Get(name); v != "" && httpguts.ValidHeaderFieldValue(v) {
			header.Set(name, v)
		}
	}
	l := &links{timestamp: c.Timestamp, base: c.URL, prefix: h.prefix(r)}
	if t.timestamp != "" && len(t.timestamp) == 14 {
		l.timestamp = t.timestamp
	}
	if location := d.header.Get("Location"); location != "" && d.status >= 300 && d.status < 400 {
		modifier := t.modifier
		if to, ok := l.rewrite(location, modifier); ok {
			header.Set("Location", linkSafe(to))
		}
	}
	if raw {
		h.pass(w, r, d)
		return
	}
	h.render(w, r, t, d, l)
}

// sameURL reports whether two spellings ask a server for the same.
func sameURL(a, b string) bool {
	if linkSafe(a) == linkSafe(b) {
		return true
	}
	normalA, errA := cdx.Normalize(repairURL(a))
	normalB, errB := cdx.Normalize(repairURL(b))
	return errA == nil && errB == nil && normalA == normalB
}

// statusOf is the status to answer with: the archived one, if a server may answer with it.
func statusOf(d *document) int {
	if d.status < 200 || d.status > 599 {
		return http.StatusOK
	}
	return d.status
}

func hasBody(r *http.Request, status int) bool {
	return r.Method != http.MethodHead && status != http.StatusNoContent && status != http.StatusNotModified
}

// pass writes the payload as the server sent it, content coding and all.
func (h *Handler) pass(w http.ResponseWriter, r *http.Request, d *document) {
	for _, encoding := range d.header.Values("Content-Encoding") {
		if httpguts.ValidHeaderFieldValue(encoding) {
			w.Header().Add("Content-Encoding", encoding)
		}
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header()["Content-Type"] = nil // no sniffing: the server did not say
	}
	status := statusOf(d)
	if d.size >= 0 && status != http.StatusNoContent && status != http.StatusNotModified {
		w.Header().Set("Content-Length", strconv.FormatInt(d.size, 10))
	}
	w.WriteHeader(status)
	if hasBody(r, status) {
		h.copied(d, copyTo(w, d.payload))
	}
}

func copyTo(w io.Writer, r io.Reader) error {
	_, err := io.Copy(w, r)
	return err
}

// copied logs why a page ended early. The reader's browser is told by a broken
// connection, since the status is sent already; but not of a content coding
// that ended early as the server sent it.
func (h *Handler) copied(d *document, err error) {
	broken := d.broken()
	if err == nil && broken == nil {
		return
	}
	if broken != nil || errors.Is(err, coding.ErrLimit) {
		h.log.Warn("replay is cut off", "url", d.capture.URL, "time", d.capture.Timestamp, "file", d.capture.File,
			"error", errors.Join(broken, err))
		panic(http.ErrAbortHandler)
	}
	h.log.Debug("replay ended early", "url", d.capture.URL, "time", d.capture.Timestamp, "error", err)
}

// render writes a page or style sheet rewritten, and anything else as it is.
func (h *Handler) render(w http.ResponseWriter, r *http.Request, t target, d *document, l *links) {
	status := statusOf(d)
	kind := kindOf(t.modifier, d.header.Get("Content-Type"))
	bar := !h.cfg.NoBanner && (t.modifier == "" || t.modifier == "mp_")
	if bar && (kind == kindHTML || kind == kindUnknown) {
		h.varies(w, r)
	}
	if kind == kindOther || !hasBody(r, status) {
		h.pass(w, r, d)
		return
	}
	unpacked, err := h.codings.Open(d.payload, coding.Head{Content: d.header.Values("Content-Encoding")},
		coding.Options{Output: h.cfg.MaxDecoded})
	if err != nil { // a coding that the reader's browser may know
		h.pass(w, r, d)
		return
	}
	defer unpacked.Close()
	in := bufio.NewReaderSize(unpacked, 4<<10)
	if kind == kindUnknown {
		head, _ := in.Peek(512)
		if d.header.Get("Content-Type") == "" && len(head) > 0 {
			w.Header().Set("Content-Type", http.DetectContentType(head))
		}
		if !looksLikeHTML(head) {
			w.WriteHeader(status)
			h.copied(d, copyTo(w, in))
			return
		}
		kind = kindHTML
	}
	if kind == kindCSS {
		w.WriteHeader(status)
		h.copied(d, rewriteCSS(w, in, l))
		return
	}
	rewriter := &htmlRewriter{out: w, links: l}
	page := h.sniff(w, in, rewriter)
	if bar {
		rewriter.banner = h.bar(r, d)
	}
	w.WriteHeader(status)
	h.copied(d, rewriter.run(page))
}

// sniff finds the page's charset. A charset in which < is not the byte < is turned into UTF-8.
func (h *Handler) sniff(w http.ResponseWriter, in *bufio.Reader, rewriter *htmlRewriter) io.Reader {
	head, _ := in.Peek(1024)
	contentType := w.Header().Get("Content-Type")
	found, name, certain := charset.DetermineEncoding(head, contentType)
	switch {
	case strings.HasPrefix(name, "utf-16") || name == "iso-2022-jp" || name == "replacement":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		return transform.NewReader(in, found.NewDecoder())
	case name != "utf-8":
		rewriter.charset = found
		if !certain && isUTF8(head) {
			rewriter.charset = nil
		}
	}
	return in
}

type kind int

const (
	kindOther kind = iota
	kindHTML
	kindCSS
	kindUnknown
)

// kindOf determines the kind of a payload from how it is used and what the server said.
func kindOf(modifier, contentType string) kind {
	mime, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	mime = strings.TrimSpace(mime)
	switch {
	case modifier == "cs_":
		return kindCSS
	case modifier == "js_" || modifier == "wkr_" || modifier == "sw_" || modifier == "wkrf_":
		return kindOther
	case mime == "text/html" || mime == "application/xhtml+xml" || mime == "application/vnd.wap.xhtml+xml":
		return kindHTML
	case mime == "text/css":
		return kindCSS
	case mime == "" || mime == "unk":
		return kindUnknown
	}
	return kindOther
}

func looksLikeHTML(head []byte) bool {
	lower := bytes.ToLower(bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n"))
	for _, start := range []string{"<!doctype html", "<html", "<head", "<body", "<title", "<!--"} {
		if bytes.HasPrefix(lower, []byte(start)) {
			return true
		}
	}
	return false
}
