// Package ledgers makes the ledgers of this node's replica: each day, and when somebody asks. The node that makes one
// gathers a page of each holder, which each signs after its own catalog and its own manifests, and has nodes at other
// places compare the whole with their catalogs and countersign it. See doc/format/ledger.md.
package ledgers

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/files"
	"holdfast/internal/disk"
	"holdfast/node/wire"
	"holdfast/replica"
)

// The kinds of calls between nodes. They are on the wire and keep their meaning.
const (
	PageCall  = "ledger.page"  // of the node that makes a ledger, to a holder of its replica
	KeepCall  = "ledger.keep"  // likewise: the page enters the archive
	SignCall  = "ledger.sign"  // likewise, to nodes at other places
	MakeCall  = "ledger.make"  // of who asks for a ledger
	StateCall = "ledger.state" // of who asks how it stands
)

const (
	lookEvery  = time.Minute      // at whether a ledger is due
	againAfter = 10 * time.Minute // a ledger could not be made
	// when another ledger is made after one that no node at another place has signed, though there are some
	unsignedAgain = time.Hour
	pollEvery     = 300 * time.Millisecond
	signLimit     = 10 * time.Minute // for a node that compares
	askLimit      = 30 * time.Second
)

// Agreement is the agreed state, and how to propose changes of it.
type Agreement interface {
	View(func(catalog.View) error) error
	Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error)
}

// Bytes are the node's files, and the archive's.
type Bytes struct {
	List func(catalog.Shard) ([]replica.Held, error) // what this node's manifests say
	Put  func(ctx context.Context, path string, as catalog.Addition) error
	Open func(context.Context, catalog.FileName) (io.ReadCloser, error) // any file of the archive, verified
}

// Config is what the ledgers of a node need.
type Config struct {
	Self      catalog.NodeID
	Replica   catalog.ReplicaName
	Key       ed25519.PrivateKey // the node's own
	Every     time.Duration      // 0: ledgers are made only when somebody asks
	First     time.Duration      // that this node runs before it makes the replica's first one
	Dir       string             // of the node's own, for what is being made
	Disk      disk.Disk
	Agreement Agreement
	Bytes     Bytes
	Call      wire.Caller // in this node's name
	Ask       wire.Caller // in the name of who asks
	Alive     func() map[catalog.NodeID]bool
	Now       func() time.Time // the time that the members agree on
	Log       *slog.Logger
}

// Ledgers makes ledgers of the node's replica, and shows those of all replicas.
type Ledgers struct {
	cfg  Config
	wake chan string // who asks for a ledger

	opened time.Time
	mu     sync.Mutex
	state  api.LedgerMaking
	page   *building // the page that is being made here, or was last
	ended  bool      // no page begins any more
	builds sync.WaitGroup
	failed time.Time
}

// New returns ledgers that make none yet. What a crash left behind of one is removed: nobody counts on it.
func New(cfg Config) (*Ledgers, error) {
	if err := cfg.Disk.RemoveAll(cfg.Dir); err != nil {
		return nil, fmt.Errorf("clean %s: %w", cfg.Dir, err)
	}
	return &Ledgers{cfg: cfg, wake: make(chan string, 1), opened: cfg.Now(),
		state: api.LedgerMaking{Node: string(cfg.Self), Replica: string(cfg.Replica), State: Idle}}, nil
}

// stop ends the page that is being made, waits until nothing is written any more, and lets no other begin.
func (l *Ledgers) stop() {
	l.mu.Lock()
	l.ended = true
	if l.page != nil {
		l.page.cancel()
	}
	l.mu.Unlock()
	l.builds.Wait()
}

// The states of a ledger that is made, as the API shows them.
const (
	Idle    = "idle"
	Running = "running"
	Made    = "made"
	Failed  = "failed"
)

// Run makes ledgers that are due, until ctx ends, and then ends the page that is being made.
func (l *Ledgers) Run(ctx context.Context) error {
	defer l.stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		by, asked := "", false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case by = <-l.wake:
			asked = true
		case <-tick.C:
		}
		if !asked {
			due, err := l.due()
			if err != nil && !errors.Is(err, catalog.ErrNotFound) {
				l.cfg.Log.Warn("it is not known whether a ledger is due", "error", err)
			}
			if !due || time.Since(l.failed) < againAfter && !l.failed.IsZero() {
				continue
			}
		}
		l.begin()
		made, err := l.make(ctx, by)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		l.end(made, err)
	}
}

