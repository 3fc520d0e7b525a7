package replica

import (
	"sync"

	"holdfast/catalog"
)

// leaving keeps apart, shard by shard, the deletion of released bytes and the looks at what is here of a shard that comes
// back. A deletion begins with a look at the catalog; were the shard to come back behind that look, bytes on their way out
// would be taken for a copy, and the copy it came from let go.
type leaving [catalog.Shards]sync.Mutex

// begin keeps others from what is here of the shard until end is called: from before the catalog is asked whether it counts
// on the bytes until they are gone.
func (l *leaving) begin(shard catalog.Shard) (end func()) {
	l[shard].Lock()
	return l[shard].Unlock
}

// pass waits until what is being deleted of the shard is gone. The caller has seen that the catalog wants the shard's files
// here; so no later deletion takes them.
func (l *leaving) pass(shard catalog.Shard) { l.begin(shard)() }
