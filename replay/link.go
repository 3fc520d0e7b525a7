package replay

import (
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"holdfast/cdx"
)

// links rewrites the URLs of one archived page so that they lead into the archive.
type links struct {
	timestamp string
	base      string // absolute URL that relative ones are resolved against
	prefix    string // of links to pages: /_/TAG if the reader chose a language
}

// rewrite returns where a reference leads in the archive, with the modifier of
// its use; false if it must stay as it is (fragments, data:, javascript:, …).
func (l *links) rewrite(ref, modifier string) (string, bool) {
	to, ok := l.absolute(ref)
	if !ok {
		return "", false
	}
	path := "/web/" + l.timestamp + modifier + "/" + to
	if modifier == "" || modifier == "mp_" { // what has a bar; the rest is the same in all languages
		path = l.prefix + path
	}
	return path, true
}

// absolute resolves a reference that can be archived.
func (l *links) absolute(ref string) (string, bool) {
	trimmed := strings.TrimFunc(ref, func(r rune) bool { return r <= ' ' })
	if trimmed == "" || trimmed[0] == '#' || len(trimmed) > cdx.MaxURL {
		return "", false
	}
	done, ok := strings.CutPrefix(strings.TrimPrefix(trimmed, l.prefix), "/web/")
	if ok && parseTarget(done).timestamp == l.timestamp {
		return "", false
	}
	return resolve(l.base, trimmed)
}

// resolve makes a reference absolute; false if it is not one to http, https or ftp.
func resolve(base, ref string) (string, bool) {
	u, err := whatwg.ParseRef(base, ref)
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
