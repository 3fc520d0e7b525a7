package batch

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/warc"
)

// onDisk are files in a folder, as a node has them.
type onDisk struct{ dir string }

func (f onDisk) Open(name catalog.FileName) (io.ReadCloser, int64, error) {
	file, err := os.Open(filepath.Join(f.dir, string(name)))
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	return file, info.Size(), err
}

func (onDisk) Doubt(catalog.FileName) {}
func (onDisk) Busy() bool             { return false }

// BenchmarkValidate checks every record of a file, by itself as "warc check" does, and as a batch does on the node that has
// the file: with the file's SHA-256. The goal is 80 % of the first.
func BenchmarkValidate(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	dir := b.TempDir()
	path := filepath.Join(dir, "x.warc.gz")
	f, err := warc.NewFile(disk.New(), path, warc.FilesConfig{Compression: warc.Gzip}, nil)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 400 {
		body := make([]byte, 64<<10)
		for j := range body { // text of few words, and some noise, so that it shrinks as pages do
			if body[j] = "abcdefgh <>/="[random.IntN(13)]; i%4 == 0 {
				body[j] = byte(random.UintN(256))
			}
		}
		sum := sha256.Sum256(body)
		d := response(fmt.Sprintf("http://example.org/%d", i), "text/html", "", body)
		d.PayloadDigest = (warc.Digest{Algorithm: warc.SHA256, Sum: sum[:]}).String()
		if _, err := f.Write(d); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	file := catalog.File{Name: "x.warc.gz", Size: int64(len(text)), SHA256: sha256.Sum256(text)}
	b.Run("warc-check", func(b *testing.B) {
		b.SetBytes(file.Size)
		for b.Loop() {
			if sum, err := warc.Check(path, func(warc.Finding) {}); err != nil || sum.Errors > 0 {
				b.Fatal(sum, err)
			}
		}
	})
	b.Run("batch", func(b *testing.B) {
		w := newWorker(Config{Files: onDisk{dir}, Work: dir, Limits: Limits{}.filled(), Log: slog.New(slog.DiscardHandler)})
		p, values, err := Programs(noTools()).Find("validate", nil)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(file.Size)
		for b.Loop() {
			var out bytes.Buffer
			if _, err := w.process(b.Context(), p, &Env{File: file, Values: values}, &out); err != nil ||
				!bytes.Contains(out.Bytes(), []byte(": valid, ")) {
				b.Fatal(err, out.String())
			}
		}
	})
}
