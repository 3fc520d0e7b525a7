package rewrite

import (
	"bytes"
	"io"
	"strings"

	"holdfast/cdx"
)

// Playlist copies a playlist of HLS (RFC 8216) and rewrites its URIs. It returns the first error of reading or writing;
// damage in the playlist is none.
func Playlist(w io.Writer, r io.Reader, l *Links) error {
	s := newScan(w, r, 16<<10, 4*cdx.MaxURL)
	for {
		s.mark = s.pos
		found := s.to('\n')
		if found || s.ended != nil {
			s.line(l)
		}
		s.mark = -1
		if !found && !s.to('\n') { // the rest of a line that is longer than any
			break
		}
		s.pos++
	}
	return s.finish()
}

// line rewrites the line from mark to pos.
func (s *scan) line(l *Links) {
	text := s.buf[s.mark:s.pos]
	if len(text) > 2*cdx.MaxURL || bytes.Contains(text, []byte("{$")) { // a variable, which only a player replaces
		return
	}
	if !bytes.HasPrefix(text, []byte("#")) {
		trimmed := bytes.TrimSpace(text)
		if to, ok := l.Rewrite(string(trimmed), "oe_"); ok {
			from := s.mark + bytes.Index(text, trimmed)
			s.replace(from, from+len(trimmed), to)
		}
		return
	}
	if !bytes.HasPrefix(text, []byte("#EXT")) {
		return
	}
	at := s.mark
	for rest := text; ; {
		i := bytes.Index(rest, []byte(`="`))
		if i < 0 {
			return
		}
		name := rest[bytes.LastIndexAny(rest[:i], ":,")+1 : i]
		value := rest[i+2:]
		end := bytes.IndexByte(value, '"')
		if end < 0 {
			return
		}
		from := at + i + 2
		if isURI(strings.TrimSpace(string(name))) {
			if to, ok := l.Rewrite(string(value[:end]), "oe_"); ok {
				s.replace(from, from+end, strings.ReplaceAll(to, `"`, "%22"))
			}
		}
		at, rest = from+end+1, value[end+1:]
	}
}

// isURI reports whether the value of an attribute of HLS is a URI.
func isURI(name string) bool {
	return name == "URI" || strings.HasSuffix(name, "-URI") || name == "X-ASSET-LIST"
}
