package fetch

import (
	"fmt"
	"io"
	"net/http"
)

// Content returns the content without transfer and content coding, or as it came where it is not coded as its head says, to be read
// piece by piece and closed before Release.
func (x *Exchange) Content() (io.ReadCloser, error) {
	if x.Response == nil {
		return http.NoBody, nil
	}
	decoded, _, done, err := x.decoded()
	if err != nil {
		return nil, err
	}
	return content{decoded, done}, nil
}

// decoded takes transfer and content coding off what came, and tells whether it was not coded as its head says. done frees what that takes.
func (x *Exchange) decoded() (plain io.Reader, untrue bool, done func(), err error) {
	body := x.Response.Reader()
	if _, err := body.Seek(int64(x.Response.headLen), io.SeekStart); err != nil {
		return nil, false, nil, err
	}
	plain = body
	if x.Response.body != nil {
		plain = &dechunker{from: body}
	}
	coding := x.Head.codings()
	if plain, untrue, done, err = decode(coding, plain); err != nil {
		done()
		return nil, false, nil, fmt.Errorf("decode %.100q: %w", coding, err)
	}
	return plain, untrue, done, nil
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
