package warc_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"holdfast/warc"
)

// TestAWindowIsBounded reads records packed with windows up to the bound, and beyond it.
func TestAWindowIsBounded(t *testing.T) {
	for _, tt := range []struct {
		window int
		reads  bool
	}{{8 << 20, true}, {warc.MaxWindow, true}, {2 * warc.MaxWindow, false}, {128 << 20, false}} {
		var packed bytes.Buffer
		z, err := zstd.NewWriter(&packed, zstd.WithWindowSize(tt.window), zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(false))
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(z, info()+page("http://a.example/", strings.Repeat("x", 100_000)))
		if err := errors.Join(err, z.Flush(), z.Close()); err != nil { // the flush makes the frame one of unknown length
			t.Fatal(err)
		}
		r, err := warc.NewReader(&packed, "x.warc.zst")
		for err == nil {
			_, err = r.Next()
		}
		if reads := err == io.EOF; reads != tt.reads || !reads && !errors.Is(err, warc.ErrCompressed) {
			t.Errorf("window of %d MiB: %v", tt.window>>20, err)
		}
	}
}
