package extract

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"
)

// CharsetSource is how a document's character set was found.
type CharsetSource uint8

// Ways to find a character set, the strongest first.
const (
	CharsetUnknown  CharsetSource = iota // there was no text to decode
	CharsetBOM                           // the document begins with a byte order mark
	CharsetHeader                        // the Content-Type header names it
	CharsetDocument                      // the document names it: meta, <?xml encoding?> or @charset
	CharsetDetected                      // nothing names it: the bytes look like it
)

// maxPrescan is how far into a document its own declaration is looked for.
const maxPrescan = 4096

// charsetAnnotation says what Heritrix says of a document's own declaration where no header overrules it.
func (r Result) charsetAnnotation() string {
	word := ""
	switch {
	case r.Declared == "":
	case r.CharsetFrom == CharsetDocument:
		word = "usingCharset"
	case r.CharsetFrom == CharsetBOM && !sameCharset(r.Declared, r.Charset):
		word = "inconsistentCharset"
	case r.CharsetFrom == CharsetDetected:
		word = "unsatisfiableCharset"
	}
	switch {
	case word == "":
		return ""
	case r.xml:
		return word + "InXML:" + nameOf([]byte(r.Declared))
	}
	return word + "InHTML:" + nameOf([]byte(r.Declared))
}

func sameCharset(declared, used string) bool {
	_, name := charset.Lookup(declared)
	return name == used || used == "" && name == "utf-8"
}

// decoder makes documents of other character sets UTF-8.
type decoder struct {
	*collector
	decoded []byte // a document in UTF-8
}

// utf8 returns the body in UTF-8, decoded from the character set that it, or its header, declares, or else from the one
// it looks like. A body that is UTF-8 is returned as it is. Later references are encoded for that character set.
func (x *decoder) utf8(body []byte, contentType string, k documentKind) []byte {
	enc, name := x.charset(body, contentType, k)
	body = unmarked(body)
	if enc == nil || name == "utf-8" || name == "replacement" {
		return body
	}
	if x.queriesIn(enc, name); x.encoding != nil {
		if name != "iso-2022-jp" && isASCII(body) {
			x.result.Charset = name
			return body
		}
	}
	decoded, ok := x.decode(enc, body)
	if !ok {
		return body
	}
	x.result.Charset = name
	return decoded
}

// queriesIn has queries encoded for the document's character set; those of UTF-16 are UTF-8, by the standard.
func (x *collector) queriesIn(enc encoding.Encoding, name string) {
	if name != "utf-16le" && name != "utf-16be" {
		x.encoding = enc
	}
}

// unmarked is a body without its byte order mark.
func unmarked(body []byte) []byte {
	for _, mark := range [...]string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(body, []byte(mark)) {
			return body[len(mark):]
		}
	}
	return body
}

// charset finds the character set by the order of the HTML standard: byte order mark, header, declaration, guess.
func (x *decoder) charset(body []byte, contentType string, k documentKind) (encoding.Encoding, string) {
	bom, mark := "", 0
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		bom, mark = "utf-8", 3
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		bom, mark = "utf-16le", 2
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		bom, mark = "utf-16be", 2
	}
	if label := headerCharset(contentType); label != "" && bom == "" {
		if enc, name := lookupCharset(label); name != "" {
			x.result.CharsetFrom = CharsetHeader
			return enc, name
		}
	}
	head := body[mark:min(len(body), maxPrescan)]
	if label := declaredCharset(head, k); label != nil {
		x.result.Declared = string(label)
	}
	if bom != "" {
		x.result.CharsetFrom = CharsetBOM
		return lookupCharset(bom)
	}
	if x.result.Declared != "" {
		if enc, name := lookupCharset(x.result.Declared); name != "" {
			x.result.CharsetFrom = CharsetDocument
			if name == "utf-16le" || name == "utf-16be" {
				return nil, "utf-8" // or the declaration could not have been read
			}
			return enc, name
		}
	}
	x.result.CharsetFrom = CharsetDetected
	if validUTF8(body) && bytes.IndexByte(head, 0x1b) < 0 {
		return nil, "utf-8"
	}
	return charset.Lookup(guessCharset(body))
}

// validUTF8 reports whether b is UTF-8, but for a character that its end may have cut.
func validUTF8(b []byte) bool {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				b = b[:len(b)-n]
			}
			break
		}
	}
	return utf8.Valid(b)
}

// lookupCharset is charset.Lookup, with a short way for nearly all there is.
func lookupCharset(label string) (encoding.Encoding, string) {
	if len(label) == 5 && hasPrefixFold([]byte(label), "utf-8") {
		return nil, "utf-8"
	}
	return charset.Lookup(label)
}

// headerCharset is the value of a Content-Type header's charset parameter.
func headerCharset(contentType string) string {
	for i := 0; i+8 < len(contentType); i++ {
		if contentType[i] != ';' {
			continue
		}
		for i+1 < len(contentType) && isSpace(contentType[i+1]) {
			i++
		}
		rest := contentType[i+1:]
		if len(rest) < 9 || !hasPrefixFold([]byte(rest[:8]), "charset=") {
			continue
		}
		rest = rest[8:]
		if rest[0] == '"' || rest[0] == '\'' {
			rest = rest[1:]
		}
		end := 0
		for end < len(rest) && !isSpace(rest[end]) && rest[end] != ';' && rest[end] != '"' && rest[end] != '\'' &&
			rest[end] != ',' {
			end++
		}
		return rest[:end]
	}
	return ""
}

