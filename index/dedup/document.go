// Package dedup keeps what jobs recorded, so that a later job finds by URL and by digest what it need not store again.
//
// A piece is the documents of one job, as text: it is a record of the job's metadata file. A set is the documents of
// several jobs, in a form in which they are found; it is made of pieces, and can be made again at any time.
package dedup

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"
	"time"
)

// ErrDamaged reports a piece or set that is not as it was written.
var ErrDamaged = errors.New("damaged list of documents")

// Document is what a job recorded of a URL: the answer, and where its content is stored. That is another record than
// the job's own if the document was a duplicate.
type Document struct {
	URL    string    `json:"url"`
	Time   time.Time `json:"time"`   // of the fetch
	Digest string    `json:"digest"` // of the payload, with its algorithm

	Type         string `json:"type,omitempty"` // media type
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"`

	// The record that has the content.
	File   string    `json:"file"`
	Offset int64     `json:"offset"`
	ID     string    `json:"id,omitempty"`
	OfURL  string    `json:"of,omitempty"`     // its URL, where that is another
	OfTime time.Time `json:"of_time,omitzero"` // its date, where that is another
}

// Original is the URL and the date of the record that has the content.
func (d *Document) Original() (url string, date time.Time) {
	url, date = d.URL, d.Time
	if d.OfURL != "" {
		url = d.OfURL
	}
	if !d.OfTime.IsZero() {
		date = d.OfTime
	}
	return url, date
}

// Check refuses what could not be found again, or would refer to nothing.
func (d *Document) Check() error {
	switch {
	case d.URL == "" || strings.IndexByte(d.URL, 0) >= 0 || len(d.URL) > maxURL:
		return fmt.Errorf("a document needs a URL of at most %d bytes, without zeros", maxURL)
	case d.Digest == "" || d.File == "" || d.Offset < 0 || d.Time.IsZero():
		return fmt.Errorf("document %s needs a date, a digest, a file and an offset", d.URL)
	}
	return nil
}

const (
	maxURL  = 64 << 10
	maxLine = 1 << 20
)

// appendKey appends what documents are sorted by: the URL, and of one URL the latest first.
func (d *Document) appendKey(b []byte) []byte {
	b = append(append(b, d.URL...), 0)
	return binary.BigEndian.AppendUint64(b, math.MaxUint64-uint64(d.Time.UnixMilli()))
}

// keyLength is how long the key is with which a sorted entry begins; 0 if there is none.
func keyLength(entry []byte) int {
	at := bytes.IndexByte(entry, 0)
	if at < 0 || at+9 > len(entry) {
		return 0
	}
	return at + 9
}

// line returns the document as a line of a piece, without its end.
func (d *Document) line() (string, error) {
	if err := d.Check(); err != nil {
		return "", err
	}
	text, err := json.Marshal(d)
	if err == nil && len(text) > maxLine {
		err = fmt.Errorf("document %.200s: %d bytes are too many", d.URL, len(text))
	}
	return string(text), err
}

func parseLine(line []byte) (d Document, err error) {
	if err := json.Unmarshal(line, &d); err != nil {
		return d, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := d.Check(); err != nil {
		return d, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return d, nil
}

// The first and the last line of a piece.
type pieceHead struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Job     uint64 `json:"job"`
}

type pieceEnd struct {
	Documents *int64 `json:"documents"`
}

const (
	pieceFormat  = "holdfast-documents"
	pieceVersion = 1
)

// ReadPiece yields the documents of a piece. An end that comes too early is an error, ErrDamaged; then what was
// yielded before is not all that there was.
func ReadPiece(in io.Reader) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		lines := bufio.NewScanner(in)
		lines.Buffer(make([]byte, 0, 64<<10), maxLine+64<<10)
		var head pieceHead
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &head) != nil || head.Format != pieceFormat {
			yield(Document{}, errors.Join(fmt.Errorf("%w: it does not begin as a piece does", ErrDamaged), lines.Err()))
			return
		}
		if head.Version != pieceVersion {
			yield(Document{}, fmt.Errorf("piece of job %d has version %d: this program reads %d", head.Job,
				head.Version, pieceVersion))
			return
		}
		for n := int64(0); lines.Scan(); n++ {
			var end pieceEnd
			if bytes.HasPrefix(lines.Bytes(), []byte(`{"documents":`)) && json.Unmarshal(lines.Bytes(), &end) == nil &&
				end.Documents != nil {
				if *end.Documents != n || lines.Scan() {
					yield(Document{}, fmt.Errorf("%w: %d documents, and %d were said", ErrDamaged, n, *end.Documents))
				}
				return
			}
			d, err := parseLine(lines.Bytes())
			if !yield(d, err) || err != nil {
				return
			}
		}
		yield(Document{}, errors.Join(fmt.Errorf("%w: the end is missing", ErrDamaged), lines.Err()))
	}
}
