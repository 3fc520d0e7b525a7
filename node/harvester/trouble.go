package harvester

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// trouble is what keeps this leader from making the jobs of runs, for example a full disk. It tries each of them again.
// Its methods may be called at the same time.
type trouble struct {
	*sync.Mutex
	why map[key]error
}

func newTrouble() trouble { return trouble{new(sync.Mutex), map[key]error{}} }

func (t trouble) note(k key, err error) {
	t.Lock()
	defer t.Unlock()
	t.why[k] = err
}

// settle notes that a run was split, or need not be.
func (t trouble) settle(k key) {
	t.Lock()
	defer t.Unlock()
	delete(t.why, k)
}

// forget forgets all: another node leads.
func (t trouble) forget() {
	t.Lock()
	defer t.Unlock()
	clear(t.why)
}

// say names the first runs, and why each waits.
func (t trouble) say() (out []string) {
	t.Lock()
	defer t.Unlock()
	all := slices.SortedFunc(maps.Keys(t.why), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.harvest, b.harvest), cmp.Compare(a.run, b.run))
	})
	for _, k := range all[:min(len(all), problemsShown)] {
		out = append(out, fmt.Sprintf("the jobs of run %d of harvest %d could not be made here, and are tried again: "+
			"%v", k.run, k.harvest, t.why[k]))
	}
	return out
}
