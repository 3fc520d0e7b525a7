package dedup

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"holdfast/index/shelf"
	"holdfast/internal/disk"
)

// ErrNone reports that there is no piece of a job: it never had one, or its metadata file is not in the archive.
var ErrNone = errors.New("the job has no list of its documents")

// Source has the pieces of jobs.
type Source interface {
	// Piece returns a job's piece. An error that wraps ErrNone says that there is none now.
	Piece(ctx context.Context, job uint64) (io.ReadCloser, error)
}

// Config is what a Cache is made with.
type Config struct {
	Dir    string // made if it is not there; everything in it is the cache's
	Disk   disk.Disk
	Source Source
	Memory int                   // bytes for making a set
	Most   int64                 // bytes of all that is kept; what was used longest ago goes first
	Age    time.Duration         // after which what was not used goes
	Room   func() (int64, error) // bytes that may still be written there
	Now    func() time.Time
	Log    *slog.Logger
}

// Cache keeps pieces and sets on the disk of a node, for all jobs that need them. It may be used by several goroutines.
type Cache struct {
	cfg   Config
	shelf *shelf.Shelf
}

// NewCache returns the cache in a folder. What an earlier process was making is removed.
func NewCache(cfg Config) *Cache {
	return &Cache{cfg: cfg, shelf: shelf.New(shelf.Config{Dir: cfg.Dir, Disk: cfg.Disk, Most: cfg.Most, Age: cfg.Age,
		Room: cfg.Room, Now: cfg.Now, Log: cfg.Log})}
}

const (
	pieceSuffix = ".documents.zst"
	setSuffix   = ".set"
)

func pieceName(job uint64) string { return strconv.FormatUint(job, 10) + pieceSuffix }

// setName names the set of jobs, which are sorted: by the four lowest and a digest of all.
func setName(jobs []uint64) string {
	var name strings.Builder
	sum := sha256.New()
	for i, job := range jobs {
		if i < 4 {
			fmt.Fprintf(&name, "%d-", job)
		}
		_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, job))
	}
	return name.String() + hex.EncodeToString(sum.Sum(nil)[:16]) + setSuffix
}

// Open returns the set of those of the jobs of which there is a piece now, and which they are, in order. The set may be
// empty. A later call with the same jobs looks again for the pieces that were missing. The caller closes the set.
func (c *Cache) Open(ctx context.Context, jobs []uint64) (_ *Set, used []uint64, err error) {
	jobs = slices.Compact(slices.Sorted(slices.Values(jobs)))
	if s, err := c.open(ctx, setName(jobs)); err == nil {
		return s, jobs, nil
	}
	left := newPatience()
	for _, job := range jobs {
		there, err := c.have(ctx, job, left)
		if err != nil {
			return nil, nil, err
		}
		if there {
			used = append(used, job)
		}
	}
	for range 2 { // a piece may turn out to be damaged, or have been removed for want of room meanwhile
		var s *Set
		name := setName(used)
		if err = c.shelf.Once(ctx, name, func(w io.Writer) error { return c.build(ctx, w, used) }); err == nil {
			if s, err = c.open(ctx, name); err == nil {
				c.shelf.Tidy()
				return s, used, nil
			}
		}
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, os.ErrNotExist) {
			break
		}
		for i := 0; i < len(used); {
			there, err := c.have(ctx, used[i], left)
			if err != nil {
				return nil, nil, err
			}
			if i++; !there {
				i--
				used = slices.Delete(used, i, i+1)
			}
		}
	}
	return nil, nil, fmt.Errorf("make the set of documents of %d jobs: %w", len(used), err)
}

// patience are the pauses that are left between tries to get pieces, for all pieces of a set together: a run that
// leaves one out for a fault that passes stores again what it could refer to, but nodes that are gone are not waited
// for.
type patience []time.Duration

func newPatience() *patience {
	return &patience{time.Second, 5 * time.Second, 20 * time.Second, time.Minute}
}

// have makes sure that a job's piece is here, and reports false if it is not available now. An error means that this
// node was told to stop, or has no room.
func (c *Cache) have(ctx context.Context, job uint64, left *patience) (bool, error) {
	get := func() error {
		return c.shelf.Once(ctx, pieceName(job), func(w io.Writer) error { return c.fetch(ctx, w, job) })
	}
	err := get()
	for len(*left) > 0 {
		if err == nil || errors.Is(err, ErrNone) || errors.Is(err, ErrDamaged) || errors.Is(err, disk.ErrFull) {
			break
		}
		c.cfg.Log.Info("the list of documents of a job is asked for again", "job", job, "error", err)
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After((*left)[0]):
		}
		*left = (*left)[1:]
		err = get()
	}
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(err, disk.ErrFull):
		return false, fmt.Errorf("get the list of documents of job %d: %w", job, err)
	case !errors.Is(err, ErrNone):
		c.cfg.Log.Warn("the list of documents of a job is left out", "job", job, "error", err)
	}
	return false, nil
}

// open opens a set that is there, and reads it: one that is damaged is removed before anything is looked up in it.
func (c *Cache) open(ctx context.Context, name string) (*Set, error) {
	s, err := OpenSet(c.shelf.Path(name))
	if err == nil {
		if err = s.check(ctx); err != nil {
			err = errors.Join(err, s.Close())
		}
	}
	if errors.Is(err, ErrDamaged) {
		err = errors.Join(err, c.shelf.Drop(name, err))
	}
	if err != nil {
		return nil, err
	}
	c.shelf.Use(name)
	return s, nil
}

// fetch copies a job's piece, and reads it while it does.
func (c *Cache) fetch(ctx context.Context, to io.Writer, job uint64) error {
	from, err := c.cfg.Source.Piece(ctx, job)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	packed, err := zstd.NewWriter(to, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(true))
	if err != nil {
		return err
	}
	for _, err := range ReadPiece(io.TeeReader(from, packed)) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return packed.Close()
}

// build makes the set of jobs whose pieces are there. A damaged piece is removed.
func (c *Cache) build(ctx context.Context, to io.Writer, jobs []uint64) error {
	return BuildSet(to, c.cfg.Dir, c.cfg.Memory, func(yield func(iter.Seq2[Document, error]) bool) {
		for _, job := range jobs {
			if !yield(c.piece(ctx, job)) {
				return
			}
		}
	})
}

// piece reads a piece that is there.
func (c *Cache) piece(ctx context.Context, job uint64) iter.Seq2[Document, error] {
	name := pieceName(job)
	return func(yield func(Document, error) bool) {
		err := func() error {
			f, err := os.Open(c.shelf.Path(name))
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }()
			unpacked, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
			if err != nil {
				return err
			}
			defer unpacked.Close()
			for d, err := range ReadPiece(unpacked) {
				if err == nil {
					err = ctx.Err()
				}
				if err != nil || !yield(d, nil) {
					return err
				}
			}
			return nil
		}()
		if errors.Is(err, ErrDamaged) {
			err = errors.Join(err, c.shelf.Drop(name, err))
		}
		if err != nil {
			yield(Document{}, err)
		}
	}
}
