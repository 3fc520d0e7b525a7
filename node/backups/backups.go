package backups

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"holdfast/alert"
	"holdfast/api"
	"holdfast/catalog"
	"holdfast/internal/disk"
)

const (
	lookEvery  = time.Minute      // at whether a backup is due
	againAfter = 10 * time.Minute // one could not be made
)

// Pinned is the agreed state of one Raft index.
type Pinned interface {
	State
	Close()
}

// Config is what the backups of a node need.
type Config struct {
	Self    catalog.NodeID
	Member  string        // the node's name
	Dir     string        // for scheduled backups; empty: none are made
	Key     []byte        // the public key; nil: none are made
	Every   time.Duration //
	Keep    int           // how many stay
	Disk    disk.Disk
	Pin     func() (p Pinned, index, term uint64, err error)
	Cluster func() string               // its id
	Linear  func(context.Context) error // returns when the state shows what was decided before
	Now     func() time.Time
	Log     *slog.Logger
}

// Backups makes backups of the catalog on this node.
type Backups struct {
	cfg     Config
	started time.Time
	making  sync.Mutex // one at a time reads the state

	mu      sync.Mutex
	looked  bool      // the folder was read
	newest  time.Time // of those that are scheduled
	failed  time.Time // zero: the last one was made
	failure string
}

// New returns backups that make none yet.
func New(cfg Config) *Backups { return &Backups{cfg: cfg, started: cfg.Now()} }

// scheduled reports whether this node makes backups by itself.
func (b *Backups) scheduled() bool { return b.cfg.Dir != "" && b.cfg.Key != nil && b.cfg.Every > 0 }

// Run makes backups that are due, until ctx ends.
func (b *Backups) Run(ctx context.Context) error {
	if !b.scheduled() {
		<-ctx.Done()
		return ctx.Err()
	}
	if err := b.folder().Clean(b.cfg.Member); err != nil {
		b.cfg.Log.Warn("what is left of backups that were cut off stays", "error", err)
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := b.look(ctx); err != nil && ctx.Err() == nil {
			b.cfg.Log.Error("the catalog could not be backed up", "folder", b.cfg.Dir, "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (b *Backups) folder() Folder { return Folder{Dir: b.cfg.Dir, Disk: b.cfg.Disk} }

// look makes a backup if one is due. The age of the newest is read from the folder each time: somebody may have
// removed it.
func (b *Backups) look(ctx context.Context) error {
	all, err := b.folder().List(b.cfg.Cluster(), b.cfg.Member)
	now := b.cfg.Now()
	b.mu.Lock()
	waits := !b.failed.IsZero() && now.Sub(b.failed).Abs() < againAfter
	if err == nil {
		b.looked, b.newest = true, time.Time{}
		for _, k := range all { // one from a clock that was ahead says nothing about now
			if !k.At.After(now.Add(lookEvery)) {
				b.newest = k.At
				break
			}
		}
	}
	due := b.newest.IsZero() || now.Sub(b.newest) >= b.cfg.Every
	b.mu.Unlock()
	if err == nil && (!due || waits) {
		return nil
	}
	var made Kept
	if behind := b.cfg.Linear(ctx); behind != nil && ctx.Err() == nil {
		b.cfg.Log.Warn("the catalog is backed up as this node has it: what was decided last may not be in it",
			"reason", behind)
	}
	if err == nil {
		made, err = b.make(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.failed, b.failure = now, err.Error()
		return err
	}
	b.newest, b.failed, b.failure = made.At, time.Time{}, ""
	b.cfg.Log.Info("the catalog is backed up", "file", made.Path, "index", made.Index, "bytes", made.Bytes())
	return nil
}

func (b *Backups) make(ctx context.Context) (Kept, error) {
	b.making.Lock()
	defer b.making.Unlock()
	p, index, term, err := b.cfg.Pin()
	if err != nil {
		return Kept{}, err
	}
	defer p.Close()
	from := Origin{Index: index, Term: term, Node: b.cfg.Self, Member: b.cfg.Member}
	return b.folder().Make(ctx, p, from, b.cfg.Key, b.cfg.Keep, b.cfg.Now())
}

// Send writes a backup of the state as it is now to w. The name is that of its file.
func (b *Backups) Send(ctx context.Context, w io.Writer, named func(name string, size int64)) error {
	if b.cfg.Key == nil {
		return &catalog.Refusal{Code: catalog.Conflict, Message: "this node has no backup-key in its cluster.toml: " +
			"make one with holdfast catalog backup-key make"}
	}
	if !b.making.TryLock() {
		return fmt.Errorf("%w: this node makes a backup already; try again when it is done", api.ErrUnavailable)
	}
	defer b.making.Unlock()
	p, index, term, err := b.cfg.Pin()
	if err != nil {
		return err
	}
	defer p.Close()
	h, err := Describe(ctx, p)
	if err != nil {
		return err
	}
	h.Index, h.Term, h.Node, h.Member = index, term, b.cfg.Self, b.cfg.Member
	h.At = b.cfg.Now().UTC().Truncate(time.Second)
	with, err := h.Seal(b.cfg.Key)
	if err != nil {
		return err
	}
	named(h.FileName(), h.Bytes())
	return Write(ctx, w, h, with, p)
}

// State says which backups there are in this node's folder, and how the next one stands.
func (b *Backups) State(context.Context) (api.CatalogBackups, error) {
	out := api.CatalogBackups{Node: b.cfg.Member, Folder: b.cfg.Dir, Keep: b.cfg.Keep,
		Scheduled: b.scheduled(), Items: []api.CatalogBackup{}}
	if b.cfg.Key != nil {
		out.Key = PublicText(b.cfg.Key)
	}
	if b.cfg.Every > 0 {
		out.Every = b.cfg.Every.String()
	}
	b.mu.Lock()
	out.Failure, out.Failed = b.failure, b.failed
	b.mu.Unlock()
	if b.cfg.Dir == "" {
		return out, nil
	}
	all, err := b.folder().List(b.cfg.Cluster(), b.cfg.Member)
	if err != nil {
		return out, err
	}
	for _, k := range all {
		out.Items = append(out.Items, api.CatalogBackup{Name: k.FileName(), Bytes: k.Bytes(), Index: k.Index,
			Epoch: k.Epoch, Level: k.Level, At: k.At, SHA256: k.SHA256, Key: PublicText(k.Head.Key)})
	}
	return out, nil
}

// Scheduled says how the scheduled backups stand, as far as was seen when one was last looked for; nil if this node
// makes none. It reads no disk.
func (b *Backups) Scheduled() *api.BackupState {
	if !b.scheduled() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return &api.BackupState{Looked: b.looked, Newest: b.newest, Failed: b.failed}
}

// Alerts says when the newest scheduled backup is older than it should be.
func (b *Backups) Alerts() []alert.Alert {
	if !b.scheduled() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now, since := b.cfg.Now(), b.newest
	if since.IsZero() {
		since = b.started
	}
	age := now.Sub(since)
	late := b.cfg.Every + max(b.cfg.Every/4, 15*time.Minute)
	if age <= late && (b.failure == "" || !b.newest.IsZero()) {
		return nil
	}
	reason := b.failure
	if reason == "" {
		reason = "the next one has not been made yet"
	}
	return []alert.Alert{alert.New(alert.BackupOld, b.cfg.Dir, "hours", alert.Number(age/time.Hour), "reason", reason)}
}
