package history

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"holdfast/catalog/agree"
	"holdfast/internal/kv/memory"
)

// counting counts the keys that are read one by one.
type counting struct {
	memory.Tx
	gets int
}

func (c *counting) Get(key []byte) ([]byte, error) {
	c.gets++
	return c.Tx.Get(key)
}

// A range says what View.Best says, of names whose keys are not in the order of the domains too, and reads hardly any
// key by itself.
func TestARangeSaysWhatBestSays(t *testing.T) {
	t.Parallel()
	var domains []string
	for _, name := range []string{"a", "a-", "a-b", "a.b", "a.b-c", "a.b.c", "a0", "aa", "b", "b-a.org", "b.org", "b.org.uk", "b0.org", "z"} {
		for _, more := range []string{"", ".x", "-x", "0"} {
			domains = append(domains, name+more)
		}
	}
	slices.Sort(domains)
	r := rand.New(rand.NewPCG(1, 2))
	configurations := []string{"defaultconfig", "other"}
	for round := range 300 {
		all := &counting{}
		for _, d := range domains {
			for i, name := range configurations {
				if r.IntN(4) < 3-i {
					value, err := json.Marshal(Best{Job: r.Uint64N(100), Objects: r.Int64N(1000), Completed: r.IntN(2) == 0})
					if err != nil {
						t.Fatal(err)
					}
					if err := all.Set([]byte(keyBest(d, name)), append([]byte{agree.ValueVersion}, value...)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if err := all.Set([]byte("history0"), []byte("another subject's")); err != nil {
			t.Fatal(err)
		}
		view, most := NewView(all), []int{1, 3, 1000}[round%3]
		first := r.IntN(len(domains))
		last := first + r.IntN(len(domains)-first)
		in, err := view.Range(domains[first], domains[last], most)
		if err != nil {
			t.Fatal(err)
		}
		alone := 0 // keys of the range's domains that it had to read by themselves
		for i, d := range domains {
			for _, name := range configurations {
				all.gets = 0
				got, err := in.Best(d, name)
				if err != nil {
					t.Fatal(err)
				}
				if i >= first && i <= last {
					alone += all.gets
				}
				if want, err := view.Best(d, name); err != nil || got != want {
					t.Errorf("%s of %s: %+v, want %+v, %v", name, d, got, want, err)
				}
			}
		}
		// behind the domain that ended it there may be some whose keys it did not come to
		if most == 1000 && alone > 4*len(configurations) {
			t.Errorf("%d keys were read by themselves for %d domains from %s", alone, last-first+1, domains[first])
		}
	}
}
