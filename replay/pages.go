package replay

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdfast/cdx"
	"holdfast/internal/look"
)

//go:embed pages/*.html
var templates embed.FS

// ownPolicy is for the handler's own pages: no script at all.
const ownPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'self'"

// pages are the handler's own pages.
type pages struct{ all map[string]*template.Template }

// newPages parses the templates; all pages have the same frame.
func newPages() (*pages, error) {
	p := &pages{all: map[string]*template.Template{}}
	for _, name := range []string{"start", "calendar", "prefix", "message"} {
		t, err := template.New("frame.html").ParseFS(templates, "pages/frame.html", "pages/"+name+".html")
		if err != nil {
			return nil, fmt.Errorf("parse page %s: %w", name, err)
		}
		p.all[name] = t
	}
	return p, nil
}

// view is the data of a page. Each page uses the fields that it needs.
type view struct {
	reader
	Archive, URL string
	Heading      said // none: the page is about the URL
	Message      said
	Reason       string // words of the archive's people, in whatever language
	Incomplete   int    // shards that could not be asked
	Calendar     *calendar
	Addresses    []address
	More         bool // there are more addresses
	Home         bool // the frame's small form is not needed
	Style        string
}

// said is a message with its parameters.
type said struct {
	Key    string
	params []any
}

func say(key string, params ...any) said { return said{key, params} }

// Say writes a message in the reader's language.
func (v view) Say(s said) string { return v.Text(s.Key, s.params...) }

// Shards returns how many there are of what Incomplete counts.
func (view) Shards() int { return 4096 }

// Title returns what the page is about; empty for the start page.
func (v view) Title() string {
	if v.Heading.Key != "" {
		return v.Say(v.Heading)
	}
	if v.Calendar != nil {
		return v.URL
	}
	return ""
}

// When writes a capture's timestamp in the reader's language; Day writes its day, and ISO writes it for programs.
func (v view) When(timestamp string) string { return v.Moment(timeOf(timestamp)) }

// Day writes the day of a timestamp.
func (v view) Day(timestamp string) string { return v.Date(timeOf(timestamp)) }

// ISO writes a timestamp for programs.
func (v view) ISO(timestamp string) string { return timeOf(timestamp).Format("2006-01-02T15:04:05Z") }

// Figure writes a whole number.
func (v view) Figure(n int) string { return v.Number(int64(n)) }

// To returns a link to a page of the handler: /web/, what is asked for, and an archived URL.
func (v view) To(what any, url string) string {
	return fmt.Sprintf("%s/web/%v/%s", v.Prefix, what, linkSafe(url))
}

// show writes one of the handler's pages.
func (h *Handler) show(w http.ResponseWriter, r *http.Request, status int, page string, v view) {
	v.Archive, v.reader, v.Style = h.cfg.Title, h.reader(r), "/_/"+h.style.Name
	var b bytes.Buffer
	if err := h.pages.all[page].Execute(&b, v); err != nil {
		h.log.Error("write page", "page", page, "error", err)
		http.Error(w, "the page could not be rendered", http.StatusInternalServerError)
		return
	}
	h.varies(w, r)
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Language", v.Tag())
	header.Set("Content-Security-Policy", ownPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	if header.Get("Cache-Control") != noStore {
		header.Set("Cache-Control", "no-cache") // the next crawl changes what it says
	}
	header.Set("Content-Length", fmt.Sprint(b.Len()))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(b.Bytes())
	}
}

// sheet answers the style sheet, under a name that changes with it.
func (h *Handler) sheet(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", look.Cache)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(h.style.Content))
}

// start answers the start page, or goes to the captures of the URL typed there.
func (h *Handler) start(w http.ResponseWriter, r *http.Request) {
	typed := strings.TrimSpace(r.URL.Query().Get("url"))
	if typed == "" {
		h.show(w, r, http.StatusOK, "start", view{Home: true})
		return
	}
	address, scope := cdx.Pattern(typed)
	if _, err := cdx.Key(address); err != nil {
		h.show(w, r, http.StatusBadRequest, "start", view{Home: true, URL: typed,
			Message: say("replay.no-address")})
		return
	}
	to := "/web/*/" + linkSafe(strings.ReplaceAll(repairURL(address), "#", "%23"))
	if scope == cdx.Domain {
		to = "/web/*/*." + linkSafe(address)
	} else if scope == cdx.Prefix {
		to += "*"
	}
	redirect(w, h.prefix(r)+to, http.StatusSeeOther)
}

// fail answers with a page that says what is wrong.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, status int, key string, params ...any) {
	heading := say("replay.bad-request")
	switch status {
	case http.StatusNotFound:
		heading = say("replay.not-found")
	case http.StatusMethodNotAllowed:
		heading = say("replay.not-allowed")
	case http.StatusServiceUnavailable:
		heading = say("replay.unavailable")
	}
	h.show(w, r, status, "message", view{Heading: heading, Message: say(key, params...)})
}

// refuse answers for a capture that may not be seen.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, why refusal) {
	h.show(w, r, http.StatusUnavailableForLegalReasons, "message", view{Heading: say("replay.refused"),
		Message: say("replay.refused-page"), Reason: why.reason})
}

