package replica

import (
	"sync"

	"holdfast/catalog"
)

// leaving keeps two acts on a shard apart: the deletion of released bytes, and the look at what is here of a shard
// that comes back. A deletion begins with a look at the catalog. If the shard came back after that look, bytes about
// to be deleted would be taken for a copy, and the copy that they came from would be released.
type leaving [catalog.Shards]sync.Mutex

// begin locks what is here of the shard until end is called: from before the catalog is asked whether it counts on
// the bytes until they are gone.
func (l *leaving) begin(shard catalog.Shard) (end func()) {
	l[shard].Lock()
	return l[shard].Unlock
}

// pass waits until deletions in the shard have ended. The caller has seen that the catalog wants the shard's files
// here, so no later deletion takes them.
func (l *leaving) pass(shard catalog.Shard) { l.begin(shard)() }
