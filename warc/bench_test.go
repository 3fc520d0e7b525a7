package warc_test

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"holdfast/internal/disk"
	"holdfast/warc"
)

// pages returns blocks as a crawl has them: mostly HTML of some 30 kB, images among them.
func pages() (blocks [][]byte, heads []int) {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 3000)
	for i := range words {
		b := make([]byte, 2+rnd.IntN(9))
		for j := range b {
			b[j] = byte('a' + rnd.IntN(26))
		}
		words[i] = string(b)
	}
	for i := range 200 {
		var b bytes.Buffer
		kind := "text/html"
		if i%8 == 0 {
			kind = "image/jpeg"
		}
		fmt.Fprintf(&b, "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Fri, 02 Jan 2026 03:04:05 GMT\r\nContent-Type: %s\r\n\r\n", kind)
		heads = append(heads, b.Len())
		size := b.Len() + 5000 + rnd.IntN(60000)
		for n := 0; b.Len() < size; n++ {
			switch {
			case i%8 == 0:
				b.WriteByte(byte(rnd.Uint32()))
			case n%12 == 0:
				fmt.Fprintf(&b, "<p class=\"text\"><a href=\"/page/%d.html\">%s</a>\n", rnd.IntN(1000), words[rnd.IntN(len(words))])
			default:
				b.WriteString(words[int(rnd.ExpFloat64()*200)%len(words)] + " ")
			}
		}
		blocks = append(blocks, b.Bytes())
	}
	return blocks, heads
}

// getRequest is the request beside each response.
const getRequest = "GET /page HTTP/1.1\r\nHost: example.com\r\nUser-Agent: Mozilla/5.0 (compatible; bench/1.0; +http://example.com/)\r\nAccept: text/html,*/*;q=0.8\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"

func total(blocks [][]byte) (n int64) {
	for _, b := range blocks {
		n += int64(len(b))
	}
	return n
}

// cpu reports the processor time of an operation, which other work on the machine disturbs
// less than the time on the clock.
func cpu(b *testing.B) func() {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	start := used()
	return func() { b.ReportMetric(float64(used()-start)/float64(b.N), "cpu-ns/op") }
}

func benchmarkDate() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// BenchmarkWrite writes responses through Files: digests of block and payload, gzip, a file
// with its SHA-256. Compare with BenchmarkWriteBaseline.
func BenchmarkWrite(b *testing.B) {
	for _, level := range []int{0, 1} {
		b.Run(fmt.Sprintf("level=%d", level), func(b *testing.B) {
			blocks, _ := pages()
			b.SetBytes(total(blocks))
			b.ReportAllocs()
			defer cpu(b)()
			for b.Loop() {
				writePages(b, b.TempDir(), blocks, level)
			}
		})
	}
}

func writePages(b testing.TB, dir string, blocks [][]byte, level int) string {
	var path string
	f, err := warc.NewFiles(disk.New(), warc.FilesConfig{Dir: dir, Prefix: "bench", Node: "n", Level: level}, func(d warc.Finished) error {
		path = d.Path
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for i, block := range blocks {
		request := warc.Draft{Type: warc.TypeRequest, TargetURI: fmt.Sprintf("http://example.com/page/%d", i), Date: benchmarkDate(),
			ContentType: "application/http; msgtype=request", Block: strings.NewReader(getRequest), Size: int64(len(getRequest))}
		_, err := f.Write(warc.Draft{Type: warc.TypeResponse, TargetURI: fmt.Sprintf("http://example.com/page/%d", i), Date: benchmarkDate(),
			ContentType: "application/http; msgtype=response", Fields: []warc.Field{{Name: "WARC-IP-Address", Value: "192.0.2.1"}},
			Block: bytes.NewReader(block), Size: int64(len(block))}, request)
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkWriteBaseline does the same work without a WARC library: the two SHA-1 of each
// block, a fixed header, gzip of the same level, the SHA-256 of the file, one sync.
func BenchmarkWriteBaseline(b *testing.B) {
	for _, level := range []int{0, 1} {
		b.Run(fmt.Sprintf("level=%d", level), func(b *testing.B) {
			blocks, heads := pages()
			b.SetBytes(total(blocks))
			b.ReportAllocs()
			defer cpu(b)()
			for b.Loop() {
				plainWrite(b, b.TempDir(), blocks, heads, level)
			}
		})
	}
}

func plainWrite(b testing.TB, dir string, blocks [][]byte, heads []int, level int) {
	file, err := os.Create(filepath.Join(dir, "plain.warc.gz"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(file, sum), 256<<10)
	if level == 0 {
		level = gzip.DefaultCompression
	}
	z, err := gzip.NewWriterLevel(out, level)
	if err != nil {
		b.Fatal(err)
	}
	h := sha1.New()
	put := func(block, payload []byte) {
		h.Reset()
		h.Write(block)
		whole, entity := h.Sum(nil), []byte(nil)
		if payload != nil {
			h.Reset()
			h.Write(payload)
			entity = h.Sum(nil)
		}
		z.Reset(out)
		fmt.Fprintf(z, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:%x>\r\nWARC-Date: 2026-01-02T03:04:05.000Z\r\nWARC-Target-URI: http://example.com/page\r\n"+
			"WARC-Block-Digest: sha1:%x\r\nWARC-Payload-Digest: sha1:%x\r\nContent-Length: %d\r\n\r\n", whole[:16], whole, entity, len(block))
		z.Write(block)
		io.WriteString(z, "\r\n\r\n")
		if err := z.Close(); err != nil {
			b.Fatal(err)
		}
	}
	for i, block := range blocks {
		put(block, block[heads[i]:])
		put([]byte(getRequest), nil)
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := file.Sync(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRead reads a file record by record and makes the digests of block and payload.
// Compare with BenchmarkReadBaseline.
func BenchmarkRead(b *testing.B) {
	blocks, _ := pages()
	data := load(b, writePages(b, b.TempDir(), blocks, 0))
	b.SetBytes(total(blocks))
	b.ReportAllocs()
	defer cpu(b)()
	whole, payload := sha1.New(), sha1.New()
	for b.Loop() {
		r, err := warc.NewReader(bytes.NewReader(data), "bench.warc.gz")
		if err != nil {
			b.Fatal(err)
		}
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			whole.Reset()
			payload.Reset()
			if rec.Type == warc.TypeResponse {
				head, err := rec.HTTP()
				if err != nil {
					b.Fatal(err)
				}
				io.WriteString(whole, head.Raw)
			}
			if _, err := io.Copy(io.MultiWriter(whole, payload), rec.Block); err != nil {
				b.Fatal(err)
			}
			if _, err := rec.Position(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkReadBaseline decompresses the same file member by member and makes two SHA-1 of
// what comes out.
func BenchmarkReadBaseline(b *testing.B) {
	blocks, _ := pages()
	data := load(b, writePages(b, b.TempDir(), blocks, 0))
	b.SetBytes(total(blocks))
	b.ReportAllocs()
	defer cpu(b)()
	whole, payload := sha1.New(), sha1.New()
	z := new(gzip.Reader)
	for b.Loop() {
		in := bufio.NewReaderSize(bytes.NewReader(data), 256<<10)
		for {
			if err := z.Reset(in); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			z.Multistream(false)
			whole.Reset()
			payload.Reset()
			if _, err := io.Copy(io.MultiWriter(whole, payload), z); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func load(b testing.TB, path string) []byte {
	b.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return data
}
