package cdx

import (
	"cmp"
	"strconv"
	"strings"
)

// RevisitMIME is the media type by which the field's indexes mark a revisit.
const RevisitMIME = "warc/revisit"

// Capture is one archived response at one time, as the index knows it.
type Capture struct {
	Key       string // the URL's place in the index, see Key
	Timestamp string // 14 digits, UTC
	URL       string
	MIME      string // without parameters, lower-case; RevisitMIME for a revisit
	Status    int    // HTTP status, 0 if there is none or for a revisit
	Digest    string // of the payload, with its algorithm: sha1:BASE32
	Redirect  string // where the answer pointed to, absolute, if it was a redirect
	Length    int64  // of the record as stored (compressed), 0 if unknown
	Offset    int64  // of the record in its file
	File      string // the WARC file's name
	Refers    Refers // of a revisit
}

// Refers names the capture that a revisit repeats, as the revisit's record gives it. Either field may be empty; then
// only the digest identifies the capture.
type Refers struct {
	URL       string
	Timestamp string // 14 digits
}

// Revisit reports whether the content is archived elsewhere, by reference.
func (c *Capture) Revisit() bool { return c.MIME == RevisitMIME }

// Compare orders captures as an index does: by key, then time, then place.
func (c *Capture) Compare(o *Capture) int {
	return cmp.Or(
		strings.Compare(c.Key, o.Key),
		strings.Compare(c.Timestamp, o.Timestamp),
		strings.Compare(c.File, o.File),
		cmp.Compare(c.Offset, o.Offset),
	)
}

// FieldNames lists the fields that a CDX server can answer, in its usual order.
func FieldNames() []string {
	return []string{"urlkey", "timestamp", "url", "mime", "status", "digest",
		"redirect", "robotflags", "length", "offset", "filename"}
}

// FieldName returns a field's name for one of its aliases, and whether there is such a field.
func FieldName(alias string) (string, bool) {
	switch alias {
	case "urlkey", "key", "k":
		return "urlkey", true
	case "timestamp", "t":
		return "timestamp", true
	case "url", "original", "u":
		return "url", true
	case "mime", "mimetype", "m":
		return "mime", true
	case "status", "statuscode":
		return "status", true
	case "digest", "d":
		return "digest", true
	case "redirect", "redirecturl":
		return "redirect", true
	case "robotflags":
		return "robotflags", true
	case "length", "s", "l":
		return "length", true
	case "offset", "o":
		return "offset", true
	case "filename", "f":
		return "filename", true
	}
	return "", false
}

// Field returns a field's value by its name, - if the capture has none.
func (c *Capture) Field(name string) string {
	value := ""
	switch name {
	case "urlkey":
		value = c.Key
	case "timestamp":
		value = c.Timestamp
	case "url":
		value = c.URL
	case "mime":
		value = c.MIME
	case "status":
		if c.Status > 0 {
			value = strconv.Itoa(c.Status)
		}
	case "digest":
		value = c.Digest
	case "redirect":
		value = c.Redirect
	case "length":
		if c.Length > 0 {
			value = strconv.FormatInt(c.Length, 10)
		}
	case "offset":
		value = strconv.FormatInt(c.Offset, 10)
	case "filename":
		value = c.File
	}
	if value == "" {
		return "-"
	}
	return value
}
