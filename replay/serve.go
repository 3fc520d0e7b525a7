package replay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"holdfast/cdx"
	"holdfast/replay/rewrite"
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
	l := rewrite.NewLinks(c.Timestamp, c.URL, h.prefix(r))
	if len(t.timestamp) == 14 {
		l.Timestamp = t.timestamp
	}
	if location := d.header.Get("Location"); location != "" && d.status >= 300 && d.status < 400 {
		modifier := t.modifier
		if to, ok := l.Rewrite(location, modifier); ok {
			header.Set("Location", linkSafe(to))
		}
	}
	if raw {
		h.pass(w, r, d, true)
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
