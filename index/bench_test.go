package index

import (
	"context"
	"log/slog"
	"testing"
)

// BenchmarkLoad is the sorted bulk load; the goal is 200 000 captures a second.
func BenchmarkLoad(b *testing.B) {
	const n = 500_000
	for b.Loop() {
		x := openBench(b)
		if err := x.Load(context.Background(), synthetic(n)); err != nil {
			b.Fatal(err)
		}
		x.Close()
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "captures/s")
}

func openBench(b *testing.B) *Index {
	x, err := Open(Config{Dir: b.TempDir()}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	return x
}
