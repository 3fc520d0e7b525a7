package extract

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/zlib"
)

// Limits on what is unpacked from one document.
const (
	maxStream   = 8 << 20  // of one stream or part
	maxUnpacked = 64 << 20 // of all of them
)

// maxPDFString is the longest string that is read, in bytes as written.
const maxPDFString = 3 * maxURL

// maxEndless is how many strings without an end a document may have.
const maxEndless = 500

// pdfReader reads a PDF document.
type pdfReader struct {
	x         *documents
	encrypted bool
	inflate   io.ReadCloser // kept from stream to stream
	left      int           // bytes that may still be unpacked
	endless   int           // strings without an end
}

// pdf finds the links of a PDF document: its URI actions, remote files named by URL, and the strings of its scripts.
// It reads the objects one after another, and the streams that contain objects; not the contents of pages.
func (x *documents) pdf(b []byte) {
	r := pdfReader{x: x, encrypted: bytes.Contains(b, []byte("/Encrypt")), left: maxUnpacked}
	for len(b) > 0 {
		objects, data, ok := cutStream(b)
		r.objects(objects)
		if !ok {
			return
		}
		if dict := dictionary(objects); bytes.Contains(dict, []byte("/ObjStm")) &&
			bytes.Contains(dict, []byte("/FlateDecode")) {
			r.objects(unpredict(r.unpack(data), dict))
		}
		end := bytes.Index(data, []byte("endstream"))
		if end < 0 {
			return
		}
		b = data[end+len("endstream"):]
	}
}

// cutStream cuts b where the data of the next stream begins; false if there is none.
func cutStream(b []byte) (objects, data []byte, ok bool) {
	for from := 0; ; {
		i := bytes.Index(b[from:], []byte("stream"))
		if i < 0 {
			return b, nil, false
		}
		i += from
		from = i + len("stream")
		if from < len(b) && (b[from] == '\n' || b[from] == '\r') && bytes.HasSuffix(trimRight(b[max(0, i-16):i]),
			[]byte(">>")) {
			data = b[from+1:]
			if b[from] == '\r' && len(data) > 0 && data[0] == '\n' {
				data = data[1:]
			}
			return b[:i], data, true
		}
	}
}

// dictionary is the dictionary of the stream whose data follows objects.
func dictionary(objects []byte) []byte {
	tail := objects[max(0, len(objects)-2048):]
	if i := bytes.LastIndex(tail, []byte("obj")); i >= 0 {
		return tail[i:]
	}
	return tail
}

// unpack inflates the beginning of a stream's data, as much of it as the limits allow.
func (r *pdfReader) unpack(data []byte) []byte {
	from := bytes.NewReader(data)
	var err error
	if r.inflate == nil {
		r.inflate, err = zlib.NewReader(from)
	} else {
		err = r.inflate.(zlib.Resetter).Reset(from, nil)
	}
	if err != nil {
		return nil
	}
	out := r.x.unpacker.unpackFrom(r.inflate, min(maxStream, r.left))
	r.left -= len(out)
	return out
}

// unpacker has the buffer that pieces are unpacked into.
type unpacker struct{ stream []byte }

// unpackFrom reads at most limit bytes, or up to an error. The bytes are valid until the next call.
func (x *unpacker) unpackFrom(from io.Reader, limit int) []byte {
	if cap(x.stream) == 0 {
		x.stream = make([]byte, 64<<10)
	}
	n := 0
	for {
		room := x.stream[:cap(x.stream)]
		if len(room) > limit {
			room = room[:limit]
		}
		read, err := io.ReadFull(from, room[n:])
		n += read
		if err != nil || n >= limit {
			return room[:n]
		}
		larger := make([]byte, 2*len(room))
		copy(larger, room)
		x.stream = larger
	}
}

// objects looks at objects, which may be anything.
func (r *pdfReader) objects(b []byte) {
	eachKey(b, "/URI", func(rest []byte) int {
		text, n := r.text(rest)
		if text != nil {
			r.add(text)
		} else if base, found := bytes.CutPrefix(rest, []byte("<<")); found {
			if base, found = bytes.CutPrefix(trim(base[:min(len(base), maxPDFString)]), []byte("/Base")); found {
				if text, _ = r.text(trim(base)); isHTTP(text) {
					r.x.rebase(text)
				}
			}
		}
		return n
	})
	eachKey(b, "/FS", func(rest []byte) int {
		if !bytes.HasPrefix(rest, []byte("/URL")) {
			return 0
		}
		rest = rest[:min(len(rest), maxURL)]
		eachKey(rest[:max(bytes.Index(rest, []byte(">>")), 0)], "/F", func(rest []byte) int {
			text, n := r.text(rest)
			if text != nil {
				r.add(text)
			}
			return n
		})
		return len("/URL")
	})
	eachKey(b, "/JS", func(rest []byte) int {
		text, n := r.text(rest)
		if text != nil && !r.encrypted {
			r.x.markup.script(text)
		}
		return n
	})
}

// text reads the string at the beginning of b, and returns its length; nil if there is none. A document with many
// unterminated strings is not read further.
func (r *pdfReader) text(b []byte) ([]byte, int) {
	if r.endless > maxEndless || len(b) == 0 || b[0] != '(' && b[0] != '<' {
		return nil, 0
	}
	text, n := pdfString(b)
	if text == nil {
		r.endless++
	}
	return text, n
}

