// Package batch runs programs over the files of the archive where these lie. One node drives a batch: it asks the nodes
// that have the files for what the program makes of them, shard by shard, and keeps the results on its disk until they
// are read as one stream in the order of the names. Every node is a worker, too: it runs programs over its own files,
// and compares each file with its digest on the one read that the program does.
package batch

import (
	"context"
	"io"
	"log/slog"
	"net"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/batches"
	"holdfast/internal/disk"
)

// Catalog is the agreed state, and how to change it.
type Catalog interface {
	View(see func(catalog.View) error) error
	// Linear returns when View sees all that was agreed before the call.
	Linear(ctx context.Context) error
	Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error)
}

// Files are the files of this node.
type Files interface {
	// Open opens a file to be read from its beginning, and says how large it is. ErrAbsent: it is not here.
	Open(name catalog.FileName) (io.ReadCloser, int64, error)
	// Doubt has this node's copy read again, and its state agreed: what was read of it was wrong.
	Doubt(name catalog.FileName)
	// Busy reports whether readers, copies or repairs are waiting for this node's disks.
	Busy() bool
}

// Nodes reach the other nodes.
type Nodes interface {
	Open(ctx context.Context, to catalog.NodeID, kind string) (net.Conn, error)
}

// The kinds of requests between nodes: a stream of what a worker makes of files, and one of a batch's result. They are
// on the wire and keep their meaning.
const (
	TaskStream   = "batch.task"
	ResultStream = "batch.result"
	ProgressCall = "batch.progress"
)

// Config is what the batches of a node are opened with.
type Config struct {
	Self     catalog.NodeID
	Dir      string // of its own: results, a folder for each batch that this node drives
	Work     string // of its own: outputs that are large, until the node that asked has them
	Disk     disk.Disk
	Room     func() (int64, error) // bytes that may still be written there
	Programs Table
	Catalog  Catalog
	Files    Files
	Nodes    Nodes
	Near     func(holdings []catalog.Holding) []catalog.Holding // the nearest living one first
	Duties   Duties
	Now      func() time.Time // the time that the members agree on
	Limits   Limits
	Log      *slog.Logger
}

// Duties say what this node owes, decided from the catalog.
type Duties interface {
	// Claims returns the batches that this node may claim while it drives that number of them.
	Claims(driving int) ([]batches.Holder, error)
}

// Limits bound what batches take of a node. Zero values have defaults.
type Limits struct {
	Files  int           // that are processed at once; 2
	Shards int           // that a batch asks for at once; 4
	Pace   int64         // bytes per second that programs read here, all together; 0: as the disks can
	Memory int64         // bytes that one program may take; 64 MiB
	Again  time.Duration // after which what failed is tried again; 5 s
	// Together is how many files, or one shard's, may wait at a time for nodes that do not answer: their entries are in
	// memory; 500 000.
	Together int64
	// Patience is how long files are waited for whose nodes do not answer; 2 min.
	Patience time.Duration
}

func (l Limits) filled() Limits {
	if l.Files <= 0 {
		l.Files = 2
	}
	if l.Shards <= 0 {
		l.Shards = 4
	}
	if l.Memory <= 0 {
		l.Memory = 64 << 20
	}
	if l.Again <= 0 {
		l.Again = 5 * time.Second
	}
	if l.Together <= 0 {
		l.Together = 500_000
	}
	if l.Patience <= 0 {
		l.Patience = 2 * time.Minute
	}
	return l
}

// Batches are the batches of a node: those that it drives, and its work for those that others drive.
type Batches struct {
	*driver
	*worker
}

// New returns the batches of a node. Run drives them.
func New(cfg Config) *Batches {
	cfg.Limits = cfg.Limits.filled()
	work := newWorker(cfg)
	return &Batches{newDriver(cfg, work), work}
}
