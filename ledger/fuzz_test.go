package ledger_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"holdfast/ledger"
	"holdfast/ledger/ledgertest"
)

// Whatever the bytes, reading a ledger ends with an error or gives what is written again as the same bytes.
func FuzzParse(f *testing.F) {
	a := ledgertest.New(f)
	a.Put("a.warc", "x")
	a.Put("b.warc", "y")
	base := a.Make()
	for _, text := range a.Shelf {
		f.Add(text)
	}
	names := []string{ledger.HeadName(base), ledger.SignaturesName(base), ledger.PageName(base, ledgertest.ID(a.Keys[0]))}
	f.Fuzz(func(t *testing.T, text []byte) {
		if h, err := ledger.ReadHead(names[0], text); err == nil && !bytes.Equal(h.Encode(), text) {
			t.Errorf("a head is written as\n%s", h.Encode())
		}
		if p, err := ledger.ReadPage(names[2], text); err == nil && !bytes.Equal(p.Encode(), text) {
			t.Errorf("a page is written as\n%s", p.Encode())
		}
		_, _ = ledger.ParseSignatures(names[1], bytes.NewReader(text))
		_, _ = ledger.ParseTrusted("members.txt", bytes.NewReader(text))
		_ = ledger.CheckTrail(ledger.File{Name: "trail"}, ledger.Span{First: 1}, bytes.NewReader(text))
		list := ledger.ListName(base, ledgertest.ID(a.Keys[0]))
		c, err := ledger.OpenChain([]ledger.List{{File: ledger.File{Name: list}}},
			func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil })
		for shard := 0; err == nil && shard < ledger.Shards; shard++ {
			_, _, err = c.Shard(shard)
		}
		if err == nil && c.Close() == nil {
			t.Error("a list of no digest is taken for right")
		}
	})
}

// nowhere is a Workshop that keeps nothing but sizes.
type nowhere struct{ bytes int64 }

func (n *nowhere) Write(p []byte) (int, error)           { n.bytes += int64(len(p)); return len(p), nil }
func (n *nowhere) Close() error                          { return nil }
func (n *nowhere) Create(string) (io.WriteCloser, error) { return n, nil }
func (n *nowhere) Open(string) (io.ReadCloser, error)    { return nil, io.EOF }
func (n *nowhere) Rename(string, string) error           { return nil }

// A page of 1 000 000 files; one shard of it is in memory at a time.
func BenchmarkMillion(b *testing.B) {
	for b.Loop() {
		n := &nowhere{}
		build := ledger.Build{Base: ledger.Base("north", time.Unix(0, 0), 1), Replica: "north", Holder: "h", Time: time.Unix(0, 0),
			In: n, Held: func(shard int) (ledger.Held, error) {
				out := make([]ledger.Entry, 244)
				for i := range out {
					out[i] = ledger.Entry{Name: fmt.Sprintf("%04d-%06d-metadata.warc.gz", shard, i), Size: int64(i)}
				}
				return ledger.Held{Files: out}, nil
			}}
		p, err := build.Make()
		if err != nil || p.Lists[0].Lines != 244*ledger.Shards {
			b.Fatal(err)
		}
		b.ReportMetric(float64(n.bytes)/float64(p.Lists[0].Lines), "bytes/file")
	}
}
