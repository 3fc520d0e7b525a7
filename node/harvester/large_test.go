package harvester

import (
	"fmt"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/runs"
	"holdfast/internal/seed"
)

// TestALargeSplitOfManyLeaders stops twenty leaders in a split of 100 000 domains, with -short of 3000. No
// job is so small that one command makes it.
func TestALargeSplitOfManyLeaders(t *testing.T) {
	t.Parallel()
	n, size, gap := 100_000, 1000, 12
	if testing.Short() {
		n, size, gap = 3000, 420, 3
	}
	random := seed.Rand(t)
	a := newAlone(t)
	a.settings(fmt.Sprintf(`{"domain_config_subset_size":%d}`, size))
	var want []string
	for i := range n {
		name := domains.Name(fmt.Sprintf("d%06d.org", i))
		a.must(domains.Create, domains.Creation{Name: name, Collection: "web"})
		want = append(want, string(name)+"/defaultconfig")
	}
	number := a.define(runs.Snapshot, runs.Asked{Name: "all"})
	a.begin(number)
	left, next := 20, random.IntN(gap)
	a.before = func(catalog.Kind, any) (bool, error) {
		if next--; next > 0 || left == 0 {
			return true, nil
		}
		left, next = left-1, random.IntN(gap)
		return random.IntN(2) == 0, errCut
	}
	for tries := 0; a.harvester().Split(t.Context(), number, 1) != nil; tries++ {
		if tries > 20 {
			t.Fatal("the split does not end")
		}
	}
	if left > 0 {
		t.Errorf("%d leaders were not stopped", left)
	}
	a.once(number, 1, want)
}
