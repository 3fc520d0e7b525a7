// Package rewrite makes the references of archived pages lead into the archive: those of HTML, XHTML, SVG and other
// XML, of style sheets, and of the playlists of HLS and DASH.
//
// What is rewritten is spliced into the bytes as they were stored, so that every other byte, in whatever charset that
// has ASCII in it, passes unchanged. Memory is bounded whatever the page. The package is pure: it sees readers and
// writers.
package rewrite

import (
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"holdfast/cdx"
)

// Links says where the references of one archived document lead. It serves one document at a time, which may change its
// base.
type Links struct {
	Timestamp string // of the links: 14 digits
	Prefix    string // of links to pages, as /_/de if the reader chose a language; else empty

	base   string
	parsed *whatwg.Url // the base; nil if it cannot be resolved against, or is not parsed yet
	origin string      // scheme and host of a plain base, else empty
	folder string      // the plain base up to its last slash, else empty
}

// NewLinks returns the links of a document with the absolute URL base.
func NewLinks(timestamp, base, prefix string) *Links {
	l := &Links{Timestamp: timestamp, Prefix: prefix}
	l.setBase(base)
	return l
}

// setBase changes what relative references are resolved against.
func (l *Links) setBase(base string) {
	l.base, l.parsed, l.origin, l.folder = base, nil, "", ""
	base, _, _ = strings.Cut(base, "#")
	base, _, _ = strings.Cut(base, "?")
	if n := plainOrigin(base); n > 0 && plainPath(base[n:]) {
		l.origin = base[:n]
		l.folder = base[:strings.LastIndexByte(base, '/')+1]
		if len(base) == n {
			l.folder = base + "/"
		}
	}
}

// Rewrite returns where a reference leads in the archive, with the modifier of its use; false if it must stay as it is
// (fragments, data:, javascript:, what is rewritten already, what is no URL).
func (l *Links) Rewrite(ref, modifier string) (string, bool) {
	to, ok := l.absolute(ref)
	if !ok {
		return "", false
	}
	prefix := ""
	if modifier == "" || modifier == "mp_" { // what has a bar; the rest is the same in all languages
		prefix = l.Prefix
	}
	return prefix + "/web/" + l.Timestamp + modifier + "/" + to, true
}

// absolute resolves a reference that can be archived.
func (l *Links) absolute(ref string) (string, bool) {
	trimmed := strings.TrimFunc(ref, func(r rune) bool { return r <= ' ' })
	if trimmed == "" || trimmed[0] == '#' || len(trimmed) > cdx.MaxURL {
		return "", false
	}
	if trimmed[0] == '/' && l.led(trimmed) {
		return "", false
	}
	if to, ok := l.plain(trimmed); ok {
		return to, true
	}
	if l.parsed == nil {
		parsed, err := whatwg.Parse(l.base)
		if err != nil {
			return Resolve("", trimmed)
		}
		l.parsed = parsed
	}
	return archivable(l.parsed.Parse(trimmed))
}

// led reports whether a path leads into the archive already.
func (l *Links) led(path string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(path, l.Prefix), "/web/"+l.Timestamp)
	if !ok {
		return false
	}
	modifier, _, ok := strings.Cut(rest, "/")
	return ok && (modifier == "" || strings.HasSuffix(modifier, "_") && len(modifier) <= len("wkrf_"))
}

// Resolve makes a reference absolute, as browsers do (WHATWG URL); false if it is not one to http, https or ftp.
func Resolve(base, ref string) (string, bool) {
	return archivable(whatwg.ParseRef(base, ref))
}

func archivable(u *whatwg.Url, err error) (string, bool) {
	if err != nil {
		return "", false
	}
	switch u.Scheme() {
	case "http", "https", "ftp":
	default:
		return "", false
	}
	if u.Hostname() == "" {
		return "", false
	}
	return u.Href(false), true
}
