package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"holdfast/internal/coding"
)

// ErrCoding reports that content is not coded as its header says: the coding is unknown, or the content does not have
// it.
var ErrCoding = errors.New("content does not match its declared coding")

// Payload returns the content without transfer and content coding, at most limit bytes of it, even if it would unpack
// to more. If a coding is broken, what came before the fault is returned with the error. Content that is not coded as
// its header says is returned as it came, with ErrCoding. The bytes are valid until Release.
func (x *Exchange) Payload(limit int64) ([]byte, error) {
	r := x.Response
	if r == nil {
		return nil, nil
	}
	if r.file == nil && r.body == nil && !x.Head.coded() {
		body := r.mem[r.headLen:]
		return body[:min(int64(len(body)), limit)], nil
	}
	in, err := x.open()
	if err != nil {
		return nil, err
	}
	return readAll(in, limit)
}

// ReadStored reads from a stored response what Payload reads from a response just received; body is what follows its
// header.
func ReadStored(h Head, body io.Reader, limit int64) ([]byte, error) {
	in, err := h.decode(nil, body, h.chunked())
	if err != nil {
		return nil, err
	}
	return readAll(in, limit)
}

func readAll(in *coding.Reader, limit int64) ([]byte, error) {
	defer in.Close()
	var out bytes.Buffer
	_, err := io.Copy(&out, io.LimitReader(in, limit))
	if err == nil && in.Untrue() {
		err = ErrCoding
	}
	return out.Bytes(), err
}

// Content returns the content without transfer and content coding, or as it came if it is not coded as its header
// says. Read it piece by piece, and close it before Release.
func (x *Exchange) Content() (io.ReadCloser, error) {
	if x.Response == nil {
		return http.NoBody, nil
	}
	return x.open()
}

func (x *Exchange) open() (*coding.Reader, error) {
	body := x.Response.Reader()
	if _, err := body.Seek(int64(x.Response.headLen), io.SeekStart); err != nil {
		return nil, fmt.Errorf("read a response: %w", err)
	}
	return x.Head.decode(x.codings, body, x.Response.body != nil)
}

// decode removes the codings that the header names from a body as it was sent. Where the body broke off is known
// separately.
func (h Head) decode(pool *coding.Pool, body io.Reader, chunked bool) (*coding.Reader, error) {
	of := coding.Head{Content: h.All("Content-Encoding")}
	if chunked {
		of.Transfer = []string{"chunked"}
	}
	return pool.Open(body, of, coding.Options{PassUnknown: true, AsSent: true})
}

// coded reports whether the head names a content coding.
func (h Head) coded() bool { return len(coding.Names(h.All("Content-Encoding"))) > 0 }

// chunked reports whether the body ends as its chunks say.
func (h Head) chunked() bool {
	names := coding.Names(h.All("Transfer-Encoding"))
	return len(names) > 0 && names[len(names)-1] == "chunked"
}
