package fetch

import (
	"bytes"
	"strconv"
	"strings"
)

// maxFields is how many header fields are looked at, whatever they are. As many again are looked at of those that say
// where the body ends and what it is: without them the crawler would wait for what never comes.
const maxFields = 1000

// isVital reports whether a field says where the body ends, or what the response is.
func isVital(name []byte) bool {
	switch len(name) {
	case len("Location"), len("Connection"), len("Content-Type"), len("Content-Length"), len("Content-Encoding"),
		len("Transfer-Encoding"):
		switch strings.ToLower(string(name)) {
		case "location", "connection", "content-type", "content-length", "content-encoding", "transfer-encoding":
			return true
		}
	}
	return false
}

// Head is the status line and fields of a response.
type Head struct {
	Status  int
	minor11 bool // HTTP/1.1 or later
	fields  []field
}

type field struct{ name, value []byte }

// Get returns the value of the first field of that name, "" if there is none.
func (h Head) Get(name string) string {
	for _, f := range h.fields {
		if len(f.name) == len(name) && strings.EqualFold(string(f.name), name) {
			return string(f.value)
		}
	}
	return ""
}

// All returns the values of all fields of that name.
func (h Head) All(name string) (values []string) {
	h.each(name, func(v string) { values = append(values, v) })
	return values
}

// each calls do with the value of each field of that name.
func (h Head) each(name string, do func(value string)) {
	for _, f := range h.fields {
		if len(f.name) == len(name) && strings.EqualFold(string(f.name), name) {
			do(string(f.value))
		}
	}
}

// headEnd is the length of the head in b up to and with its blank line, 0 if that has not come yet.
// The first from bytes are known to hold no end.
func headEnd(b []byte, from int) int {
	i := max(0, from-3)
	for {
		j := bytes.IndexByte(b[i:], '\n')
		if j < 0 {
			return 0
		}
		i += j + 1
		if i < len(b) && b[i] == '\n' {
			return i + 1
		}
		if i+1 < len(b) && b[i] == '\r' && b[i+1] == '\n' {
			return i + 2
		}
	}
}

// ParseHead reads a status line and fields, up to and with the blank line, as they were recorded.
func ParseHead(raw string) (Head, bool) { return parseHead([]byte(raw)) }

// parseHead reads a header that headEnd found. It copies what it keeps.
func parseHead(raw []byte) (Head, bool) {
	b := bytes.Clone(raw)
	line, b := cutLine(b)
	h, ok := parseStatus(line)
	if !ok {
		return Head{}, false
	}
	h.fields = make([]field, 0, 16)
	kept := true // the last field
	for len(b) > 0 && len(h.fields) < 2*maxFields {
		line, b = cutLine(b)
		if len(line) == 0 {
			break
		}
		if (line[0] == ' ' || line[0] == '\t') && len(h.fields) > 0 {
			if !kept {
				continue
			}
			f := &h.fields[len(h.fields)-1]
			f.value = append(append(f.value, ' '), bytes.TrimSpace(line)...) // its first lines are copied already
			continue
		}
		name, value, ok := bytes.Cut(line, []byte{':'})
		if !ok {
			continue
		}
		name = bytes.TrimSpace(name)
		if kept = len(h.fields) < maxFields || isVital(name); kept {
			h.fields = append(h.fields, field{name, bytes.TrimSpace(value)})
		}
	}
	return h, true
}

// maxEmptyLines bounds the empty lines before a status line, in bytes.
const maxEmptyLines = 8

// emptyLines is the length of the empty lines that b begins with.
func emptyLines(b []byte) int {
	n := 0
	for n < len(b) && (b[n] == '\n' || b[n] == '\r' && n+1 < len(b) && b[n+1] == '\n') {
		n++
	}
	return n
}

// parseStatus reads "HTTP/1.1 200 OK" as browsers do: in small letters too, with more spaces or a tab, without a
// reason; and "ICY 200 OK", as servers of sound streams say.
func parseStatus(line []byte) (Head, bool) {
	version, rest, ok := bytes.Cut(bytes.ReplaceAll(line, []byte{'\t'}, []byte{' '}), []byte{' '})
	rest = bytes.TrimLeft(rest, " ")
	if !ok || len(rest) < 3 || len(rest) > 3 && rest[3] != ' ' || !digits(string(rest[:3])) {
		return Head{}, false
	}
	status, err := strconv.Atoi(string(rest[:3]))
	if err != nil || status < 100 {
		return Head{}, false
	}
	if strings.EqualFold(string(version), "ICY") {
		return Head{Status: status}, true
	}
	const http = "HTTP/"
	if len(version) < len(http) || !strings.EqualFold(string(version[:len(http)]), http) {
		return Head{}, false
	}
	major, minor, _ := strings.Cut(string(version[len(http):]), ".")
	if len(major) != 1 || len(minor) > 1 || !digits(major+minor) {
		return Head{}, false
	}
	return Head{Status: status, minor11: major > "1" || major == "1" && minor >= "1"}, true
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// cutLine takes the first line off b; line ends are removed.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return bytes.TrimSuffix(b, []byte{'\r'}), nil
	}
	return bytes.TrimSuffix(b[:i], []byte{'\r'}), b[i+1:]
}
