package coding

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// Whatever the payload and its head: what is read is the same at once and byte by byte, with new decoders and used
// ones, and never more than the limit; chunks taken off as they come are those of a reader; what is coded comes back.
func FuzzOpen(f *testing.F) {
	for _, c := range append(kinds, "chunked", "gzip, br", "gzip, chunked") {
		in := []byte(page)
		for c := range strings.SplitSeq(c, ", ") {
			in = packed(f, c, in)
		}
		f.Add(c, in, 7)
	}
	f.Add("chunked", []byte("3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\nmore"), 2)
	f.Add("chunked", []byte("ffffffffffffff\r\nabc"), 1)
	f.Add("br,gzip", []byte("x"), 100)
	f.Add("zstd", []byte("\x28\xb5\x2f\xfd\x00\x58\x01\x00\x00"), 1)
	pool := new(Pool)
	f.Fuzz(func(t *testing.T, codings string, in []byte, size int) {
		h := head(codings)
		for _, o := range []Options{{Output: 10_000, PassUnknown: true}, {AsSent: true, Output: 10_000}} {
			out, _, err := unpack(t, pool, in, h, o)
			var failed *Error
			if err != nil && !errors.As(err, &failed) {
				t.Fatalf("reading from memory failed: %v", err)
			}
			if len(Names(h.Content)) > 0 && len(out) > 10_000 && err == nil && len(out) > len(in) {
				t.Fatalf("%d bytes", len(out))
			}
		}
		size = max(1, size&63)
		var c Chunks
		var pieces bytes.Buffer
		for rest := in; len(rest) > 0 && !c.Ended(); rest = rest[min(size, len(rest)):] {
			if _, err := c.Feed(rest[:min(size, len(rest))], &pieces); err != nil {
				break
			}
		}
		whole, _, err := unpack(t, nil, in, Head{Transfer: []string{"chunked"}}, Options{AsSent: true})
		if err != nil || !bytes.Equal(whole, pieces.Bytes()) {
			t.Fatalf("chunks in pieces %q, read %q, %v", pieces.Bytes(), whole, err)
		}
		coded, names := in, Names(h.Content)
		if len(names) > 2 {
			return
		}
		for _, name := range names {
			if !known(name) {
				return
			}
			coded = packed(t, name, coded)
		}
		r, err := pool.Open(bytes.NewReader(coded), h, Options{AsSent: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if h.Transfer != nil || len(names) == 0 {
			return
		}
		if back, err := io.ReadAll(r); err != nil || !bytes.Equal(back, in) {
			t.Fatalf("%q came back as %q, %v", in, back, err)
		}
	})
}