func (l *Ledgers) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.State, l.state.Stage, l.state.Detail, l.state.Began = Running, "begin", "", time.Now()
	l.state.Serial, l.state.Name = 0, ""
}

func (l *Ledgers) end(made files.Ledger, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed = time.Now()
		l.state.State, l.state.Detail = Failed, err.Error()
		l.cfg.Log.Error("no ledger was made", "replica", l.cfg.Replica, "error", err)
		return
	}
	l.failed = time.Time{}
	l.state.State, l.state.Serial, l.state.Name = Made, made.Serial, string(made.Name)
	l.cfg.Log.Info("ledger made", "ledger", made.Name, "files", made.Files, "signed", len(made.Signed),
		"unsigned", len(made.Unsigned), "missing", made.Missing)
	for _, r := range made.Unsigned {
		l.cfg.Log.Warn("a node at another place has not signed the ledger", "ledger", made.Name, "node", r.Node,
			"reason", r.Reason)
	}
}

// at notes how far the ledger is.
func (l *Ledgers) at(stage string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Stage = fmt.Sprintf(stage, args...)
}

// State tells how the ledger stands that this node makes, or made last.
func (l *Ledgers) State(context.Context, catalog.NodeID, struct{}) (api.LedgerMaking, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state, nil
}

// Begin has this node make a ledger, in the name of who asks. If one is being made, it is that one.
func (l *Ledgers) Begin(_ context.Context, _ catalog.NodeID, by string, _ struct{}) (api.LedgerMaking, error) {
	if err := l.able(); err != nil {
		return api.LedgerMaking{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.State != Running {
		l.state.State, l.state.Stage, l.state.Detail, l.state.Began = Running, "waits", "", time.Now()
		l.state.Serial, l.state.Name = 0, ""
		select {
		case l.wake <- by:
		default:
		}
	}
	return l.state, nil
}

// able refuses where no ledger can be made.
func (l *Ledgers) able() error {
	return l.cfg.Agreement.View(func(v catalog.View) error {
		c, err := v.Cluster()
		if err != nil {
			return err
		}
		r, err := v.Replica(l.cfg.Replica)
		switch {
		case err != nil:
			return err
		case c.Level < files.LevelOfLedgers:
			return &catalog.Refusal{Code: catalog.Unsupported, Message: fmt.Sprintf("ledgers need level %d, the "+
				"cluster is at "+
				"level %d: raise it with holdfast cluster level", files.LevelOfLedgers, c.Level)}
		case r.Kind != catalog.Bitarchive:
			return &catalog.Refusal{Code: catalog.Conflict, Message: fmt.Sprintf("replica %s holds no bytes: "+
				"nobody could sign "+
				"a ledger of it", r.Name)}
		}
		return nil
	})
}

// due reports whether this node is to make a ledger now: the replica's newest is older than a day, or what the settings
// say, and of the holders that live this one has the smallest id. Of two that think so, the catalog takes one ledger.
func (l *Ledgers) due() (due bool, err error) {
	if l.cfg.Every <= 0 || l.able() != nil {
		return false, nil
	}
	alive, now := l.cfg.Alive(), l.cfg.Now()
	err = l.cfg.Agreement.View(func(v catalog.View) error {
		newest, err := v.NewestLedger(l.cfg.Replica)
		if err != nil || newest.Serial == 0 && now.Sub(l.opened) < l.cfg.First {
			return err
		}
		every := l.cfg.Every
		if len(newest.Signed) == 0 && len(newest.Unsigned) > 0 { // such as while shards moved
			every = min(every, unsignedAgain)
		}
		if newest.Serial > 0 && now.Sub(newest.Recorded.Std()) < every {
			return nil
		}
		holders, err := holdersOf(v, l.cfg.Replica)
		if err != nil {
			return err
		}
		for _, h := range holders {
			if h == l.cfg.Self || alive[h] {
				due = h == l.cfg.Self
				return nil
			}
		}
		return nil
	})
	return due, err
}
