package index

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/ristretto/v2/z"

	"holdfast/cdx"
)

const benchCaptures = 400_000

// BenchmarkLoad is the sorted bulk load; the goal is 200 000 captures a second.
func BenchmarkLoad(b *testing.B) {
	t := newClock(b)
	for b.Loop() {
		t.stop()
		x := openBench(b)
		t.start()
		if err := x.Load(context.Background(), synthetic(benchCaptures)); err != nil {
			b.Fatal(err)
		}
		t.stop()
		x.Close()
		t.start()
	}
	t.report(benchCaptures)
}

// BenchmarkLoadBaseline writes the same captures, as CDX lines, through a bare
// StreamWriter: one key each and no digests.
func BenchmarkLoadBaseline(b *testing.B) {
	t := newClock(b)
	for b.Loop() {
		t.stop()
		db := openBadger(b)
		t.start()
		out := db.NewStreamWriter()
		if err := out.Prepare(); err != nil {
			b.Fatal(err)
		}
		buf := z.NewBuffer(2*packet, "baseline")
		for c := range synthetic(benchCaptures) {
			badger.KVToBuffer(&pb.KV{Key: []byte(c.Key + c.Timestamp), Value: c.AppendCDXJ(nil), Version: 1, StreamId: 1}, buf)
			if buf.LenNoPadding() > packet {
				if err := out.Write(buf); err != nil {
					b.Fatal(err)
				}
				buf.Reset()
			}
		}
		if err := out.Write(buf); err != nil {
			b.Fatal(err)
		}
		if err := out.Flush(); err != nil {
			b.Fatal(err)
		}
		t.stop()
		buf.Release()
		db.Close()
		t.start()
	}
	t.report(benchCaptures)
}

const (
	benchFiles  = 12
	benchPages  = 10_000
	benchAtOnce = 3
)

// BenchmarkAdd reads WARC files into the index, a few at once, so that one is read
// while another waits for the disk; the goal is 40 000 captures a second.
func BenchmarkAdd(b *testing.B) {
	files := make([][]byte, benchFiles)
	for i := range files {
		files[i] = benchFile(i)
	}
	t := newClock(b)
	for b.Loop() {
		t.stop()
		x := openBench(b)
		t.start()
		var adds sync.WaitGroup
		for start := range benchAtOnce {
			adds.Go(func() {
				for i := start; i < len(files); i += benchAtOnce {
					open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files[i])), nil }
					if err := x.Add(context.Background(), fmt.Sprintf("file-%d.warc.gz", i), open); err != nil {
						b.Error(err)
					}
				}
			})
		}
		adds.Wait()
		t.stop()
		x.Close()
		t.start()
	}
	t.report(benchFiles * benchPages)
}

// BenchmarkAddBaseline writes as many captures, as CDX lines, through a bare
// WriteBatch: no WARC to read, one key each and no digests.
func BenchmarkAddBaseline(b *testing.B) {
	t := newClock(b)
	for b.Loop() {
		t.stop()
		db := openBadger(b)
		t.start()
		batch := db.NewWriteBatch()
		for i := range benchFiles * benchPages {
			c := syntheticCapture(i * 7919 % benchCaptures)
			if err := batch.Set([]byte(c.Key+c.Timestamp), c.AppendCDXJ(nil)); err != nil {
				b.Fatal(err)
			}
		}
		if err := batch.Flush(); err != nil {
			b.Fatal(err)
		}
		t.stop()
		db.Close()
		t.start()
	}
	t.report(benchFiles * benchPages)
}

// BenchmarkLookup asks for the capture of a URL nearest to a time.
func BenchmarkLookup(b *testing.B) {
	x := openBench(b)
	defer x.Close()
	if err := x.Load(context.Background(), synthetic(benchCaptures)); err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		want := syntheticCapture(i * 7919 % benchCaptures)
		i++
		q := cdx.Query{URL: "http://" + unsurt(want.Key), Sort: cdx.Closest, Closest: want.Timestamp, Limit: 1}
		found := ""
		for c, err := range cdx.Arrange(q, x.Query(context.Background(), q, nil)) {
			if err != nil {
				b.Fatal(err)
			}
			found = c.Digest
		}
		if found != want.Digest {
			b.Fatalf("found %s for %+v", found, want)
		}
	}
}

// BenchmarkLookupBaseline gets single keys from a bare Badger of as many.
func BenchmarkLookupBaseline(b *testing.B) {
	x := openBench(b)
	defer x.Close()
	if err := x.Load(context.Background(), synthetic(benchCaptures)); err != nil {
		b.Fatal(err)
	}
	e := newEncoder()
	i := 0
	for b.Loop() {
		n := i * 7919 % benchCaptures
		i++
		c := syntheticCapture(n)
		e.encode(&c, uint32(n/20000%64+1))
		err := x.db.View(func(txn *badger.Txn) error {
			item, err := txn.Get(e.key)
			if err != nil {
				return err
			}
			return item.Value(func([]byte) error { return nil })
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// benchFile is a WARC file of small pages.
func benchFile(n int) []byte {
	var out bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	for i := range benchPages {
		zip.Reset(&out)
		c := syntheticCapture((n*benchPages + i) * 7919 % benchCaptures)
		block := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: x\r\n\r\n<p>page %d of %d</p>", i, n)
		fmt.Fprintf(zip, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-%012d>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"+
			"WARC-Target-URI: %s\r\nWARC-Payload-Digest: %s\r\nContent-Type: application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
			i, c.URL, c.Digest, len(block), block)
		zip.Close()
	}
	return out.Bytes()
}

// clock times a benchmark by the clock and by what this program uses of the processors, which other work on the
// machine disturbs less.
type clock struct {
	b        *testing.B
	used, at time.Duration
}

func newClock(b *testing.B) *clock {
	t := &clock{b: b}
	t.at = t.now()
	return t
}

func (t *clock) now() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (t *clock) start() {
	t.at = t.now()
	t.b.StartTimer()
}

func (t *clock) stop() {
	t.b.StopTimer()
	t.used += t.now() - t.at
}

// report tells how many captures an operation of that many did each second, and each second of one processor.
func (t *clock) report(captures int) {
	all := float64(captures * t.b.N)
	t.b.ReportMetric(all/t.b.Elapsed().Seconds(), "captures/s")
	t.b.ReportMetric(all/t.used.Seconds(), "captures/cpu-s")
}

func openBench(b *testing.B) *Index {
	x, err := Open(Config{Dir: b.TempDir()}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	return x
}

func openBadger(b *testing.B) *badger.DB {
	db, err := badger.Open(badgerOptions(Config{Dir: b.TempDir(), MemoryMiB: 64}).WithLogger(nil))
	if err != nil {
		b.Fatal(err)
	}
	return db
}
