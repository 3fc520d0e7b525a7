package raft

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// TestBatchesDoNotMatter applies the same entries, of which some come twice, in batches of other sizes on each node: all
// answer the same, and the state is the same.
func TestBatchesDoNotMatter(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 8))
	var logs []*hraft.Log
	seq := uint64(0)
	for i := range 4000 {
		seq++
		again := seq
		if seq > 8 && random.IntN(4) == 0 {
			again, seq = seq-random.Uint64N(8), seq-1
		}
		body, err := json.Marshal(tinyAdd{Key: "x", N: 1})
		if err != nil {
			t.Fatal(err)
		}
		data, err := command(catalog.Command{Version: 1, Kind: addKind, Node: "a", Boot: 1, Seq: again, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, &hraft.Log{Index: uint64(2 * (i + 1)), Term: 1, Type: hraft.LogCommand, Data: data})
	}
	var want []string
	for _, most := range []int{1, 3, 20, 300} {
		s, err := openState(t.TempDir(), disk.New(), 4, true, func(string) error { return nil }, quiet())
		if err != nil {
			t.Fatal(err)
		}
		f := &fsm{room: roomy(), state: s, machine: tiny{}, fail: func(err error) { t.Error(err) }}
		var got []string
		for rest := logs; len(rest) > 0; {
			n := min(len(rest), 1+random.IntN(most))
			for _, out := range f.ApplyBatch(rest[:n]) {
				got = append(got, string(out.(outcome).result.Value))
			}
			rest = rest[n:]
		}
		if want == nil {
			want = got
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("in batches of up to %d, entry %d answers %s; one by one it was %s", most, i, got[i], want[i])
			}
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(want)))
	if len(distinct) != int(seq) {
		t.Errorf("%d answers to %d commands", len(distinct), seq)
	}
}
