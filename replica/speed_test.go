package replica

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// copySize is what the copying benchmarks copy, and the audit's hash.
const copySize = 1 << 30

// benchStore returns a store that has one file of copySize bytes, and its digest.
func benchStore(b *testing.B) (*Store, Held) {
	b.Helper()
	dir := b.TempDir()
	s := openStore(b, storeConfig(dir), disk.New())
	path := filepath.Join(dir, "made")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	sum := sha256.New()
	block := content(1, 1<<20)
	for i := range copySize >> 20 {
		block[0] = byte(i)
		sum.Write(block)
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	if _, _, err := s.Adopt(b.Context(), path, catalog.Addition{Name: "made"}, Owned); err != nil {
		b.Fatal(err)
	}
	return s, Held{Name: "made", Size: copySize, SHA256: catalog.Digest(sum.Sum(nil))}
}

// nobody is a catalog that knows no file.
type nobody struct{ Catalog }

func (nobody) View(func(catalog.View) error) error { return catalog.ErrNotFound }

// loopback serves the file over TCP to whoever connects, as one node does to another.
func loopback(b *testing.B, s *Store) (dial func() net.Conn) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	kept := &findings{&agreed{catalog: nobody{}}, &holdings{store: s}}
	r := &server{findings: kept, bulk: make(slots, 4)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if err := r.Serve(context.Background(), "", "made", 0, c); err != nil {
				b.Error(err)
			}
			c.Close()
		}
	}()
	return func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		return c
	}
}

// processorTime reports, when the returned function is called, the processor time per operation that this
// program and the programs it ran have used: what is left to compare when a machine is busy.
func processorTime(b *testing.B) func() {
	used := func() (seconds float64) {
		for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
			var u syscall.Rusage
			if err := syscall.Getrusage(who, &u); err != nil {
				b.Fatal(err)
			}
			seconds += float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
		}
		return seconds
	}
	before := used()
	return func() { b.ReportMetric((used()-before)/float64(b.N), "cpu-s/op") }
}

// BenchmarkCopy copies a file from store to store over loopback: fetched, hashed, synced, placed and listed.
func BenchmarkCopy(b *testing.B) {
	from, held := benchStore(b)
	dial := loopback(b, from)
	to := openStore(b, storeConfig(b.TempDir()), disk.New())
	b.SetBytes(copySize)
	defer processorTime(b)()
	for b.Loop() {
		c := dial()
		p, err := to.receive(b.Context(), held)
		if err != nil {
			b.Fatal(err)
		}
		if err := p.take(b.Context(), watchStall(c, func() {}), nil, nil); err != nil {
			b.Fatal(err)
		}
		if ok, err := p.complete(); !ok || err != nil {
			b.Fatal(ok, err)
		}
		if err := p.finish(); err != nil {
			b.Fatal(err)
		}
		c.Close()
		b.StopTimer()
		if err := to.Delete(held.Name); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkCopyBaseline is what the least program does: read from the connection, hash, write, sync.
func BenchmarkCopyBaseline(b *testing.B) {
	from, held := benchStore(b)
	dial := loopback(b, from)
	path := filepath.Join(b.TempDir(), "copy")
	b.SetBytes(copySize)
	defer processorTime(b)()
	for b.Loop() {
		c := dial()
		f, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		sum := sha256.New()
		n, err := io.CopyBuffer(io.MultiWriter(f, sum), struct{ io.Reader }{c}, make([]byte, 1<<20))
		if err != nil || n != held.Size || catalog.Digest(sum.Sum(nil)) != held.SHA256 {
			b.Fatal(n, err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		f.Close()
		c.Close()
		b.StopTimer()
		if err := os.Remove(path); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkHash hashes a stored file as the audit does, from memory as far as the system has it there.
func BenchmarkHash(b *testing.B) {
	s, held := benchStore(b)
	b.SetBytes(copySize)
	defer processorTime(b)()
	for b.Loop() {
		f, err := s.Open(held.Name)
		if err != nil {
			b.Fatal(err)
		}
		if _, digest, err := s.hash(b.Context(), f, nil); err != nil || digest != held.SHA256 {
			b.Fatal(err)
		}
		f.Close()
	}
}

// BenchmarkHashBaseline lets openssl hash the same file.
func BenchmarkHashBaseline(b *testing.B) {
	s, held := benchStore(b)
	path := s.outboxPath(held.Name)
	b.SetBytes(copySize)
	defer processorTime(b)()
	for b.Loop() {
		out, err := exec.Command("openssl", "dgst", "-sha256", path).Output()
		if err != nil || !bytes.Contains(out, []byte(held.SHA256.String())) {
			b.Fatal(err, string(out))
		}
	}
}
