package extract

import (
	"bytes"
	"strings"
)

// maxVariables bounds how many variables a playlist defines.
const maxVariables = 32

// playlist reads an M3U8 playlist: segments and variants a line each, and what tags name in URI="…". Lines of an
// old M3U are read alike.
func (x *documents) playlist(b []byte) {
	var variables [][2][]byte
	for line := range bytes.FieldsFuncSeq(b, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = trim(line); len(line) == 0 {
			continue
		}
		if line[0] != '#' {
			x.add(substitute(line, variables), Embed, "m3u8/line")
			continue
		}
		tag, attrs, ok := bytes.Cut(line, []byte{':'})
		if !ok || !bytes.HasPrefix(tag, []byte("#EXT")) {
			continue
		}
		switch string(tag) {
		case "#EXT-X-DEFINE":
			name, value := playlistAttribute(attrs, "NAME"), playlistAttribute(attrs, "VALUE")
			if len(name) > 0 && len(variables) < maxVariables {
				variables = append(variables, [2][]byte{name, value})
			}
		case "#EXTINF":
		default:
			for _, name := range [...]string{"URI", "X-ASSET-URI", "X-ASSET-LIST", "SERVER-URI"} {
				if v := playlistAttribute(attrs, name); len(v) > 0 {
					x.add(substitute(v, variables), Embed, "m3u8/"+strings.ToUpper(nameOf(tag[1:]))+"/@"+name)
				}
			}
		}
	}
}

// playlistAttribute is the value of NAME="value" among attributes with commas between them.
func playlistAttribute(b []byte, name string) []byte {
	for len(b) > 0 {
		i := bytes.IndexAny(b, "=,")
		if i < 0 {
			return nil
		}
		key := trim(b[:i])
		if b[i] == ',' {
			b = b[i+1:]
			continue
		}
		b = b[i+1:]
		var value []byte
		if len(b) > 0 && b[0] == '"' {
			end := bytes.IndexByte(b[1:], '"')
			if end < 0 {
				return nil
			}
			value, b = b[1:end+1], b[end+2:]
		} else {
			end := bytes.IndexByte(b, ',')
			if end < 0 {
				end = len(b)
			}
			value, b = b[:end], b[end:]
		}
		if string(key) == name {
			return value
		}
	}
	return nil
}

// substitute replaces {$name} by what the playlist defined.
func substitute(v []byte, variables [][2][]byte) []byte {
	for range maxVariables {
		i := bytes.Index(v, []byte("{$"))
		if i < 0 || len(v) > maxURL {
			return v
		}
		end := bytes.IndexByte(v[i:], '}')
		if end < 0 {
			return v
		}
		name, found := v[i+2:i+end], false
		for _, d := range variables {
			if bytes.Equal(d[0], name) {
				v = append(append(append([]byte(nil), v[:i]...), d[1]...), v[i+end+1:]...)
				found = true
				break
			}
		}
		if !found {
			return nil // its value is unknown
		}
	}
	return v
}
