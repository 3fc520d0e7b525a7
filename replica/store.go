package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// StoreConfig says where a store keeps its bytes. The folders are made when absent.
type StoreConfig struct {
	Roots      []string // <data>/files and further ones on other disks; a shard lies wholly on one
	Incoming   string   // <data>/incoming: files being fetched
	Outbox     string   // <data>/outbox: files that entered the archive here and are not released yet
	Quarantine string   // <data>/quarantine: bad copies, each with its reason
	Reserve    int64    // bytes to leave free on each disk; 1 GiB if 0, none if negative
	// <data>/roots: list of the roots used so far, by which one that is not mounted is noticed; none if empty
	Known string
	// <data>/shards: which root holds each shard, so that this is known of one that is not mounted; in memory alone if
	// empty
	Shards string
	Fresh  string // <data>/fresh: copies that have not been read back since they came; in memory alone if empty
	Asked  string // <data>/disks.json: an operator's wishes for the roots; none if empty

	Kept func(catalog.FileName) // called with each file that is kept from now on; must not block or call the store
	Gone func(catalog.FileName) // called with each file that is no longer kept; as Kept
}

const defaultReserve = 1 << 30

// Store keeps the bytes of a bitarchive replica on this node, and the outbox of any node. A file in it is complete,
// on stable storage and listed in its shard's manifest; otherwise it is loose: not vouched for. It is safe for
// concurrent use, but methods that change a file must not be called at the same time for one name.
type Store struct {
	*media
	*mounts
	*outgoing
	shards places
	left   *leavings
	fresh  *freshCopies

	loose   noted // in a shard's folder without a line in its manifest
	missing noted // with a line, without the file
}

// media reads, copies, hashes and sets aside files, wherever they lie in a store, and keeps their block digests.
type media struct {
	cfg    StoreConfig
	disk   disk.Disk
	log    *slog.Logger
	blocks sync.Pool // of *[]byte, blockSize each
	open   func(path string) (*Bytes, error)
	spoilt spoilt
}

// mounts are the disks of a store.
type mounts struct {
	*media
	roots []*root
	asked *asked
	list  *shardList
	free  func(path string) (free, total uint64, err error)
}

// outgoing is the outbox of a node: files that entered the archive here and are not released yet.
type outgoing struct {
	*media
	outbox nameLocks // one change of a name of the outbox at a time

	mu      sync.Mutex
	adopted int // numbers the temporary names
}

// root is one disk's part of the store, with folders on the same disk for incoming and quarantined files.
type root struct {
	path, incoming, quarantine string
	mark                       string // by which the disk is known
	besideOutbox               bool   // it is on the outbox's disk
	draining                   atomic.Bool
	// absent says why nothing was to be seen of the disk when the store was opened; nil otherwise. Nothing is done with
	// it until the next start.
	absent error

	leaves atomic.Bool // it takes no writes for so long that its shards move to other disks

	mu       sync.Mutex
	promised int64 // bytes that fetches under way have yet to write
	refusal  error // why it takes no writes
	faults   readFaults
}

// shard is where one shard lies; mu guards its manifest and the names in its folder.
type shard struct {
	mu     sync.Mutex
	root   *root
	claims int // fetches under way: the shard stays on its root until they are over
	moves  int // how often it has moved to another root
}

