package coding

import (
	"bufio"
	"io"
	"sync"
)

// Pool keeps the decoders of closed readers for those opened next. The zero Pool is ready for use, and safe for
// concurrent use; a nil Pool keeps nothing.
type Pool struct{ states sync.Pool }

// state is what taking codings off needs of memory.
type state struct {
	pool      *Pool
	dechunker dechunker
	layers    []*layer // those in use; behind them are those of earlier payloads
}

func (p *Pool) take() *state {
	if p != nil {
		if s, ok := p.states.Get().(*state); ok {
			return s
		}
	}
	s := &state{pool: p, layers: make([]*layer, MaxCodings)}
	for i := range s.layers {
		s.layers[i] = new(layer)
	}
	return s
}

func (s *state) release() {
	if s.pool == nil {
		return
	}
	s.dechunker.release()
	for _, l := range s.layers {
		l.release()
	}
	s.layers = s.layers[:0]
	s.pool.states.Put(s)
}

// bufferSize is how much a layer reads at a time. What tells a coding must fit in.
const bufferSize = 8 << 10

// buffered returns the reader, or a new one, reading from in.
func buffered(r *bufio.Reader, in io.Reader) *bufio.Reader {
	if r == nil {
		return bufio.NewReaderSize(in, bufferSize)
	}
	r.Reset(in)
	return r
}
