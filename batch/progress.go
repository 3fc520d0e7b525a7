package batch

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"holdfast/catalog"
	"holdfast/catalog/batches"
)

// Progress is how far a batch is that runs.
type Progress struct {
	batches.Summary
	Shards     int    `json:"shards"`           // with selected files
	ShardsDone int    `json:"shardsDone"`       // whose results are kept
	Detail     string `json:"detail,omitempty"` // what it waits for
}

// tally counts how a batch goes. Its methods may be called at the same time.
type tally struct {
	mu     sync.Mutex
	sum    Progress
	held   int64 // bytes of outputs that are being taken
	shares map[catalog.NodeID]*batches.Share
}

func newTally() *tally { return &tally{shares: map[catalog.NodeID]*batches.Share{}} }

// begin counts from 0 again, for these numbers of files and shards.
func (t *tally) begin(files int64, shards int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum = Progress{Summary: batches.Summary{Selected: files}, Shards: shards, Detail: t.sum.Detail}
	t.shares, t.held = map[catalog.NodeID]*batches.Share{}, 0
}

// hold reserves room in the result for one of several outputs under way; false if the result would become too large.
// letGo frees the room again, and spend counts it as used.
func (t *tally) hold(most, n int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if most != 0 && n > most-t.sum.Output-t.held {
		return false
	}
	t.held += n
	return true
}

func (t *tally) letGo(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held -= n
}

// spend counts a file for whose output there was room kept.
func (t *tally) spend(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held -= e.Length
	t.count(e)
}

func (t *tally) detail(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Detail = text
}

// add counts a file.
func (t *tally) add(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(e)
}

// count is add for who has the lock.
func (t *tally) count(e *entry) {
	if e.Failed != "" {
		t.sum.Failed++
		t.sum.Failures = append(t.sum.Failures, batches.Failure{Name: e.Name, Reason: e.Failed})
		if len(t.sum.Failures) >= 2*batches.MostFailures {
			t.sum.Failures = firstFailures(t.sum.Failures)
		}
		return
	}
	t.sum.Files++
	t.sum.Bytes += e.Size
	t.sum.Output += e.Length
	share := t.shares[e.Node]
	if share == nil {
		share = &batches.Share{Node: e.Node}
		t.shares[e.Node] = share
	}
	share.Files++
	share.Bytes += e.Size
}

// shard counts a shard that is done: nothing is waited for.
func (t *tally) shard() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.ShardsDone++
	t.sum.Detail = ""
}

// left returns how many bytes the result may still get; negative: any number.
func (t *tally) left(most int64) int64 {
	if most == 0 {
		return -1
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(0, most-t.sum.Output)
}

// now returns how far the batch is.
func (t *tally) now() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.sum
	out.Failures = firstFailures(slices.Clone(t.sum.Failures))
	for _, id := range slices.Sorted(maps.Keys(t.shares)) {
		if len(out.Nodes) < batches.MostShares {
			out.Nodes = append(out.Nodes, *t.shares[id])
		}
	}
	return out
}

// firstFailures returns as many as a summary keeps, by name.
func firstFailures(all []batches.Failure) []batches.Failure {
	slices.SortFunc(all, func(a, b batches.Failure) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return all[:min(len(all), batches.MostFailures)]
}
