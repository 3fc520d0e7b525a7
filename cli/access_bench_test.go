package cli

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"time"

	"holdfast/access"
	"holdfast/cdx"
	"holdfast/index"
	"holdfast/internal/disk"
)

// BenchmarkLookupUnderRules looks up a URL's captures in an index of 200 000, with different numbers of rules. With
// 100 000 it may cost a tenth more than without any.
func BenchmarkLookupUnderRules(b *testing.B) {
	x, err := index.Open(index.Config{Dir: b.TempDir(), MemoryMiB: 64, Disk: disk.New()}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	const urls = 50_000
	url := func(i int) string { return fmt.Sprintf("http://site%05d.example.com/path/%d/page", i/10, i) }
	if err := x.Load(b.Context(), func(yield func(cdx.Capture, error) bool) {
		for i := range urls {
			key, err := cdx.Key(url(i))
			if err != nil {
				b.Fatal(err)
			}
			for year := range 4 {
				c := cdx.Capture{Key: key, Timestamp: fmt.Sprintf("20%d0101000000", 20+year), URL: url(i), MIME: "text/html", Status: 200,
					Digest: fmt.Sprintf("sha1:%032d", i), Length: 1000, Offset: int64(4*i + year), File: "a.warc.gz"}
				if !yield(c, nil) {
					return
				}
			}
		}
	}); err != nil {
		b.Fatal(err)
	}
	counts := []int{0, 100, 100_000}
	var sights []*access.Sight
	for _, n := range counts {
		var p access.Policy
		for i := range n {
			rule := access.Rule{Prefix: fmt.Sprintf("com,example,site%05d)/path/%d/private", i%5000, i/2), Access: access.Exclude}
			if i%20 == 0 {
				rule.Prefix = fmt.Sprintf("com,example,site%05d", i%5000)
				rule.Newer = "1y"
			}
			p.Rules = append(p.Rules, rule)
		}
		sights = append(sights, p.Compile().For(access.Who{Address: netip.MustParseAddr("192.0.2.1"), At: time.Now()}))
	}
	took := make([][]time.Duration, len(sights))
	for i := 0; b.Loop(); i++ {
		for turn, sight := range sights { // one after the other, so that what else the machine does strikes all
			q := cdx.Query{URL: url((3*i + turn) * 7919 % urls), Sort: cdx.Closest, Closest: "20220601000000", Limit: 10,
				Gate: access.Listed{Sight: sight}}
			found, began := 0, time.Now()
			for _, err := range x.Query(b.Context(), q, nil) {
				if err != nil {
					b.Fatal(err)
				}
				found++
			}
			if took[turn] = append(took[turn], time.Since(began)); found != 4 {
				b.Fatalf("%s: %d captures", q.URL, found)
			}
		}
	}
	for turn, n := range counts {
		slices.Sort(took[turn])
		b.ReportMetric(float64(took[turn][len(took[turn])/2].Nanoseconds())/1000, fmt.Sprintf("µs-%d-rules", n))
	}
}
