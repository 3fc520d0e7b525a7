package warc

import (
	"io"

	"holdfast/internal/coding"
)

// Payload returns the record's payload as recorded: of an HTTP message the entity body with
// its transfer coding, of any other record the block. It is what payload digests are made of.
func (r *Record) Payload() (io.Reader, error) {
	if !r.IsHTTP() || r.Size == 0 {
		return r.Block, nil
	}
	if _, err := r.HTTP(); err != nil {
		return nil, err
	}
	return r.Block, nil
}

// Content returns the payload as a browser would see it: without transfer coding and content encoding (gzip,
// deflate, br, zstd). An encoding that is not known is ErrEncoding; the record's Block then still has the payload as
// recorded. Headers that do not tell the truth, such as a body stored without the chunks its header announces, are
// seen through. Content that is damaged or cut off ends with a *coding.Error. How much it decompresses to is for the
// caller to limit.
func (r *Record) Content() (io.ReadCloser, error) {
	payload, err := r.Payload()
	if err != nil {
		return nil, err
	}
	var head coding.Head
	if r.http != nil {
		head = r.http.coding()
	}
	return coding.Open(payload, head, coding.Options{})
}

// coding returns what the header says about the coding of its payload.
func (h *HTTPHead) coding() coding.Head {
	return coding.Head{Transfer: h.Header.Values("Transfer-Encoding"), Content: h.Header.Values("Content-Encoding")}
}
