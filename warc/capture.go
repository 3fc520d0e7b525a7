package warc

import (
	"errors"
	"fmt"
	"hash"
	"io"
)

// Capture is what an index keeps of a record, found without keeping its block.
type Capture struct {
	Record *Record   // its block has been read
	HTTP   *HTTPHead // nil unless the block is an HTTP message that can be read
	Status int       // HTTP status, 0 if there is none
	MIME   string    // media type of the payload, lower case without parameters; may be empty
	// PayloadDigest is the one in the header or, where there is none, SHA-1 of the payload
	// as recorded. It is empty for a revisit without it, and for parts of segmented records.
	PayloadDigest string
	Position      Position // Length is 0 where records share a gzip member; see Record.Inner
}

// Scan calls visit for each response, resource, revisit and metadata record of a file, in
// order. It returns the error of visit, which ends the scan, or else what was wrong with
// the file: whatever can be found behind damage is visited all the same.
func Scan(in io.Reader, name string, visit func(*Capture) error) error {
	r, err := NewReader(in, name)
	if err != nil {
		return err
	}
	var damage []error
	note := func(err error) {
		if len(damage) < 10 {
			damage = append(damage, err)
		}
	}
	sum := SHA1.New()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return errors.Join(damage...)
		}
		if err != nil {
			note(err)
			continue
		}
		switch rec.Type {
		case TypeResponse, TypeResource, TypeRevisit, TypeMetadata:
		default:
			continue
		}
		c, err := capture(rec, sum)
		if err != nil {
			note(err)
			continue
		}
		if err := visit(c); err != nil {
			return fmt.Errorf("%s at offset %d: %w", name, rec.Offset, err)
		}
	}
}

// capture reads what is wanted of a record and passes over the rest.
func capture(rec *Record, sum hash.Hash) (*Capture, error) {
	c := &Capture{Record: rec, PayloadDigest: rec.Header.Get("WARC-Payload-Digest")}
	if rec.IsHTTP() && rec.Size > 0 {
		head, err := rec.HTTP()
		var damaged *Error
		if errors.As(err, &damaged) {
			return nil, err
		}
		if err == nil {
			c.HTTP, c.Status, c.MIME = head, head.Status, head.MIME()
		}
	} else if !rec.IsHTTP() {
		c.MIME = mediaType(rec.ContentType())
	}
	if c.MIME == "" {
		c.MIME = mediaType(rec.Header.Get("WARC-Identified-Payload-Type"))
	}
	wanted := c.PayloadDigest == "" && rec.Type != TypeRevisit && !rec.Header.Has("WARC-Segment-Number")
	if wanted && (c.HTTP != nil || !rec.IsHTTP()) {
		sum.Reset()
		if _, err := rec.block.WriteTo(sum); err != nil {
			return nil, err
		}
		c.PayloadDigest = DigestOf(SHA1, sum).String()
	}
	var err error
	c.Position, err = rec.Position()
	return c, err
}
