package nemesis

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestPlanFollowsFromTheSeed(t *testing.T) {
	seen := map[Kind]bool{}
	for seed := range uint64(200) {
		a, b := MakePlan(seed, 30*time.Second), MakePlan(seed, 30*time.Second)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d has two plans:\n%v\n%v", seed, a, b)
		}
		if seed > 0 && reflect.DeepEqual(a.Faults, MakePlan(seed-1, 30*time.Second).Faults) {
			t.Errorf("seeds %d and %d have the same plan", seed-1, seed)
		}
		for _, f := range a.Faults {
			seen[f.Kind] = true
			if f.At <= 0 || f.At >= a.Length || f.Peer == f.Node {
				t.Errorf("seed %d: %+v", seed, f)
			}
			if damages(f.Kind) && !strings.HasPrefix(f.Node, a.Rot) {
				t.Errorf("seed %d damages bytes of %s, though they rot in %s only", seed, f.Node, a.Rot)
			}
		}
	}
	for _, deck := range [][]Kind{interrupts, damage, moves} {
		for _, kind := range deck {
			if !seen[kind] {
				t.Errorf("no seed of 200 has a %s", kind)
			}
		}
	}
}
