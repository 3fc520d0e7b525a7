package cdx

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrLine reports a line that describes no capture.
var ErrLine = errors.New("not a CDX line")

// ErrLegend reports the line that only names the columns of a CDX file.
var ErrLegend = errors.New("legend of a CDX file")

// Legends of the plain formats: the first line of a file.
const (
	Legend11 = " CDX N b a m s k r M S V g"
	Legend9  = " CDX N b a m s k r V g"
)

// maxLine bounds a line that is read: key, URL and redirect, escaped in JSON.
const maxLine = 16 * MaxURL

// AppendCDXJ appends the capture as a CDXJ line, without line end.
// All values are strings, as pywb and cdxj-indexer write them; what is not known is left out.
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

// ParseLine reads a CDXJ line or a plain line of 7, 9, 10, 11 or 14 columns.
// A legend answers ErrLegend; any other line that is none of these wraps ErrLine.
func ParseLine(line string) (Capture, error) {
	line = strings.TrimRight(line, "\r\n")
	if len(line) > maxLine {
		return Capture{}, fmt.Errorf("%w: %d bytes long", ErrLine, len(line))
	}
	if strings.HasPrefix(line, " CDX ") || strings.HasPrefix(line, "!") {
		return Capture{}, ErrLegend
	}
	key, rest, _ := strings.Cut(line, " ")
	timestamp, rest, _ := strings.Cut(rest, " ")
	c := Capture{Key: key}
	var err error
	if c.Timestamp, err = PadTimestamp(timestamp, Low); err != nil || len(timestamp) < 14 || key == "" {
		return Capture{}, fmt.Errorf("%w: %.200q", ErrLine, line)
	}
	if strings.HasPrefix(rest, "{") {
		err = c.parseJSON(rest)
	} else {
		err = c.parseColumns(strings.Fields(rest))
	}
	if err != nil {
		return Capture{}, fmt.Errorf("%w: %w in %.200q", ErrLine, err, line)
	}
	return c, nil
}

func (c *Capture) parseJSON(text string) error {
	var values map[string]any
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return err
	}
	for name, value := range values {
		var s string
		switch v := value.(type) {
		case string:
			s = v
		case float64:
			s = strconv.FormatFloat(v, 'f', -1, 64)
		default:
			continue
		}
		if err := c.set(name, s); err != nil {
			return err
		}
	}
	return nil
}

func (c *Capture) parseColumns(columns []string) error {
	names := []string{"url", "mime", "status", "digest"}
	switch len(columns) {
	case 5:
		names = append(names, "length")
	case 7:
		names = append(names, "redirect", "offset", "filename")
	case 8:
		names = append(names, "redirect", "robotflags", "offset", "filename")
	case 9, 12:
		names = append(names, "redirect", "robotflags", "length", "offset", "filename")
	default:
		return fmt.Errorf("%d columns", len(columns)+2)
	}
	for i, name := range names {
		if err := c.set(name, columns[i]); err != nil {
			return err
		}
	}
	return nil
}

// set gives a field the value that a line has for it.
func (c *Capture) set(name, value string) error {
	if value == "-" {
		return nil
	}
	switch field, _ := FieldName(name); field {
	case "url":
		c.URL = value
	case "mime":
		c.MIME = value
	case "status":
		n, err := strconv.ParseUint(value, 10, 16)
		c.Status = int(n)
		return err
	case "digest":
		c.Digest = value
		if len(value) == 32 && !strings.Contains(value, ":") {
			c.Digest = "sha1:" + value
		}
	case "redirect":
		c.Redirect = value
	case "length":
		n, err := strconv.ParseUint(value, 10, 63)
		c.Length = int64(n)
		return err
	case "offset":
		n, err := strconv.ParseUint(value, 10, 63)
		c.Offset = int64(n)
		return err
	case "filename":
		c.File = value
	}
	return nil
}