// add keeps a URI. In an encrypted document only what can be read is one.
func (r *pdfReader) add(text []byte) {
	if isHTTP(text) || !r.encrypted && len(text) > 1 && bytes.IndexByte(text, ' ') < 0 {
		r.x.add(text, Navlink, navigation)
	}
}

// eachKey calls f with what follows each occurrence of a name and white space, and continues after as much as f has
// read.
func eachKey(b []byte, name string, f func(rest []byte) int) {
	for {
		i := bytes.Index(b, []byte(name))
		if i < 0 {
			return
		}
		b = b[i+len(name):]
		if len(b) == 0 || isNameByte(b[0]) {
			continue
		}
		rest := b
		for len(rest) > 0 && rest[0] <= ' ' && len(b)-len(rest) < 64 {
			rest = rest[1:]
		}
		b = rest[f(rest):]
	}
}

// pdfString reads the string that b begins with, in parentheses or in hex, and its length.
func pdfString(b []byte) ([]byte, int) {
	b = b[:min(len(b), maxPDFString)]
	var out []byte
	n := 0
	switch {
	case len(b) < 2:
		return nil, 0
	case b[0] == '(':
		out, n = literalString(b)
	case b[0] == '<' && b[1] != '<':
		out, n = hexString(b)
	}
	if bytes.HasPrefix(out, []byte("\xfe\xff")) { // UTF-16; a URI's is ASCII
		out = bytes.ReplaceAll(out[2:], []byte{0}, nil)
	}
	return out, n
}

// literalString reads from a parenthesis up to the one that closes it; nil if none does.
func literalString(b []byte) ([]byte, int) {
	out := make([]byte, 0, 128)
	depth := 1
	for i := 1; i < len(b); i++ {
		switch c := b[i]; c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return out, i + 1
			}
		case '\\':
			if i++; i == len(b) {
				return nil, 0
			}
			if b[i] == '\n' || b[i] == '\r' {
				if b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n' {
					i++
				}
				continue
			}
			e, n := pdfEscape(b[i:])
			i += n - 1
			out = append(out, e)
			continue
		}
		out = append(out, b[i])
	}
	return nil, 0
}

// pdfEscape returns the byte that an escape stands for, and the length of what follows its backslash.
func pdfEscape(b []byte) (byte, int) {
	switch b[0] {
	case 'n', 'r', 't', 'b', 'f':
		return ' ', 1
	}
	code, n := 0, 0
	for n < 3 && n < len(b) && b[n] >= '0' && b[n] <= '7' {
		code, n = code<<3|int(b[n]-'0'), n+1
	}
	if n == 0 {
		return b[0], 1
	}
	return byte(code), n
}

// hexString reads from '<' up to '>'; nil if there is none.
func hexString(b []byte) ([]byte, int) {
	out := make([]byte, 0, 128)
	half, high := false, 0
	for i := 1; i < len(b); i++ {
		d := hexDigit(b[i])
		switch {
		case b[i] == '>':
			if half {
				out = append(out, byte(high<<4))
			}
			return out, i + 1
		case d < 0:
			if b[i] > ' ' {
				return nil, 0
			}
		case half:
			out, half = append(out, byte(high<<4|d)), false
		default:
			high, half = d, true
		}
	}
	return nil, 0
}

// unpredict undoes the predictors of PNG, in place, where the dictionary names one.
func unpredict(b, dict []byte) []byte {
	if dictNumber(dict, "/Predictor", 1) < 10 {
		return b
	}
	row := dictNumber(dict, "/Columns", 1)
	if row < 1 || row > maxStream {
		return nil
	}
	out := b[:0]
	var above []byte
	for len(b) > 1 {
		kind := b[0]
		line := b[1:min(len(b), row+1)]
		b = b[len(line)+1:]
		for i := range line {
			var left, up, corner byte
			if i > 0 {
				left = line[i-1]
			}
			if i < len(above) {
				up = above[i]
				if i > 0 {
					corner = above[i-1]
				}
			}
			switch kind {
			case 1:
				line[i] += left
			case 2:
				line[i] += up
			case 3:
				line[i] += byte((int(left) + int(up)) / 2)
			case 4:
				line[i] += paeth(left, up, corner)
			}
		}
		start := len(out)
		out = append(out, line...)
		above = out[start:]
	}
	return out
}

// paeth is PNG's predictor of that name.
func paeth(left, up, corner byte) byte {
	p := int(left) + int(up) - int(corner)
	dl, du, dc := max(p-int(left), int(left)-p), max(p-int(up), int(up)-p), max(p-int(corner), int(corner)-p)
	switch {
	case dl <= du && dl <= dc:
		return left
	case du <= dc:
		return up
	}
	return corner
}

// dictNumber is the number that follows a name in a dictionary.
func dictNumber(dict []byte, name string, otherwise int) int {
	i := bytes.Index(dict, []byte(name))
	if i < 0 {
		return otherwise
	}
	rest := trim(dict[i+len(name):])
	n := 0
	for n < len(rest) && isDigit(rest[n]) {
		n++
	}
	return int(number(rest[:n], int64(otherwise)))
}
