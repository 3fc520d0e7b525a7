package replay

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// opened counts what of the archive is open.
type opened struct {
	*shelf
	now atomic.Int64
}

func (o *opened) Open(ctx context.Context, file string, offset, length int64) (io.ReadCloser, error) {
	in, err := o.shelf.Open(ctx, file, offset, length)
	if err == nil {
		o.now.Add(1)
		in = &counted{ReadCloser: in, now: &o.now}
	}
	return in, err
}

type counted struct {
	io.ReadCloser
	now    *atomic.Int64
	closed bool
}

func (c *counted) Close() error {
	if !c.closed {
		c.closed = true
		c.now.Add(-1)
	}
	return c.ReadCloser.Close()
}

// atWrite calls see whenever a part of an answer is written.
type atWrite struct {
	*httptest.ResponseRecorder
	see func()
}

func (w atWrite) Write(p []byte) (int, error) {
	w.see()
	return w.ResponseRecorder.Write(p)
}

// TestASlowReaderHoldsNoFile looks at what is open in the archive while an answer is written: small, large, and small
// where no memory is left for records.
func TestASlowReaderHoldsNoFile(t *testing.T) {
	for name, tt := range map[string]struct {
		size   int
		memory int64
	}{"small": {2000, memoryLimit}, "large": {3_000_000, memoryLimit}, "no memory left": {2000, 1000}} {
		t.Run(name, func(t *testing.T) {
			s, b := newShelf()
			body := letters(1, tt.size)
			b.response("20260101000000", "http://example.com/", "HTTP/1.1 200 OK\nContent-Type: text/plain\n", body)
			records := &opened{shelf: s}
			h, err := New(Config{Spool: t.TempDir()}, s, records, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			h.memory.limit = tt.memory
			most, memory := int64(0), int64(0)
			w := atWrite{httptest.NewRecorder(), func() { most, memory = max(most, records.now.Load()), max(memory, h.memory.used.Load()) }}
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/web/20260101000000id_/http://example.com/", nil))
			if w.Code != http.StatusOK || w.Body.String() != body {
				t.Errorf("%d, %d bytes", w.Code, w.Body.Len())
			}
			if most != 0 {
				t.Errorf("%d files are open while the reader is waited for", most)
			}
			if memory > tt.memory {
				t.Errorf("%d bytes of memory are taken of %d", memory, tt.memory)
			}
			if left := h.memory.used.Load() + h.spool.used.Load(); left != 0 || records.now.Load() != 0 {
				t.Errorf("%d bytes and %d files are kept", left, records.now.Load())
			}
		})
	}
}
