package replica

import (
	"io"
	"math/rand/v2"
	"testing"
)

// rangeSize is what the benchmarks of ranges read at once, from anywhere in a stored file.
const rangeSize = 64 << 10

// BenchmarkRange reads ranges whose blocks are verified before they are given, each by a reader of its own.
func BenchmarkRange(b *testing.B) {
	s, held := benchPlaced(b)
	random := rand.New(rand.NewPCG(1, 2))
	into := make([]byte, rangeSize)
	b.SetBytes(rangeSize)
	b.ReportAllocs()
	for b.Loop() {
		in, err := s.openSound(b.Context(), held, random.Int64N(held.Size-rangeSize), rangeSize, false, false)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(in, into); err != nil {
			b.Fatal(err)
		}
		in.Close()
	}
}

// BenchmarkRangeBaseline reads the same ranges as they lie on the disk.
func BenchmarkRangeBaseline(b *testing.B) {
	s, held := benchPlaced(b)
	random := rand.New(rand.NewPCG(1, 2))
	into := make([]byte, rangeSize)
	b.SetBytes(rangeSize)
	b.ReportAllocs()
	for b.Loop() {
		in, err := s.Open(held.Name)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := in.ReadAt(into, random.Int64N(held.Size-rangeSize)); err != nil {
			b.Fatal(err)
		}
		in.Close()
	}
}

// benchPlaced returns a store that holds a large file in its shard.
func benchPlaced(b *testing.B) (*Store, Held) {
	b.Helper()
	s, held := benchStore(b)
	if err := s.ownCopy(b.Context(), held); err != nil {
		b.Fatal(err)
	}
	return s, held
}
