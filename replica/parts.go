package replica

import (
	"context"
	"sync/atomic"
	"time"

	"holdfast/catalog"
)

// findings are what is found to be wrong here; they go to the catalog.
type findings struct {
	*agreed
	*holdings
}

// entries are the files whose source this node is: it lets them enter the archive, and looks after the bytes in its
// outbox until they are released.
type entries struct {
	*agreed
	*holdings
	peers    Peers
	pace     *limiter // of audits
	pending  *pending
	takeover *takeover
	releases *releases
}

// releases are of what the catalog does not ask this node to keep any more.
type releases struct {
	*agreed
	*holdings
	duties  Duties
	pending *pending
	leaving *leaving
	refused refusals
}

// puller makes the copies that this node owes.
type puller struct {
	*agreed
	*holdings
	entries *entries
	// what lies here, at rest
	own       func(ctx context.Context, from catalog.NodeID, name catalog.FileName) (Held, error)
	peers     Peers
	duties    Duties
	bandwidth *limiter // of fetches
	sources   *sources
	pulls     *pulls
	reports   *reporter
	leaving   *leaving
	emptied   time.Time // until then shards without files are not taken over again; of the pull road alone
	proved    *proved
}

// mender looks after files that lie here without being vouched for, or are missing.
type mender struct {
	*findings
	pulls *pulls
}

// comparer compares what is here with the catalog after a recovery of the cluster.
type comparer struct{ *findings }

// auditor reads what is here again and again.
type auditor struct {
	*findings
	entries *entries
	peers   Peers
	duties  Duties
	audits  *audits
	pace    *limiter
}

// server gives files to others and to readers.
type server struct {
	*findings
	entries             *entries
	peers               Peers
	bulk, reads, hashes slots    // admission of others
	answers             slots    // of those who challenge
	answering           *limiter // of what is read for them
	giving              *limiter // of what others copy from here
	sources             *sources
	proved              *proved
	checks              *checks
	lastRead            atomic.Int64 // when a reader was last given bytes, in nanoseconds since 1970
}

// finder looks for bytes that nobody asks for.
type finder struct {
	*agreed
	*holdings
	entries  *entries
	releases *releases
	duties   Duties
	pulls    *pulls
	pace     *limiter // of audits
	strays   strays
}
