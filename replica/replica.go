// Package replica is the bit archive of one node: it stores the archive's files under their shards,
// pulls the copies this node owes from other nodes and verifies them, serves its own, audits what it
// holds, sets bad copies aside and deletes only what the catalog has released.
//
// The archive on disk is plain: files/<shard>/<name> beside a manifest-sha256.txt that sha256sum -c
// checks at any time, after kill -9 too. What is owed is decided elsewhere and handed in through
// Duties; this package carries it out and reports.
package replica

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"holdfast/catalog"
)

// Answers that a caller acts on.
var (
	// ErrBusy reports that the source has as many readers as it admits; try another, or later.
	ErrBusy = errors.New("too many copies are being read at once")
	// ErrNotHere reports that a node does not have the file's bytes: look at the catalog again.
	ErrNotHere = errors.New("this node does not have the file")
	// ErrNoCopy reports that none of a file's reachable copies could be read.
	ErrNoCopy = errors.New("no copy can be read now")
	// ErrDamaged reports that bytes do not match the file's digest.
	ErrDamaged = errors.New("copy does not match its digest")
	// ErrChanged reports a file that changed while it was put.
	ErrChanged = errors.New("file changed while it was read")
	// ErrExists reports that other bytes are already kept under the name.
	ErrExists = errors.New("the archive has other bytes under that name")
	// ErrPending reports a file whose bytes are safe in the outbox while the catalog could not be told
	// yet; it is proposed again until the catalog answers.
	ErrPending = errors.New("the cluster has not decided yet")
	// ErrRange reports a range that does not lie within the file.
	ErrRange = errors.New("range is outside the file")
	// ErrUnknown reports a file that the catalog does not have, or an audit that this node does not have.
	ErrUnknown = errors.New("no such file")
)

// Peers reaches the same package on other nodes. A call answers ErrBusy or ErrNotHere as the node
// answered, or an error of the connection; it ends when its context does.
type Peers interface {
	// Sources returns the nodes that have a good copy of the file, nearest first, this one left out.
	Sources(file catalog.File) ([]catalog.NodeID, error)
	// Fetch returns the file's bytes from offset to the end, for a new copy.
	Fetch(ctx context.Context, from catalog.NodeID, name catalog.FileName, offset int64) (io.ReadCloser, error)
	// Read returns length bytes of the file from offset, for a reader who waits. The node verifies them before it sends
	// them, and ends early when they are wrong.
	Read(ctx context.Context, from catalog.NodeID, name catalog.FileName, offset, length int64) (io.ReadCloser, error)
	// Checksum makes the node read its bytes of the file at rest and returns their size and digest.
	Checksum(ctx context.Context, from catalog.NodeID, name catalog.FileName) (Held, error)
	// Challenge makes the node read its bytes of a file and returns its answer; ErrNotExaminer if this node is not to
	// ask.
	Challenge(ctx context.Context, to catalog.NodeID, c Challenge) ([]byte, error)
}

// Catalog is the agreed state.
type Catalog interface {
	// View calls see with one consistent state.
	View(see func(catalog.View) error) error
	// Propose carries a command through consensus; a refusal is in the result.
	Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error)
	// Watch returns a channel that receives after changes to files, copies or placements, and its end.
	Watch() (changed <-chan struct{}, stop func())
}

// Fetch is one copy that this node owes, with the nodes to ask for it in order; this one may be among them,
// as the file's source. A checksum replica's may have none: then Peers.Sources names them.
type Fetch struct {
	File    catalog.File
	Sources []catalog.NodeID
}

// Moves are the shards that come to this node or went away from it.
type Moves struct {
	In  []catalog.Shard // this node is next
	Out []catalog.Shard // it was the holder, and releases its remaining files of them
}

// Duties says what this node owes, decided from the catalog.
type Duties interface {
	// Needed looks at n of the owed copies that go before all others, of files behind after, and at those that changed
	// lately. It returns those that can be made, in the order of need, and the name to continue behind, empty when
	// there are no more. None in a cluster whose catalog does not list them: then they are found among the Fetches.
	Needed(after catalog.FileName, n int) (fetches []Fetch, next catalog.FileName, err error)
	// Fetches returns about n owed copies behind the cursor, and the cursor behind them; the zero cursor
	// when there are no more. Copies that failed and whose pause is not over may be left out.
	Fetches(after catalog.Cursor, n int) ([]Fetch, catalog.Cursor, error)
	// Releases returns at most n names behind the given one whose bytes this node may ask to release.
	Releases(after catalog.FileName, n int) ([]catalog.FileName, error)
	// Moves returns the shards on the move.
	Moves() (Moves, error)
	// Audits returns the shards of this node whose next audit is due, the longest due first.
	Audits() ([]catalog.Shard, error)
}

