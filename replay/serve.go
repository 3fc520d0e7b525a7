package replay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"holdfast/access"
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

// candidates is how many captures are tried when the nearest cannot be shown.
const candidates = 24

// latest is later than any capture.
const latest = "99991231235959"

// memento answers with the capture nearest to a time.
func (h *Handler) memento(w http.ResponseWriter, r *http.Request, t target) {
	found, blocked, incomplete, err := h.nearest(r.Context(), t)
	if err != nil {
		h.unasked(w, r, err)
		return
	}
	if incomplete != nil {
		w.Header().Set("X-Archive-Incomplete", fmt.Sprintf("%d shards not covered", len(incomplete.Shards)))
	}
	h.linkHeader(w, r, t, found)
	if len(found) == 0 {
		if blocked != nil {
			h.refuse(w, r, *blocked)
			return
		}
		h.notFound(w, r, t, incomplete)
		return
	}
	var failed error
	for _, c := range found {
		d, err := h.open(r.Context(), c)
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

// refusal says why a capture may not be seen.
type refusal struct{ reason string }

// nearest returns captures to try, nearest first, that the policy lets be seen.
func (h *Handler) nearest(ctx context.Context, t target) (found []cdx.Capture, blocked *refusal,
	incomplete *cdx.Incomplete, err error) {
	q := cdx.Query{URL: t.url, Sort: cdx.Closest, Closest: t.timestamp, Limit: candidates}
	if t.timestamp == "" {
		q.Closest = latest
	}
	if _, err := cdx.ParseTimestamp(q.Closest, cdx.Low); err != nil {
		q.Closest = latest
	}
	rules := h.cfg.Policy()
	for c, err := range cdx.Arrange(q, h.captures.Query(ctx, q)) {
		if errors.As(err, &incomplete) {
			continue
		}
		if err != nil {
			return nil, nil, nil, err
		}
		switch decision, reason := rules.Decide(c.Key, c.Timestamp); decision {
		case access.Allow:
			found = append(found, c)
		case access.Block:
			if blocked == nil {
				blocked = &refusal{reason}
			}
		}
	}
	if t.modifier != "id_" && t.modifier != "ir_" {
		// A redirect that leads to its own key (http to https, or to www) is no answer when there is another.
		slices.SortStableFunc(found, func(a, b cdx.Capture) int {
			return boolInt(redirectsToItself(a)) - boolInt(redirectsToItself(b))
		})
	} else {
		// The very URL comes first among captures of one key and time.
		slices.SortStableFunc(found, func(a, b cdx.Capture) int {
			if a.Timestamp != b.Timestamp {
				return 0
			}
			return boolInt(a.URL != t.url) - boolInt(b.URL != t.url)
		})
	}
	return found, blocked, incomplete, nil
}

func redirectsToItself(c cdx.Capture) bool {
	if c.Redirect == "" {
		return false
	}
	key, err := cdx.Key(c.Redirect)
	return err == nil && key == c.Key
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
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
