package cdx

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Legends of the plain formats: the first line of a file.
const (
	Legend11 = " CDX N b a m s k r M S V g"
	Legend9  = " CDX N b a m s k r V g"
)

// AppendCDXJ appends the capture as a CDXJ line, without line end. All values are strings, as pywb and cdxj-indexer
// write them; unknown values are left out.
func (c *Capture) AppendCDXJ(b []byte) []byte {
	b = append(b, column(c.Key)...)
	b = append(b, ' ')
	b = append(b, c.Timestamp...)
	b = append(b, ' ')
	return c.AppendJSON(b, "url", "mime", "status", "digest", "redirect", "length", "offset", "filename")
}

// AppendJSON appends the named fields that the capture has as a JSON object of strings.
func (c *Capture) AppendJSON(b []byte, fields ...string) []byte {
	b = append(b, '{')
	first := true
	for _, name := range fields {
		value := c.Field(name)
		if value == "-" {
			continue
		}
		if !first {
			b = append(b, ", "...)
		}
		first = false
		b = appendJSONString(b, name)
		b = append(b, ": "...)
		b = appendJSONString(b, value)
	}
	return append(b, '}')
}

// AppendCDX11 appends the capture as an 11-column line, without line end.
func (c *Capture) AppendCDX11(b []byte) []byte {
	return c.appendColumns(b, "urlkey", "timestamp", "url", "mime", "status", "digest",
		"redirect", "robotflags", "length", "offset", "filename")
}

// AppendCDX9 appends the capture as a 9-column line, without line end.
func (c *Capture) AppendCDX9(b []byte) []byte {
	return c.appendColumns(b, "urlkey", "timestamp", "url", "mime", "status", "digest",
		"redirect", "offset", "filename")
}

func (c *Capture) appendColumns(b []byte, fields ...string) []byte {
	for i, name := range fields {
		if i > 0 {
			b = append(b, ' ')
		}
		value := c.Field(name)
		if name == "digest" {
			value = value[strings.IndexByte(value, ':')+1:]
		}
		b = append(b, column(value)...)
	}
	return b
}

// column writes a value without the spaces and control characters that would break a line.
// Unlike escape it leaves # and % and letters of other scripts alone.
func column(s string) string {
	clean := true
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func appendJSONString(b []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	b = append(b, '"')
	if plain {
		return append(append(b, s...), '"')
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r >= ' ' && r < 0x7f:
			b = append(b, byte(r))
		case r > 0xffff:
			high, low := 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
		i += n
	}
	return append(b, '"')
}