// Config says who this node is and how much it does at once.
type Config struct {
	Self      catalog.NodeID
	Replica   catalog.ReplicaName
	Audits    string // folder for the state of audits, <data>/audits
	Pulls     int    // fetches at once, 4 if 0
	Serves    int    // copies that others may read here at once, 4 if 0
	Bandwidth int64  // bytes/s that all fetches together may take, no limit if 0
	Giving    int64  // bytes/s that copies which others make here may take together, no limit if 0
	AuditRate int64  // bytes/s at which audits read, no limit if 0
	// PresenceEvery is how often it is looked whether all files are there; only when asked for if 0.
	PresenceEvery time.Duration
	// Challenges is the share of the copies it examines that a node challenges after each draw; only when asked for
	// if 0.
	Challenges float64
	// AuditHours tells whether audits that nobody asked for may be at work at the time; always if nil.
	AuditHours func(time.Time) bool
	// Way notes that something is done with a file, such as "put" or "copy"; what it returns is called at the end with
	// what came of it. Nothing is noted if nil.
	Way func(ctx context.Context, step string, name catalog.FileName) func(error)
	// DiskGrace is for how long a disk for files may be away before its shards are made again on others; never if 0.
	DiskGrace time.Duration
}

func (c *Config) way(ctx context.Context, step string, name catalog.FileName) func(error) {
	if c.Way == nil {
		return func(error) {}
	}
	return c.Way(ctx, step, name)
}

// Replica carries out what its node owes to the archive. Its parts share what is agreed and what is kept here, and know
// of each other what they name.
type Replica struct {
	*agreed
	*holdings
	*findings
	*entries
	*releases
	*puller
	*mender
	*comparer
	*auditor
	*server
	*finder
	Disks   *Disks   // of this node
	Again   *Rereads // of this node's bytes
	back    *backReader
	witness *witness
	remade  *remaking
}

// New returns the replica of a node; Run makes it work. sums is nil except on a node of a checksum replica, which
// records checksums instead of keeping bytes; such a node has a store too, for its outbox. The state of audits is
// read from cfg.Audits.
func New(cfg Config, store *Store, sums *Checksums, peers Peers, cat Catalog, duties Duties,
	log *slog.Logger) (*Replica, error) {
	if cfg.Pulls <= 0 {
		cfg.Pulls = 4
	}
	if cfg.Serves <= 0 {
		cfg.Serves = 4
	}
	audits, err := openAudits(cfg.Audits, store.disk, log)
	if err != nil {
		return nil, err
	}
	agreed, kept, pace := &agreed{cfg, cat, log}, &holdings{store, sums}, newLimiter(cfg.AuditRate)
	found := &findings{agreed, kept}
	pulls, sources, pending, leaving, proved := newPulls(store.shards.diskOf, store.hasRoom), newSources(),
		newPending(), new(leaving), newProved()
	free := &releases{agreed: agreed, holdings: kept, duties: duties, pending: pending, leaving: leaving}
	own := &entries{releases: free, agreed: agreed, holdings: kept, peers: peers, pace: pace, pending: pending,
		takeover: newTakeover()}
	serves := &server{findings: found, entries: own, peers: peers, bulk: make(slots, cfg.Serves),
		reads:  make(slots, 16*cfg.Serves),
		hashes: make(slots, cfg.Serves), answers: make(slots, challengesAtOnce),
		answering: answerLimit(cfg.AuditRate), giving: newLimiter(cfg.Giving), sources: sources, proved: proved}
	pull := &puller{agreed: agreed, holdings: kept, entries: own, own: serves.Checksum, peers: peers, duties: duties,
		bandwidth: newLimiter(cfg.Bandwidth), sources: sources, pulls: pulls, leaving: leaving, proved: proved}
	pull.reports = newReporter(agreed.proposeReports, log)
	serves.checks = newChecks(pull.recheck, log)
	r := &Replica{agreed: agreed, holdings: kept, findings: found, entries: own, puller: pull, server: serves,
		releases: free,
		mender:   &mender{findings: found, pulls: pulls}, comparer: &comparer{found},
		auditor: &auditor{findings: found, entries: own, peers: peers, duties: duties, audits: audits,
			pace: pace},
		finder: &finder{agreed: agreed, holdings: kept, entries: own, releases: free, duties: duties, pulls: pulls,
			pace: pace}}
	r.Disks = newDisks(r)
	r.Again = &Rereads{findings: found, entries: own, hashes: serves.hashes, proved: proved}
	store.left.waits = awaited(found)
	r.remade = newRemaking(found, r.Disks, proved)
	r.back = &backReader{findings: found, own: r.Again.Verify, pace: pace}
	r.witness = &witness{findings: found, own: r.Again.Verify}
	return r, nil
}

// Run does the node's duties until the context ends; it returns nil then, and leaves nothing running.
func (r *Replica) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for _, part := range []func(context.Context) error{
		r.reports.run, r.pull, r.mend, r.runOutbox, r.runReleases, r.runAudits, r.runStrays, r.checks.run,
		r.runDiscards, r.compare, r.Disks.run, r.remade.run, r.back.run, r.witness.run,
		(&again{r.auditor}).run, (&absences{r.agreed, r.holdings}).run,
	} {
		all.Go(func() {
			if err := part(ctx); err != nil && ctx.Err() == nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return nil
}
