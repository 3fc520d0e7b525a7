package coding

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http/httputil"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// BenchmarkRead reads pages of several sizes, each in every coding, and beside it with a bare decoder that is used
// again.
func BenchmarkRead(b *testing.B) {
	bare := map[string]func() func(io.Reader) (io.Reader, error){
		"gzip": func() func(io.Reader) (io.Reader, error) {
			z := new(gzip.Reader)
			return func(r io.Reader) (io.Reader, error) { return z, z.Reset(r) }
		},
		"deflate": func() func(io.Reader) (io.Reader, error) {
			var z io.Reader
			return func(r io.Reader) (_ io.Reader, err error) {
				if z == nil {
					z, err = zlib.NewReader(r)
					return z, err
				}
				return z, z.(zlib.Resetter).Reset(r, nil)
			}
		},
		"br": func() func(io.Reader) (io.Reader, error) {
			z := brotli.NewReader(nil)
			return func(r io.Reader) (io.Reader, error) { return z, z.Reset(r) }
		},
		"zstd": func() func(io.Reader) (io.Reader, error) {
			z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
			return func(r io.Reader) (io.Reader, error) {
				if err == nil {
					err = z.Reset(onlyReader{r}) // as a stream: a whole buffer takes another way
				}
				return z, err
			}
		},
		"chunked": func() func(io.Reader) (io.Reader, error) {
			return func(r io.Reader) (io.Reader, error) { return httputil.NewChunkedReader(bufio.NewReader(r)), nil }
		},
	}
	for _, size := range []int{4 << 10, 1 << 20} {
		var data []byte
		for i := 0; len(data) < size; i++ {
			const line = "<p class=c%d><a href=\"/page/%d?x=%x\">Link %d</a> and some text, more or less the same.</p>\n"
			data = fmt.Appendf(data, line, i%7, i, i*i*2654435761, i)
		}
		for _, coding := range []string{"gzip", "deflate", "br", "zstd", "chunked"} {
			in := packed(b, coding, data)
			from := bytes.NewReader(in)
			buffer := make([]byte, 32<<10)
			run := func(name string, open func() (io.Reader, error)) {
				b.Run(fmt.Sprintf("%s/%dKiB/%s", coding, size>>10, name), func(b *testing.B) {
					b.SetBytes(int64(len(data)))
					b.ReportAllocs()
					for b.Loop() {
						from.Reset(in)
						r, err := open()
						var n int64
						if err == nil {
							n, err = io.CopyBuffer(onlyWriter{io.Discard}, onlyReader{r}, buffer)
						}
						if c, ours := r.(*Reader); ours {
							c.Close()
						}
						if err != nil || n != int64(len(data)) {
							b.Fatal(n, err)
						}
					}
				})
			}
			var pool Pool
			h := head(coding)
			run("ours", func() (io.Reader, error) { return pool.Open(from, h, Options{}) })
			reset := bare[coding]()
			run("bare", func() (io.Reader, error) { return reset(from) })
		}
	}
}

type onlyReader struct{ io.Reader }

type onlyWriter struct{ io.Writer }