// broken answers when captures or their content cannot be read.
func (h *Handler) broken(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil { // the reader has gone away, or this node stops: never an empty page with a 200
		h.later(w, r, "replay.ended-early")
		return
	}
	var closed *refusal
	if errors.As(err, &closed) {
		h.refuse(w, r, *closed)
		return
	}
	if errors.Is(err, errNoOriginal) {
		h.fail(w, r, http.StatusNotFound, "replay.no-original")
		return
	}
	h.log.Error("replay", "path", r.URL.Path, "error", err)
	h.later(w, r, "replay.unreadable")
}

// unasked answers when the index cannot be queried: nobody knows then whether the archive has the page.
func (h *Handler) unasked(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		h.log.Warn("the index cannot be queried", "path", r.URL.Path, "error", err)
	}
	h.later(w, r, "replay.no-index")
}

// later answers with a page that says what cannot be done now.
func (h *Handler) later(w http.ResponseWriter, r *http.Request, key string) {
	w.Header().Set("Retry-After", retryAfter)
	h.fail(w, r, http.StatusServiceUnavailable, key)
}

// retryAfter is when to ask again, in seconds: by then another node has been found that answers, if there is one.
const retryAfter = "10"

// notFound answers for a URL without captures, with addresses near it. While a part of the index cannot be asked,
// nobody knows whether there are any.
func (h *Handler) notFound(w http.ResponseWriter, r *http.Request, t target, incomplete *cdx.Incomplete) {
	v := view{Heading: say("replay.not-archived"), URL: t.url, Message: say("replay.no-capture")}
	status := http.StatusNotFound
	if incomplete != nil {
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", retryAfter)
		v.Heading, v.Message = say("replay.not-found"), say("replay.no-capture-reached")
		v.Incomplete = len(incomplete.Shards)
	}
	for _, q := range nearby(t.url) {
		list, more, _, err := h.addresses(r, q, 12)
		if err != nil {
			h.log.Debug("cannot list captures near this address", "url", t.url, "error", err)
		}
		if v.Addresses, v.More = list, more; len(list) > 0 {
			break
		}
	}
	h.show(w, r, status, "message", v)
}

// nearby returns queries for addresses like one that was not found, nearest first.
func nearby(address string) []cdx.Query {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil
	}
	u.RawQuery, u.Fragment = "", ""
	var queries []cdx.Query
	for range 4 {
		if u.Path == "" || u.Path == "/" {
			break
		}
		u.Path = u.Path[:strings.LastIndexByte(strings.TrimSuffix(u.Path, "/"), '/')+1]
		u.RawPath = ""
		queries = append(queries, cdx.Query{URL: u.String(), Match: cdx.Prefix})
	}
	return append(queries, cdx.Query{URL: u.Scheme + "://" + u.Host + "/", Match: cdx.Host},
		cdx.Query{URL: u.Scheme + "://" + u.Host + "/", Match: cdx.Domain})
}

// address is a URL with captures.
type address struct {
	URL         string
	Captures    int
	First, Last string
}

// maxScanned bounds the captures looked at for one list of addresses.
const maxScanned = 50_000

// addresses lists the first distinct URLs of a query. more reports that there are others, missing how many shards
// could not be asked. An error comes with what was found before it.
func (h *Handler) addresses(r *http.Request, q cdx.Query, n int) (list []address, more bool, missing int, err error) {
	q.Limit = maxScanned
	scanned, lastKey := 0, ""
	for c, err := range h.captures.Query(r.Context(), q) {
		var incomplete *cdx.Incomplete
		if errors.As(err, &incomplete) {
			missing = len(incomplete.Shards)
			continue
		}
		if err != nil {
			return list, more, missing, err
		}
		if scanned++; scanned > maxScanned {
			return list, true, missing, nil
		}
		if c.Key != lastKey {
			if len(list) == n {
				return list, true, missing, nil
			}
			lastKey = c.Key
			list = append(list, address{URL: c.URL, First: c.Timestamp})
		}
		last := &list[len(list)-1]
		last.Captures++
		last.Last = c.Timestamp
	}
	return list, scanned >= maxScanned, missing, nil
}

// list answers /web/*/<url>: a calendar, or addresses for a pattern.
func (h *Handler) list(w http.ResponseWriter, r *http.Request, t target) {
	address, scope := cdx.Pattern(t.url)
	if rest, ok := strings.CutPrefix(t.url, "http://*."); ok {
		address, scope = strings.TrimSuffix(strings.TrimSuffix(rest, "/*"), "/"), cdx.Domain
	}
	q := cdx.Query{URL: address, Match: scope}
	if _, err := q.Compile(); err != nil {
		h.fail(w, r, http.StatusBadRequest, "replay.bad-url")
		return
	}
	if scope == cdx.Exact {
		h.calendar(w, r, q, t)
		return
	}
	v := view{URL: t.url, Heading: say("replay.addresses")}
	var err error
	if v.Addresses, v.More, v.Incomplete, err = h.addresses(r, q, 500); err != nil {
		h.unasked(w, r, err)
		return
	}
	status := http.StatusOK
	switch {
	case len(v.Addresses) > 0:
	case v.Incomplete > 0:
		w.Header().Set("Retry-After", retryAfter)
		status = http.StatusServiceUnavailable
		v.Message = say("replay.no-addresses-reached")
	default:
		status, v.Message = http.StatusNotFound, say("replay.no-addresses")
	}
	h.show(w, r, status, "prefix", v)
}
