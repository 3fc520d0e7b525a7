package node

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/cdx"
	"holdfast/node/lookup"
)

// copySize is what BenchmarkCopy copies; its baseline, bare QUIC, stands in package peer.
const copySize = 1 << 30

// benchNodes runs a cluster of two bitarchive nodes and a checksum node that hold the shards of their replicas.
func benchNodes(b *testing.B) []running {
	b.Helper()
	nodes := startNodes(b, threeConfigs(b, ""))
	for _, n := range nodes {
		eventually(b, "shards placed", func() error {
			for s := range catalog.Shard(catalog.Shards) {
				if holders := n.captures.Holders(s); len(holders) != 2 {
					return fmt.Errorf("%s: shard %d has holders %v", n.cfg.Name, s, holders)
				}
			}
			return nil
		})
	}
	return nodes
}

// processorTime returns what this program has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCopy has one node copy a file from another over the road that every copy takes: owed, fetched, hashed,
// synced, placed, listed in the manifest and reported to the catalog. The time is that from the beginning of the
// pull until the catalog has the copy as completed.
func BenchmarkCopy(b *testing.B) {
	nodes := benchNodes(b)
	north, south := nodes[0].Node, nodes[1].Node
	body := io.LimitReader(rand.NewChaCha8([32]byte{1}), copySize)
	file, err := north.files().Put(b.Context(), api.PutRequest{Collection: "web", Name: "copied.bin", Size: copySize, Body: body, Actor: "test"})
	if err != nil {
		b.Fatal(err)
	}
	eventually(b, "file is kept by all", func() error {
		if f, err := north.file(file.Name); err != nil || !f.Complete() || len(f.Copies) != 3 {
			return fmt.Errorf("%v %+v", err, f.Copies)
		}
		return nil
	})
	warm(b, north.store.Path(file.Name))
	watch := south.raft.Watch(catalog.PrefixFiles)
	defer watch.Close()
	b.SetBytes(copySize)
	var used time.Duration
	for b.Loop() {
		b.StopTimer()
		lose(b, south, file.Name)
		awaitPull(b, south)
		used -= processorTime(b)
		b.StartTimer()
		for completed := false; !completed; {
			<-watch.C
			f, err := south.file(file.Name)
			if err != nil {
				b.Fatal(err)
			}
			completed = f.Copy("south").Good()
		}
		used += processorTime(b)
	}
	b.ReportMetric(used.Seconds()/float64(b.N), "cpu-s/op")
}

// file returns the file as this node's catalog has it.
func (n *Node) file(name catalog.FileName) (f catalog.File, err error) {
	err = n.raft.View(func(v catalog.View) (err error) { f, err = v.File(name); return err })
	return f, err
}

// warm reads a file, so that the system has it in memory, as it has the file that the baseline sends.
func warm(b *testing.B, path string) {
	b.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if n, err := io.Copy(io.Discard, f); n != copySize || err != nil {
		b.Fatalf("%d bytes, %v", n, err)
	}
}

// lose takes a copy from under the node and tells the catalog that it is missing.
func lose(b *testing.B, n *Node, name catalog.FileName) {
	b.Helper()
	if err := n.store.Delete(name); err != nil {
		b.Fatal(err)
	}
	missing := catalog.Finding{Name: name, FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}
	result, err := n.raft.Propose(b.Context(), catalog.FindCopies, catalog.Findings{Node: n.id, Files: []catalog.Finding{missing}}, string(n.id))
	if err != nil || result.Refusal != nil {
		b.Fatal(err, result.Refusal)
	}
}

// awaitPull returns as soon as the node makes a copy.
func awaitPull(b *testing.B, n *Node) {
	b.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for now := range tick.C {
		if len(n.replica.Pulls()) > 0 {
			return
		}
		if now.After(deadline) {
			b.Fatal("no copy was begun within a minute")
		}
	}
}

const (
	lookupCaptures = 300_000
	lookupHosts    = 1_000
	lookupFiles    = 400
)

// lookupCapture is capture i in the order of keys, three of each URL.
func lookupCapture(i int) cdx.Capture {
	perHost := lookupCaptures / lookupHosts
	host, rest := i/perHost, i%perHost
	url := fmt.Sprintf("http://host%05d.example.org/section/page-%04d.html", host, rest/3)
	return cdx.Capture{
		Key: fmt.Sprintf("org,example,host%05d)/section/page-%04d.html", host, rest/3), URL: url,
		Timestamp: fmt.Sprintf("2026%02d0112%04d", 1+rest%3*4, i%60), MIME: "text/html", Status: 200,
		Digest: fmt.Sprintf("sha1:%032d", i), File: fmt.Sprintf("%d-1-20260101000000000-%05d-north-1.warc.gz", i%7, i%lookupFiles),
		Offset: int64(i) * 4096, Length: 4000,
	}
}

// BenchmarkLookupThreeNodes asks the node of the checksum replica, which has no index itself, for all captures of a
// URL. It asks the nodes that have the shards.
func BenchmarkLookupThreeNodes(b *testing.B) {
	nodes := benchNodes(b)
	all := iter.Seq2[cdx.Capture, error](func(yield func(cdx.Capture, error) bool) {
		for i := range lookupCaptures {
			if !yield(lookupCapture(i), nil) {
				return
			}
		}
	})
	for _, n := range nodes[:2] {
		if err := n.index.Load(b.Context(), all); err != nil {
			b.Fatal(err)
		}
	}
	took := make([]time.Duration, 0, 1<<16)
	for i := 0; b.Loop(); i++ {
		want := lookupCapture(i * 3 * 7919 % lookupCaptures)
		begin := time.Now()
		got, err := capturesOf(b.Context(), nodes[2].Node, want.URL)
		took = append(took, time.Since(begin))
		if err != nil || len(got) != 3 || got[0].Digest != want.Digest {
			b.Fatalf("%s: %d captures %+v, error %v, want 3 and the first %+v", want.URL, len(got), got, err, want)
		}
	}
	slices.Sort(took)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(took[len(took)*p/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", p))
	}
}

func capturesOf(ctx context.Context, n *Node, url string) (all []cdx.Capture, err error) {
	for c, err := range (lookup.Arranged{Captures: n.captures}).Query(ctx, cdx.Query{URL: url}) {
		if err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}
