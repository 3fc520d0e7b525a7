package index

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"holdfast/cdx"
)

// encoder makes the entries of captures. An entry is valid until it makes the next.
type encoder struct {
	mimes      map[string]byte // the place of each media type in the list of mimes
	key, value []byte          // the capture's entry
	digest     []byte          // the key of its digest's entry, whose value is the URL key; empty if it has none
}

func newEncoder() *encoder {
	e := &encoder{mimes: map[string]byte{}}
	for i, mime := range mimes() {
		e.mimes[mime] = byte(i)
	}
	return e
}

// encode makes the entries of a capture in the file with that number; false if the index cannot hold the capture.
func (e *encoder) encode(c *cdx.Capture, id uint32) bool {
	timestamp, err := strconv.ParseUint(c.Timestamp, 10, 64)
	if err != nil || len(c.Timestamp) != 14 || c.Status < 0 || c.Status > math.MaxUint16 || c.Key == "" ||
		len(c.Key) > cdx.MaxURL ||
		strings.IndexByte(c.Key, 0) >= 0 || c.Offset < 0 || c.Offset >= 1<<48 {
		return false
	}
	sum, isSHA1 := sha1Of(c.Digest)
	if isSHA1 {
		e.value = e.appendCapture(e.value[:0], c, digestSHA1, sum[:])
	} else {
		kind, packed := packDigest(c.Digest)
		e.value = e.appendCapture(e.value[:0], c, kind, packed)
	}
	if len(e.value) > maxValue {
		return false
	}
	e.key = appendCaptureKey(e.key[:0], c.Key, timestamp, id, c.Offset)
	e.digest = e.digest[:0]
	switch {
	case c.Digest == "" || c.Revisit():
	case isSHA1:
		e.digest = appendDigestKey(e.digest, sum[:hashLen], timestamp, id, c.Offset)
	default:
		e.digest = appendDigestKey(e.digest, digestHash(c.Digest), timestamp, id, c.Offset)
	}
	return true
}

// appendCapture appends the facts that the key does not contain.
func (e *encoder) appendCapture(b []byte, c *cdx.Capture, digestKind byte, digest []byte) []byte {
	form, slash := urlForm(c)
	flags := byte(form) | digestKind<<digestShift
	if slash {
		flags |= withSlash
	}
	if c.Redirect != "" {
		flags |= withRedirect
	}
	if c.Refers != (cdx.Refers{}) {
		flags |= withRefers
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, uint64(c.Status))
	b = binary.AppendUvarint(b, uint64(max(c.Length, 0)))
	if code, ok := e.mimes[c.MIME]; ok {
		b = append(b, code)
	} else {
		b = appendString(append(b, 0xff), c.MIME)
	}
	if digestKind == digestText {
		b = binary.AppendUvarint(b, uint64(len(digest)))
	}
	b = append(b, digest...)
	if form == 0 {
		b = appendString(b, c.URL)
	}
	if c.Redirect != "" {
		b = appendString(b, c.Redirect)
	}
	if flags&withRefers != 0 {
		b = appendString(b, c.Refers.URL)
		b = appendString(b, c.Refers.Timestamp)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// urlForm finds how the URL follows from its key.
func urlForm(c *cdx.Capture) (form int, slash bool) {
	for i, start := range urlForms() {
		rest, ok := strings.CutPrefix(c.URL, start)
		if !ok {
			continue
		}
		if rest, ok = cutUnsurt(rest, c.Key); ok && (rest == "" || rest == "/") {
			return i + 1, rest == "/"
		}
	}
	return 0, false
}

// cutUnsurt is strings.CutPrefix(s, unsurt(key)) that allocates nothing.
func cutUnsurt(s, key string) (rest string, ok bool) {
	host, path, ok := strings.Cut(key, ")")
	if !ok {
		return strings.CutPrefix(s, key)
	}
	host, port, hasPort := strings.Cut(host, ":")
	for {
		comma := strings.LastIndexByte(host, ',')
		if s, ok = strings.CutPrefix(s, host[comma+1:]); !ok {
			return "", false
		}
		if comma < 0 {
			break
		}
		if s, ok = strings.CutPrefix(s, "."); !ok {
			return "", false
		}
		host = host[:comma]
	}
	if hasPort {
		if s, ok = strings.CutPrefix(s, ":"); !ok {
			return "", false
		}
		if s, ok = strings.CutPrefix(s, port); !ok {
			return "", false
		}
	}
	return strings.CutPrefix(s, path)
}

// packDigest returns the stored form of a digest that is not a SHA-1.
func packDigest(digest string) (kind byte, packed []byte) {
	if digest == "" {
		return digestNone, nil
	}
	if text, ok := strings.CutPrefix(digest, "sha256:"); ok && len(text) == 64 {
		if sum, err := hex.DecodeString(text); err == nil && hex.EncodeToString(sum) == text {
			return digestSHA256, sum
		}
	}
	return digestText, []byte(digest)
}

// digestHash is the first bytes of a SHA-1, or of the SHA-256 of any other digest's text.
func digestHash(digest string) []byte {
	if sum, ok := sha1Of(digest); ok {
		return sum[:hashLen]
	}
	sum := sha256.Sum256([]byte(digest))
	return sum[:hashLen]
}

// sha1Of returns the bytes of a digest written sha1:BASE32.
func sha1Of(digest string) (sum [20]byte, ok bool) {
	text, ok := strings.CutPrefix(digest, "sha1:")
	if !ok || len(text) != 32 {
		return sum, false
	}
	for i := range 4 { // eight letters are five bytes
		var bits uint64
		for j := range 8 {
			letter := text[8*i+j]
			switch {
			case 'A' <= letter && letter <= 'Z':
				bits = bits<<5 | uint64(letter-'A')
			case '2' <= letter && letter <= '7':
				bits = bits<<5 | uint64(letter-'2'+26)
			default:
				return sum, false
			}
		}
		sum[5*i] = byte(bits >> 32)
		binary.BigEndian.PutUint32(sum[5*i+1:], uint32(bits))
	}
	return sum, true
}
