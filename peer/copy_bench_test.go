package peer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
)

// copySize is what BenchmarkCopyBare copies.
const copySize = 1 << 30

// BenchmarkCopyBare copies a file over one stream of QUIC alone, both keys checked: the one side reads the file and
// writes the stream, the other hashes and writes what comes, and syncs. It is the baseline of package node's
// BenchmarkCopy.
func BenchmarkCopyBare(b *testing.B) {
	dir := b.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	want := makeFile(b, from)
	conn := bare(b, func(s *quic.Stream) { serveFile(b, s, from) })
	b.SetBytes(copySize)
	before := processorTime(b)
	var set time.Duration
	for b.Loop() {
		got := fetchFile(b, conn, to)
		b.StopTimer()
		aside := processorTime(b)
		if !bytes.Equal(got, want) {
			b.Fatal("other bytes have arrived")
		}
		if err := os.Remove(to); err != nil {
			b.Fatal(err)
		}
		set += processorTime(b) - aside
		b.StartTimer()
	}
	b.ReportMetric((processorTime(b)-before-set).Seconds()/float64(b.N), "cpu-s/op")
}

// makeFile writes a file of copySize bytes and returns its digest.
func makeFile(b *testing.B, path string) []byte {
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	sum := sha256.New()
	piece := make([]byte, benchPiece)
	for i := range copySize / benchPiece {
		for j := 0; j < len(piece); j += 64 {
			piece[j] = byte(i + j/64)
		}
		sum.Write(piece)
		if _, err := f.Write(piece); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return sum.Sum(nil)
}

func serveFile(b *testing.B, s *quic.Stream, path string) {
	if _, err := io.ReadFull(s, make([]byte, 1)); err != nil {
		return
	}
	f, err := os.Open(path)
	if err != nil {
		b.Error(err)
		return
	}
	defer f.Close()
	if _, err := io.CopyBuffer(struct{ io.Writer }{s}, struct{ io.Reader }{f}, make([]byte, benchPiece)); err != nil {
		b.Error(err)
	}
}

// fetchFile asks for the file and keeps it at path, and returns the digest of what came.
func fetchFile(b *testing.B, conn *quic.Conn, path string) []byte {
	s, err := conn.OpenStreamSync(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Write([]byte{0}); err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	sum := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(f, sum), struct{ io.Reader }{s}, make([]byte, benchPiece))
	if err != nil || n != copySize {
		b.Fatal(n, err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return sum.Sum(nil)
}

// BenchmarkRoundTripBare sends a short request over a new stream of QUIC alone and reads the answer. It is the baseline
// of package node's BenchmarkLookupThreeNodes.
func BenchmarkRoundTripBare(b *testing.B) {
	conn := bare(b, func(s *quic.Stream) { _, _ = io.Copy(s, s) })
	request := bytes.Repeat([]byte("request "), 100)
	took := make([]time.Duration, 0, 1<<16)
	for b.Loop() {
		begin := time.Now()
		s, err := conn.OpenStreamSync(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Write(request); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadAll(s); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(took[len(took)*p/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", p))
	}
}

// processorTime returns what this program has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
