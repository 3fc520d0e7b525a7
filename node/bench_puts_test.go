package node

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/api"
	"holdfast/catalog"
)

// BenchmarkPuts puts 2 000 files of 64 KiB, or HOLDFAST_PUTS of them, into three nodes by sixteen callers, and waits until
// all are complete: copied to both replicas with bytes, recorded by the third, and released by their source. In the same
// run the same writes and syncs are made without Holdfast: bare/s.
func BenchmarkPuts(b *testing.B) {
	files := 2000
	if text := os.Getenv("HOLDFAST_PUTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		files = n
	}
	body := make([]byte, 64<<10)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(body)
	bare := bareSyncs(b, files, body)
	nodes := benchNodes(b)
	m := &manyDomains{b: b, n: nodes[0]}
	round := 0
	for b.Loop() {
		round++
		began, used := time.Now(), processorTime(b)
		var next, failed atomic.Int64
		var callers sync.WaitGroup
		for range 16 {
			callers.Go(func() {
				own := bytes.Clone(body)
				for {
					i := next.Add(1)
					if i > int64(files) {
						return
					}
					copy(own, fmt.Sprintf("%d of round %d", i, round))
					name := catalog.FileName(fmt.Sprintf("%d-1-20261120120000000-%05d-put-%d.warc.gz", i/100, i, round))
					_, err := nodes[i%2].files().Put(b.Context(), api.PutRequest{Collection: "web", Name: name,
						Size: int64(len(own)), Body: bytes.NewReader(own), Actor: "test"})
					if err != nil && !errors.Is(err, api.ErrUnavailable) {
						failed.Add(1)
						b.Error(err)
						return
					}
				}
			})
		}
		callers.Wait()
		put := time.Since(began)
		m.await("all are complete", func(v catalog.View) error {
			for _, r := range []catalog.ReplicaName{"north", "south", "third"} {
				t, err := v.Totals(r)
				if err != nil || t.Owed > 0 {
					return fmt.Errorf("%s owes %d, %v", r, t.Owed, err)
				}
			}
			for _, n := range nodes {
				if all, err := v.Sourced(n.id, "", 1); err != nil || len(all) > 0 {
					return fmt.Errorf("%d are not released, %v", len(all), err)
				}
			}
			return nil
		})
		b.ReportMetric(float64(files)/put.Seconds(), "puts/s")
		b.ReportMetric(float64(files)/time.Since(began).Seconds(), "complete/s")
		b.ReportMetric(1/bare.Seconds(), "bare/s")
		b.ReportMetric(100*float64(files)*bare.Seconds()/time.Since(began).Seconds(), "%-of-bare")
		b.ReportMetric(float64((processorTime(b)-used).Milliseconds())/float64(files), "cpu-ms/file")
	}
}