// OpenStore opens the store and completes or records what a crash interrupted: incomplete manifest lines are cut off,
// files without a line become loose, lines without a file are missing, half-done moves to the quarantine are
// completed. It returns ErrNotMounted if a root that was used before is not there.
func OpenStore(cfg StoreConfig, d disk.Disk, log *slog.Logger) (*Store, error) {
	if len(cfg.Roots) == 0 {
		return nil, errors.New("open store: no folder for files is given")
	}
	if cfg.Reserve == 0 {
		cfg.Reserve = defaultReserve
	}
	cfg.Reserve = max(cfg.Reserve, 0)
	cfg.Roots = slices.Clone(cfg.Roots)
	for i, path := range cfg.Roots {
		cfg.Roots[i] = filepath.Clean(path)
	}
	if cfg.Kept == nil {
		cfg.Kept = func(catalog.FileName) {}
	}
	if cfg.Gone == nil {
		cfg.Gone = func(catalog.FileName) {}
	}
	m := &media{cfg: cfg, disk: d, log: log, open: openBytes}
	s := &Store{media: m, mounts: &mounts{media: m, free: d.Free}, outgoing: &outgoing{media: m}}
	fresh, err := openFresh(cfg.Fresh, d)
	if err != nil {
		log.Warn("copies that came lately are not read back, but by the audits", "err", err)
	}
	s.fresh = fresh
	s.blocks.New = func() any { b := make([]byte, blockSize); return &b }
	for _, dir := range []string{cfg.Incoming, cfg.Outbox, cfg.Quarantine} {
		if err := d.MkdirAll(dir); err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
	}
	s.asked, s.left = openAsked(cfg.Asked, d, log), &leavings{store: s}
	s.list = openShardList(cfg.Shards, d, log)
	if err := s.openRoots(); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := s.reconcile(); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

// openRoot makes the root's folders. Bytes are renamed into place, so a root on another disk than the
// incoming folder gets one of its own, and a quarantine likewise.
func (s *mounts) openRoot(path string) (*root, error) {
	if err := s.disk.MkdirAll(path); err != nil {
		return nil, err
	}
	r := &root{path: path}
	var err error
	if r.besideOutbox, err = sameDisk(path, s.cfg.Outbox); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		folder *string
		given  string
	}{{&r.incoming, s.cfg.Incoming}, {&r.quarantine, s.cfg.Quarantine}} {
		same, err := sameDisk(path, f.given)
		if err != nil {
			return nil, err
		}
		*f.folder = f.given
		if !same {
			*f.folder = filepath.Join(path, filepath.Base(f.given))
			if err := s.disk.MkdirAll(*f.folder); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

func sameDisk(a, b string) (bool, error) {
	x, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	y, err := os.Stat(b)
	if err != nil {
		return false, err
	}
	p, ok1 := x.Sys().(*syscall.Stat_t)
	q, ok2 := y.Sys().(*syscall.Stat_t)
	return ok1 && ok2 && p.Dev == q.Dev, nil
}

// Path returns where the file lies in its shard, whether or not it is held; empty for a shard not used yet.
func (s *Store) Path(name catalog.FileName) string {
	sh := &s.shards[name.Shard()]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.path(name)
}

func (sh *shard) path(name catalog.FileName) string {
	if sh.root == nil {
		return ""
	}
	return filepath.Join(sh.root.path, name.Shard().String(), string(name))
}

// Has reports whether the store vouches for the file: it is in place and in its shard's manifest, on a disk that was
// there when the store was opened.
func (s *Store) Has(name catalog.FileName) bool {
	if checkName(name) != nil || s.loose.has(name) || s.Away(name) {
		return false
	}
	return s.shards.present(name)
}

// measurePlaced is measure for the file in its shard. Bytes that are not the wanted ones count only if the shard still
// lies where they were read.
func (s *Store) measurePlaced(ctx context.Context, want Held, limit *limiter, renew bool) (int64, catalog.Digest,
	error) {
	for {
		moves := s.shards.movesOf(want.Name)
		size, digest, err := s.measure(ctx, s.Path(want.Name), want, limit, renew)
		right := err == nil && size == want.Size && digest == want.SHA256
		if right || ctx.Err() != nil || s.shards.movesOf(want.Name) == moves {
			return size, digest, err
		}
	}
}

// Loose returns the files that lie in a shard's folder without being vouched for.
func (s *Store) Loose() []catalog.FileName { return s.loose.all() }

// Missing returns the files that a manifest lists and that were not there when the store was opened.
func (s *Store) Missing() []catalog.FileName { return s.missing.all() }

// Bytes is a file open for reading. It stays readable if the file is removed meanwhile.
type Bytes struct {
	*os.File
	Size int64
}

func openBytes(path string) (*Bytes, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("open %s: not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Bytes{File: f, Size: info.Size()}, nil
}

// List returns the files that the store vouches for in the shard, by name, with the digests of the manifest.
func (s *Store) List(n catalog.Shard) ([]Held, error) {
	sh := &s.shards[n]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.root == nil {
		return nil, nil
	}
	return listFolder(filepath.Join(sh.root.path, n.String()))
}

// Shards returns the shards that have a folder here, in order; not those of a disk that is away since the start.
func (s *Store) Shards() []catalog.Shard {
	var used []catalog.Shard
	for n := range s.shards {
		s.shards[n].mu.Lock()
		if r := s.shards[n].root; r != nil && r.absent == nil {
			used = append(used, catalog.Shard(n))
		}
		s.shards[n].mu.Unlock()
	}
	return used
}

// room returns the bytes that copies may still take on the root. On the outbox's disk they leave a share beyond the
// reserve to what enters the archive here: a node whose disk copies have filled could neither crawl nor take a file.
func (s *mounts) room(r *root) (int64, error) {
	free, total, err := s.free(r.path)
	if err != nil {
		return 0, err
	}
	room := int64(free) - s.cfg.Reserve
	if r.besideOutbox && s.cfg.Reserve > 0 {
		room -= min(int64(total)/outboxPart, outboxMost)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return room - r.promised, nil
}

// The outbox's share of its disk: one part in outboxPart, and at most outboxMost bytes.
const (
	outboxPart = 50
	outboxMost = 16 << 30
)

func isFile(path string) bool {
	if path == "" {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}
