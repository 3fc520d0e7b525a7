package replay

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/net/http/httpguts"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"holdfast/internal/coding"
	"holdfast/replay/rewrite"
)

// pass writes the payload as it is: with its content coding if the reader can undo it, else without; in parts if asked
// for. raw says that it is the stored bytes that are asked for, which a reader gets who does not say what he accepts.
func (h *Handler) pass(w http.ResponseWriter, r *http.Request, d *document, raw bool) {
	status, payload, size := statusOf(d), d.payload, d.size
	if codings := codingsOf(d); len(codings) > 0 {
		w.Header().Add("Vary", "Accept-Encoding")
		unpacked, err := (*coding.Reader)(nil), error(nil)
		if !accepts(r, codings, raw) {
			unpacked, err = h.codings.Open(d.payload, coding.Head{Content: codings},
				coding.Options{Output: h.cfg.MaxDecoded})
		}
		if unpacked != nil && err == nil {
			defer unpacked.Close()
			payload, size = unpacked, -1
		} else { // accepted, or a coding that only the reader may know
			for _, encoding := range d.header.Values("Content-Encoding") {
				if httpguts.ValidHeaderFieldValue(encoding) {
					w.Header().Add("Content-Encoding", encoding)
				}
			}
		}
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header()["Content-Type"] = nil // no sniffing: the server did not say
	}
	if size >= 0 && status != http.StatusNoContent && status != http.StatusNotModified {
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	}
	if status == http.StatusOK && size >= 0 {
		var err error
		if etag := etagOf(d); etag != "" {
			w.Header().Set("ETag", etag)
			if matches(r.Header.Values("If-None-Match"), etag) {
				w.Header().Del("Content-Length")
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		if status, payload, err = part(w, r, payload, size, w.Header().Get("ETag")); err != nil {
			h.copied(d, err)
			panic(http.ErrAbortHandler)
		}
	}
	w.WriteHeader(status)
	if hasBody(r, status) {
		h.copied(d, copyTo(w, payload))
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

// render writes a page, style sheet or playlist rewritten, and anything else as it is.
func (h *Handler) render(w http.ResponseWriter, r *http.Request, t target, d *document, l *rewrite.Links) {
	status := statusOf(d)
	kind := kindOf(t.modifier, d.header.Get("Content-Type"))
	bar := !h.cfg.NoBanner && (t.modifier == "" || t.modifier == "mp_")
	if bar && (kind == kindHTML || kind == kindXHTML || kind == kindUnknown) {
		h.varies(w, r)
	}
	if kind == kindOther || status == http.StatusNoContent || status == http.StatusNotModified {
		h.pass(w, r, d, false)
		return
	}
	unpacked, err := h.codings.Open(d.payload, coding.Head{Content: d.header.Values("Content-Encoding")},
		coding.Options{Output: h.cfg.MaxDecoded})
	if err != nil { // a coding that the reader's browser may know
		h.pass(w, r, d, false)
		return
	}
	defer unpacked.Close()
	in := bufio.NewReaderSize(unpacked, 4<<10)
	if kind == kindUnknown {
		head, _ := in.Peek(512)
		if d.header.Get("Content-Type") == "" && len(head) > 0 {
			w.Header().Set("Content-Type", http.DetectContentType(head))
		}
		if kind = kindOther; looksLikeHTML(head) {
			kind = kindHTML
		}
	}
	page, from := rewrite.Page{}, io.Reader(in)
	if kind == kindHTML || kind == kindXHTML || kind == kindXML {
		page.Charset, from = h.sniff(w, in, kind)
		if bar && kind != kindXML {
			page.Banner = h.bar(r, d)
		}
	}
	w.WriteHeader(status)
	if !hasBody(r, status) {
		return
	}
	switch kind {
	case kindHTML:
		err = rewrite.HTML(w, from, l, page)
	case kindXHTML, kindXML:
		err = rewrite.XML(w, from, l, page, kind == kindXHTML)
	case kindCSS:
		err = rewrite.CSS(w, from, l)
	case kindPlaylist:
		err = rewrite.Playlist(w, from, l)
	default:
		err = copyTo(w, from)
	}
	h.copied(d, err)
}

// sniff finds a page's charset; nil means UTF-8. A charset in which < is not the byte < is turned into UTF-8.
func (h *Handler) sniff(w http.ResponseWriter, in *bufio.Reader, kind kind) (encoding.Encoding, io.Reader) {
	head, _ := in.Peek(1024)
	contentType := w.Header().Get("Content-Type")
	found, name, certain := charset.DetermineEncoding(head, contentType)
	if kind != kindHTML && !certain {
		found, name = declared(head)
	}
	mime, _, _ := strings.Cut(contentType, ";")
	switch {
	case strings.HasPrefix(name, "utf-16") || name == "iso-2022-jp" || name == "replacement":
		w.Header().Set("Content-Type", strings.TrimSpace(mime)+"; charset=utf-8")
		return nil, transform.NewReader(in, found.NewDecoder())
	case name != "utf-8" && (certain || kind != kindHTML || !utf8.Valid(head)):
		return found, in
	}
	return nil, in
}

// declared is the charset that a document of XML says it has; else it is UTF-8.
func declared(head []byte) (encoding.Encoding, string) {
	first, _, _ := bytes.Cut(head, []byte("?>"))
	_, after, ok := bytes.Cut(first, []byte("encoding"))
	if after = bytes.TrimLeft(after, " \t\r\n="); ok && bytes.HasPrefix(first, []byte("<?xml")) && len(after) > 1 {
		label, _, _ := bytes.Cut(after[1:], after[:1])
		if found, name := charset.Lookup(string(label)); found != nil {
			return found, name
		}
	}
	return encoding.Nop, "utf-8"
}

type kind int

const (
	kindOther kind = iota
	kindHTML
	kindXHTML // or SVG
	kindXML
	kindCSS
	kindPlaylist
	kindUnknown
)

// kindOf determines the kind of a payload from how it is used and what the server said.
func kindOf(modifier, contentType string) kind {
	mime, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	mime = strings.TrimSpace(mime)
	switch modifier {
	case "cs_":
		if strings.HasSuffix(mime, "xml") || mime == "text/xsl" {
			return kindXML // a style sheet of XML: a transformation
		}
		return kindCSS
	case "js_", "wkr_", "sw_", "wkrf_":
		return kindOther
	}
	switch mime {
	case "text/html":
		return kindHTML
	case "application/xhtml+xml", "application/vnd.wap.xhtml+xml", "image/svg+xml":
		return kindXHTML
	case "application/xml", "text/xml":
		return kindXML
	case "text/css":
		return kindCSS
	case "application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl", "audio/x-mpegurl":
		return kindPlaylist
	case "", "unk":
		return kindUnknown
	}
	if strings.HasSuffix(mime, "+xml") { // browsers show what of XHTML or SVG is in it
		return kindXML
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