// declaredCharset is the character set that a document's beginning names, as written.
func declaredCharset(head []byte, k documentKind) []byte {
	switch k {
	case kindHTML:
		return metaCharset(head)
	case kindXHTML, kindSVG:
		if label := xmlCharset(head); label != nil {
			return label
		}
		return metaCharset(head)
	case kindXML, kindFeed, kindSitemap, kindDASH:
		return xmlCharset(head)
	case kindCSS:
		if rest, ok := bytes.CutPrefix(head, []byte(`@charset "`)); ok {
			if end := bytes.IndexByte(rest, '"'); end > 0 && end < 40 {
				return rest[:end]
			}
		}
	}
	return nil
}

// metaCharset finds <meta charset=x> and <meta http-equiv=content-type content="text/html; charset=x">.
func metaCharset(head []byte) []byte {
	for {
		i := bytes.IndexByte(head, '<')
		if i < 0 || i+1 >= len(head) {
			return nil
		}
		head = head[i+1:]
		if head[0] == '!' {
			head = skipDeclaration(head)
			continue
		}
		if head[0]|0x20 == 'b' && hasPrefixFold(head, "body") {
			return nil
		}
		if !hasPrefixFold(head, "meta") || len(head) == 4 || !isSpace(head[4]) && head[4] != '/' {
			continue
		}
		head = head[4:]
		end := bytes.IndexByte(head, '>')
		if end < 0 {
			return nil
		}
		if label := labelIn(head[:end]); label != nil {
			return label
		}
	}
}

// labelIn finds charset=x among a meta element's attributes, or in the value of one of them.
func labelIn(b []byte) []byte {
	for {
		i := indexFold(b, "charset")
		if i < 0 {
			return nil
		}
		b = trim(b[i+7:])
		if len(b) == 0 || b[0] != '=' {
			continue
		}
		b = trim(b[1:])
		if len(b) > 0 && (b[0] == '"' || b[0] == '\'') {
			b = trim(b[1:])
		}
		end := 0
		for end < len(b) && (isNameByte(b[end]) || b[end] == ':' || b[end] == '.' || b[end] == '+') {
			end++
		}
		if end > 0 && end < 40 {
			return b[:end]
		}
	}
}

// xmlCharset finds <?xml encoding="x"?>.
func xmlCharset(head []byte) []byte {
	head = trim(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))
	if !bytes.HasPrefix(head, []byte("<?xml")) {
		return nil
	}
	end := bytes.Index(head, []byte("?>"))
	if end < 0 {
		return nil
	}
	i := bytes.Index(head[:end], []byte("encoding"))
	if i < 0 {
		return nil
	}
	b := trim(head[i+8 : end])
	if len(b) == 0 || b[0] != '=' {
		return nil
	}
	b = trim(b[1:])
	if len(b) < 3 || b[0] != '"' && b[0] != '\'' {
		return nil
	}
	if j := bytes.IndexByte(b[1:], b[0]); j > 0 && j < 40 {
		return b[1 : j+1]
	}
	return nil
}

// decode makes UTF-8 of b, in a buffer that the next document uses again.
func (x *decoder) decode(enc encoding.Encoding, b []byte) ([]byte, bool) {
	if n := len(b) + len(b)/2 + 64; cap(x.decoded) < n {
		x.decoded = make([]byte, n)
	}
	x.decoded = x.decoded[:cap(x.decoded)]
	d := enc.NewDecoder()
	written := 0
	for {
		nDst, nSrc, err := d.Transform(x.decoded[written:], b, true)
		written += nDst
		b = b[nSrc:]
		switch err {
		case nil:
			return x.decoded[:written], true
		case transform.ErrShortDst:
			larger := make([]byte, 2*len(x.decoded))
			copy(larger, x.decoded[:written])
			x.decoded = larger
		default:
			return nil, false
		}
	}
}

// encodeQuery writes the non-ASCII characters of a reference's query in the document's character set, as browsers do.
// Characters that the set does not have become character references.
func (x *collector) encodeQuery(ref []byte) []byte {
	q := bytes.IndexByte(ref, '?')
	if q < 0 || isASCII(ref[q:]) {
		return ref
	}
	end := len(ref)
	if i := bytes.IndexByte(ref[q:], '#'); i >= 0 {
		end = q + i
	}
	out := append(make([]byte, 0, 3*len(ref)), ref[:q]...)
	for rest := ref[q:end]; len(rest) > 0; {
		n := 0
		for n < len(rest) && rest[n] < utf8.RuneSelf {
			n++
		}
		out = append(out, rest[:n]...)
		rest = rest[n:]
		for n = 0; n < len(rest) && rest[n] >= utf8.RuneSelf; {
			n++
		}
		out = appendPercent(out, x.encode(rest[:n]))
		rest = rest[n:]
	}
	return append(out, ref[end:]...)
}

// encode writes text in the document's character set.
func (x *collector) encode(text []byte) []byte {
	if x.encoding == nil {
		return text
	}
	out, err := encoding.HTMLEscapeUnsupported(x.encoding.NewEncoder()).Bytes(text)
	if err != nil {
		return text
	}
	return out
}

// appendPercent escapes every byte except those that may be unescaped in a URL's query.
func appendPercent(out, b []byte) []byte {
	const digits = "0123456789ABCDEF"
	for _, c := range b {
		if class[c] == plain && c != '&' && c != ';' && c != '#' {
			out = append(out, c)
		} else {
			out = append(out, '%', digits[c>>4], digits[c&15])
		}
	}
	return out
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// indexFold returns the index of a lower-case word in b, in whatever case it is written there, or -1.
func indexFold(b []byte, lower string) int {
	for i := 0; i+len(lower) <= len(b); i++ {
		if b[i]|0x20 == lower[0] && hasPrefixFold(b[i:], lower) {
			return i
		}
	}
	return -1
}
