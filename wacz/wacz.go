// Package wacz writes and reads WACZ files: a web archive in a ZIP file, with its index, its pages and a list of what
// is in it (Web Archive Collection Zipped 1.1.1 and 1.2.0, and WACZ Signing and Verification 0.1.0,
// specs.webrecorder.net). It knows ZIP and the lists; what is inside WARC files it does not look at.
package wacz

import (
	"errors"
	"time"
)

// ErrNotWACZ reports a file that is no WACZ, or breaks the specification so that it cannot be read.
var ErrNotWACZ = errors.New("not a WACZ file")

// ErrDigest reports a part whose bytes are not those that the list of parts names.
var ErrDigest = errors.New("bytes differ from the list of parts")

// The versions of the specification that are written.
const (
	Version111 = "1.1.1"
	Version120 = "1.2.0"
)

// The places of a WACZ.
const (
	archiveFolder = "archive/"
	listPath      = "datapackage.json"
	digestPath    = "datapackage-digest.json"
	pagesPath     = "pages/pages.jsonl"
	indexPath     = "indexes/index.cdx.gz"
	indexOfIndex  = "indexes/index.idx"
)

// maxList bounds the list of parts in memory, in bytes.
const maxList = 32 << 20

// resource is a part, as the list names it.
type resource struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`

	// As versions before 1.0 have digest and size.
	Hashing string `json:"hashing,omitempty"`
	Stats   *struct {
		Hash  string `json:"hash"`
		Bytes int64  `json:"bytes"`
	} `json:"stats,omitempty"`
}

// list is datapackage.json.
type list struct {
	Profile     string     `json:"profile"`
	Version     string     `json:"wacz_version"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Created     string     `json:"created,omitempty"`
	Modified    string     `json:"modified,omitempty"`
	Software    string     `json:"software,omitempty"`
	Resources   []resource `json:"resources"`
}

// digest is datapackage-digest.json.
type digest struct {
	Path   string  `json:"path"`
	Hash   string  `json:"hash"`
	Signed *signed `json:"signedData,omitempty"`
}

// signed says who vouches for a list. With a key alone it is nobody in particular: it shows that the list and this
// signature are of one hand.
type signed struct {
	Hash      string `json:"hash"`
	Created   string `json:"created"`
	Software  string `json:"software"`
	Version   string `json:"version"`
	Signature string `json:"signature"`
	PublicKey string `json:"publicKey,omitempty"`
	Domain    string `json:"domain,omitempty"`
}

// Page is one that a reader of the WACZ may begin with.
type Page struct {
	URL   string
	Time  time.Time
	Title string // empty: none is known
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
