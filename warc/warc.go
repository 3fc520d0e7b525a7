// Package warc reads, writes and validates WARC files (1.0 and 1.1; one gzip member
// or zstd frame per record, or uncompressed) and reads ARC files. Everything streams:
// no block is ever whole in memory, and header lines and counts are bounded, so that
// hostile files cost no more than their length.
package warc

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/internal/coding"
)

// The record types of WARC 1.1.
const (
	TypeWarcinfo     = "warcinfo"
	TypeResponse     = "response"
	TypeRequest      = "request"
	TypeResource     = "resource"
	TypeMetadata     = "metadata"
	TypeRevisit      = "revisit"
	TypeConversion   = "conversion"
	TypeContinuation = "continuation"
)

// Revisit profiles to write into WARC/1.1 files.
const (
	ProfileIdenticalDigest = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
	ProfileNotModified     = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
)

// Limits on what a reader takes in one piece.
const (
	MaxLine     = 64 << 10  // bytes in one line of a record header
	MaxHeader   = 512 << 10 // bytes in one record header or HTTP header
	MaxFields   = 1000      // fields in one record header
	openSuffix  = ".open"
	httpMessage = "application/http"
	fieldsType  = "application/warc-fields"
)

// What can be wrong with a file or a draft; an *Error says where.
var (
	// ErrNotArchive reports that a file is neither WARC nor ARC.
	ErrNotArchive = errors.New("neither WARC nor ARC")
	// ErrHeader reports a record header that cannot be used.
	ErrHeader = errors.New("malformed record header")
	// ErrLimit reports a header or one of its lines too long, or a record header with too many lines.
	ErrLimit = errors.New("header exceeds the limit")
	// ErrTruncated reports that the file ends within a record.
	ErrTruncated = errors.New("record is cut short")
	// ErrTrailer reports bytes after a block that are not the end of the record.
	ErrTrailer = errors.New("block is not followed by the end of the record")
	// ErrCompressed reports compressed data that cannot be decompressed.
	ErrCompressed = errors.New("compressed data is damaged")
	// ErrHTTP reports a block that does not begin as an HTTP message does.
	ErrHTTP = errors.New("malformed HTTP header")
	// ErrEncoding reports a content encoding that cannot be decoded here.
	ErrEncoding = coding.ErrUnknown
	// ErrDraft reports a draft that would make an invalid record.
	ErrDraft = errors.New("not a valid record")
	// ErrNothing reports that a torn file holds not one whole record.
	ErrNothing = errors.New("no complete record")
)

// Error tells where in which file reading went wrong.
type Error struct {
	File   string
	Offset int64 // in the file on disk
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("%s at offset %d: %v", e.File, e.Offset, e.Err) }

// Unwrap returns what went wrong.
func (e *Error) Unwrap() error { return e.Err }

// Compression is how the records of a file are packed.
type Compression int

// The ways to pack records. The zero value is one gzip member per record.
const (
	Gzip Compression = iota
	None
	Zstd
)

// Suffix returns the ending of file names: ".warc.gz", ".warc" or ".warc.zst".
func (c Compression) Suffix() string {
	switch c {
	case None:
		return ".warc"
	case Zstd:
		return ".warc.zst"
	}
	return ".warc.gz"
}

func (c Compression) String() string {
	switch c {
	case None:
		return "none"
	case Zstd:
		return "zstd"
	}
	return "gzip"
}

// ParseCompression reads what Compression.String writes.
func ParseCompression(s string) (Compression, error) {
	for _, c := range []Compression{Gzip, None, Zstd} {
		if c.String() == s {
			return c, nil
		}
	}
	return Gzip, fmt.Errorf("compression %q: use gzip, zstd or none", s)
}

// Position is where a record lies: the file's name, and offset and length there, as stored.
type Position struct {
	File           string
	Offset, Length int64
}

// Field is one line of a header.
type Field struct{ Name, Value string }

// Header is a header's fields in order. Names are compared without regard to case.
type Header []Field

// Get returns the first value of the field name, or "".
func (h Header) Get(name string) string {
	for i := range h {
		if len(h[i].Name) == len(name) && strings.EqualFold(h[i].Name, name) {
			return h[i].Value
		}
	}
	return ""
}

// Has reports whether there is a field name.
func (h Header) Has(name string) bool {
	for i := range h {
		if strings.EqualFold(h[i].Name, name) {
			return true
		}
	}
	return false
}

// Values returns all values of the field name in order.
func (h Header) Values(name string) []string {
	var all []string
	for i := range h {
		if strings.EqualFold(h[i].Name, name) {
			all = append(all, h[i].Value)
		}
	}
	return all
}

// Add appends a field.
func (h *Header) Add(name, value string) { *h = append(*h, Field{name, value}) }

// Set gives the first field name the value and drops any others, or appends it.
func (h *Header) Set(name, value string) {
	for i := range *h {
		if strings.EqualFold((*h)[i].Name, name) {
			rest := (*h)[i+1:]
			rest.Del(name)
			*h = append((*h)[:i+1], rest...)
			(*h)[i].Value = value
			return
		}
	}
	h.Add(name, value)
}

// Del drops all fields name.
func (h *Header) Del(name string) {
	kept := (*h)[:0]
	for _, f := range *h {
		if !strings.EqualFold(f.Name, name) {
			kept = append(kept, f)
		}
	}
	*h = kept
}

// NewID returns a record ID never used before: "<urn:uuid:…>".
func NewID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("<urn:uuid:%x-%x-%x-%x-%x>", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// FormatDate writes a time as WARC-Date and WARC-Refers-To-Date have it in WARC/1.1
// files of this package: UTC, with milliseconds.
func FormatDate(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// formatDateFor writes a time as the version has it; WARC/1.0 knows no fractions.
func formatDateFor(version string, t time.Time) string {
	if version == "1.0" {
		return t.UTC().Format("2006-01-02T15:04:05Z")
	}
	return FormatDate(t)
}

// ParseDate reads a WARC-Date of any precision that WARC 1.0 and 1.1 allow, and the
// 14 to 17 digits of ARC.
func ParseDate(s string) (time.Time, error) {
	s = strings.ToUpper(s)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z", "2006-01-02", "2006-01", "2006"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	if len(s) >= 14 && strings.Trim(s, "0123456789") == "" {
		if t, err := time.Parse("20060102150405", s[:14]); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("date %q: %w", s, ErrHeader)
}
