package index

import (
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"

	"holdfast/cdx"
)

// errDamagedEntry reports an entry that was not written by this package.
var errDamagedEntry = errors.New("damaged index entry")

// The first byte of every key is the kind of the entry. See doc/format/index.md.
const (
	prefixCapture byte = 'c'
	prefixDigest  byte = 'd'
	prefixFile    byte = 'f'
	prefixNumber  byte = 'i'
	prefixCounter byte = 'n'
	prefixDead    byte = 'x'
)

const (
	timeLen   = 6
	numberLen = 4
	offsetLen = 6
	placeLen  = numberLen + offsetLen
	tailLen   = timeLen + placeLen // of capture and digest keys alike
	hashLen   = 10
)

func fileKey(name string) []byte { return append([]byte{prefixFile}, name...) }

func appendFile(b []byte, id uint32, f File) []byte {
	b = binary.BigEndian.AppendUint32(b, id)
	b = binary.AppendUvarint(b, uint64(f.Captures))
	b = append(b, rulesMark, f.rules)
	return append(b, f.Damage...)
}

// rulesMark comes before the number of the rules by which a file was indexed. Entries without it were made before
// there were such numbers.
const rulesMark = 0x01

func (f *File) decode(v []byte) (id uint32, err error) {
	if len(v) < 5 {
		return 0, errDamagedEntry
	}
	n, size := binary.Uvarint(v[4:])
	if size <= 0 {
		return 0, errDamagedEntry
	}
	rest := v[4+size:]
	if len(rest) >= 2 && rest[0] == rulesMark {
		f.rules, rest = rest[1], rest[2:]
	}
	f.Captures, f.Damage = int64(n), string(rest)
	return binary.BigEndian.Uint32(v), nil
}

// appendTail appends what capture and digest keys end with: time, file number, offset.
func appendTail(b []byte, timestamp uint64, id uint32, offset int64) []byte {
	b = appendUint48(b, timestamp)
	b = binary.BigEndian.AppendUint32(b, id)
	return appendUint48(b, uint64(offset))
}

