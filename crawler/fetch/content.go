package fetch

import (
	"fmt"
	"io"
)

// Content returns the content without transfer and content coding, or as it came where it is not coded as its head says, to be read piece by piece and closed before Release.
func (x *Exchange) Content() (io.ReadCloser, error) {
	if x.Response == nil {
		return io.NopCloser(noContent{}), nil
	}
	body := x.Response.Reader()
	if _, err := body.Seek(int64(x.Response.headLen), io.SeekStart); err != nil {
		return nil, err
	}
	var plain io.Reader = body
	if x.Response.body != nil {
		plain = &dechunker{from: body}
	}
	coding := x.Head.codings()
	decoded, _, done, err := decode(coding, plain)
	if err != nil {
		done()
		return nil, fmt.Errorf("decode %.100q: %w", coding, err)
	}
	return content{decoded, done}, nil
}

// content is what is read, and what frees that.
type content struct {
	io.Reader
	done func()
}

func (c content) Close() error {
	c.done()
	return nil
}

// noContent is at its end.
type noContent struct{}

func (noContent) Read([]byte) (int, error) { return 0, io.EOF }
