package harvester

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"holdfast/alert"
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

// alerts names the first runs, and why each waits.
func (t trouble) alerts() (out []alert.Alert) {
	t.Lock()
	defer t.Unlock()
	all := slices.SortedFunc(maps.Keys(t.why), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.harvest, b.harvest), cmp.Compare(a.run, b.run))
	})
	for _, k := range all[:min(len(all), problemsShown)] {
		out = append(out, alert.New(alert.RunNotSplit, fmt.Sprintf("%d/%d", k.harvest, k.run), "run",
			alert.Number(k.run), "harvest", alert.Number(k.harvest), "reason", t.why[k].Error()))
	}
	return out
}