func appendUint48(b []byte, n uint64) []byte {
	return append(b, byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func uint48(b []byte) uint64 {
	return uint64(b[0])<<40 | uint64(b[1])<<32 | uint64(b[2])<<24 | uint64(b[3])<<16 | uint64(b[4])<<8 | uint64(b[5])
}

// tailOf takes a capture or digest key's tail apart.
func tailOf(key []byte) (timestamp uint64, id uint32, offset int64) {
	tail := key[len(key)-tailLen:]
	return uint48(tail), binary.BigEndian.Uint32(tail[timeLen:]), int64(uint48(tail[timeLen+numberLen:]))
}

// captureKey is 'c' key 0 tail.
func captureKey(key string, timestamp uint64, id uint32, offset int64) []byte {
	return appendCaptureKey(make([]byte, 0, len(key)+2+tailLen), key, timestamp, id, offset)
}

func appendCaptureKey(b []byte, key string, timestamp uint64, id uint32, offset int64) []byte {
	b = append(b, prefixCapture)
	b = append(b, key...)
	b = append(b, 0)
	return appendTail(b, timestamp, id, offset)
}

// urlKeyOf returns the URL key in a capture key; false if it is not a capture key.
func urlKeyOf(key []byte) (string, bool) {
	end := len(key) - tailLen - 1
	if end < 2 || key[0] != prefixCapture || key[end] != 0 {
		return "", false
	}
	return string(key[1:end]), true
}

// appendDigestKey appends 'd' hash tail; the value is the URL key.
func appendDigestKey(b, hash []byte, timestamp uint64, id uint32, offset int64) []byte {
	b = append(b, prefixDigest)
	return appendTail(append(b, hash...), timestamp, id, offset)
}

const maxValue = 256 << 10

// Bits of a capture value's first byte.
const (
	formMask     = 7 // how the URL is written: 0 in full, else an index of urlForms plus one
	withSlash    = 8 // the URL ends in a slash that its key lacks
	withRedirect = 16
	withRefers   = 32
	digestShift  = 6
	digestNone   = 0
	digestSHA1   = 1
	digestSHA256 = 2
	digestText   = 3
)

func urlForms() [4]string {
	return [4]string{"http://", "https://", "http://www.", "https://www."}
}

// mimes are the media types that take one byte. The list may only grow at its end.
func mimes() []string {
	return []string{"", "text/html", "image/jpeg", "image/png", "image/gif", "text/css", "application/javascript",
		"text/javascript", "application/json", "image/svg+xml", "image/webp", "text/plain", "text/xml",
		"application/xml", "application/pdf", "font/woff2", "font/woff", "application/font-woff", "image/x-icon",
		"image/vnd.microsoft.icon", "text/dns", "warc/revisit", "application/octet-stream", "application/x-javascript",
		"application/rss+xml", "application/atom+xml", "video/mp4", "audio/mpeg", "application/xhtml+xml", "unk"}
}

// unsurt turns com,example)/path into example.com/path.
func unsurt(key string) string {
	host, path, ok := strings.Cut(key, ")")
	if !ok {
		return key
	}
	host, port, hasPort := strings.Cut(host, ":")
	var b strings.Builder
	b.Grow(len(key))
	for {
		comma := strings.LastIndexByte(host, ',')
		b.WriteString(host[comma+1:])
		if comma < 0 {
			break
		}
		b.WriteByte('.')
		host = host[:comma]
	}
	if hasPort {
		b.WriteString(":" + port)
	}
	b.WriteString(path)
	return b.String()
}

// decodeCapture makes the capture again from its entry; the file's name is left to the caller.
func decodeCapture(key, value []byte) (cdx.Capture, error) {
	urlKey, ok := urlKeyOf(key)
	if !ok || len(value) == 0 {
		return cdx.Capture{}, errDamagedEntry
	}
	timestamp, _, offset := tailOf(key)
	c := cdx.Capture{Key: urlKey, Timestamp: fmt.Sprintf("%014d", timestamp), Offset: offset}
	d := decoder{rest: value[1:]}
	flags := value[0]
	status, length := d.number(), d.number()
	if status > math.MaxUint16 || length > math.MaxInt64 {
		return cdx.Capture{}, errDamagedEntry
	}
	c.Status, c.Length = int(status), int64(length)
	if code := int(d.take(1)[0]); code == 0xff {
		c.MIME = d.text()
	} else if known := mimes(); code < len(known) {
		c.MIME = known[code]
	}
	switch flags >> digestShift {
	case digestSHA1:
		c.Digest = "sha1:" + base32.StdEncoding.EncodeToString(d.take(20))
	case digestSHA256:
		c.Digest = "sha256:" + hex.EncodeToString(d.take(32))
	case digestText:
		c.Digest = d.text()
	}
	if form := int(flags & formMask); form == 0 {
		c.URL = d.text()
	} else if forms := urlForms(); form <= len(forms) {
		c.URL = forms[form-1] + unsurt(urlKey)
		if flags&withSlash != 0 {
			c.URL += "/"
		}
	}
	if flags&withRedirect != 0 {
		c.Redirect = d.text()
	}
	if flags&withRefers != 0 {
		c.Refers = cdx.Refers{URL: d.text(), Timestamp: d.text()}
	}
	if d.damaged {
		return cdx.Capture{}, errDamagedEntry
	}
	return c, nil
}

// decoder reads a value; after a read beyond its end it is damaged and gives zeros.
type decoder struct {
	rest    []byte
	damaged bool
}

func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.rest) {
		d.damaged, d.rest = true, nil
		return make([]byte, min(max(n, 0), 64))
	}
	p := d.rest[:n]
	d.rest = d.rest[n:]
	return p
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.damaged, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) text() string {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.damaged, d.rest = true, nil
		return ""
	}
	return string(d.take(int(n)))
}
