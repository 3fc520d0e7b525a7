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
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

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
	cfg Config

	mu     sync.Mutex
	making map[string]chan struct{} // closed when the thing of that name is made, or could not be
}

// NewCache returns the cache in a folder. What an earlier process was making is removed.
func NewCache(cfg Config) *Cache {
	left, err := filepath.Glob(filepath.Join(cfg.Dir, "sort-*.tmp"))
	for _, path := range left {
		err = errors.Join(err, cfg.Disk.Remove(path))
	}
	if err = errors.Join(err, cfg.Disk.CleanTemporary(cfg.Dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		cfg.Log.Warn("what is left of lists of documents cannot be removed", "error", err)
	}
	return &Cache{cfg: cfg, making: map[string]chan struct{}{}}
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
	if s, err := c.open(setName(jobs)); err == nil {
		return s, jobs, nil
	}
	for _, job := range jobs {
		there, err := c.have(ctx, job)
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
		if err = c.once(ctx, name, func() error { return c.build(ctx, name, used) }); err == nil {
			if s, err = c.open(name); err == nil {
				c.tidy()
				return s, used, nil
			}
		}
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, os.ErrNotExist) {
			break
		}
		for i := 0; i < len(used); {
			there, err := c.have(ctx, used[i])
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

// have makes sure that a job's piece is here, and reports false if it cannot be had now. The error is that of this
// node: it was told to stop, or has no room.
func (c *Cache) have(ctx context.Context, job uint64) (bool, error) {
	err := c.once(ctx, pieceName(job), func() error { return c.fetch(ctx, job) })
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

// open opens a set that is there. One that is damaged is removed.
func (c *Cache) open(name string) (*Set, error) {
	path := filepath.Join(c.cfg.Dir, name)
	s, err := OpenSet(path)
	if errors.Is(err, ErrDamaged) {
		c.cfg.Log.Warn("a set of documents is damaged; it is made again", "error", err)
		err = errors.Join(err, c.cfg.Disk.Remove(path))
	}
	if err == nil {
		c.touch(path)
	}
	return s, err
}

// touch notes that a file was used.
func (c *Cache) touch(path string) {
	now := c.cfg.Now()
	if err := os.Chtimes(path, now, now); err != nil {
		c.cfg.Log.Debug("cannot note that a list of documents was used", "error", err)
	}
}

// once makes a file unless it is there. Who asks for one that is being made waits for it.
func (c *Cache) once(ctx context.Context, name string, make func() error) error {
	path := filepath.Join(c.cfg.Dir, name)
	for {
		if _, err := os.Stat(path); err == nil {
			c.touch(path)
			return nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		other, begin := c.begin(name)
		if begin {
			err := c.cfg.Disk.MkdirAll(c.cfg.Dir)
			if err == nil {
				err = make()
			}
			if err == nil {
				c.touch(path)
			}
			c.end(name)
			return err
		}
		select {
		case <-other:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *Cache) begin(name string) (other <-chan struct{}, begin bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if done, there := c.making[name]; there {
		return done, false
	}
	c.making[name] = make(chan struct{})
	return nil, true
}

func (c *Cache) end(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.making[name])
	delete(c.making, name)
}

// fetch copies a job's piece into the folder, and reads it while it does.
func (c *Cache) fetch(ctx context.Context, job uint64) error {
	from, err := c.cfg.Source.Piece(ctx, job)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	return c.cfg.Disk.WriteFile(filepath.Join(c.cfg.Dir, pieceName(job)), func(w io.Writer) error {
		packed, err := zstd.NewWriter(&roomy{to: w, room: c.cfg.Room}, zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
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
	})
}

// build makes the set of jobs whose pieces are there. A damaged piece is removed.
func (c *Cache) build(ctx context.Context, name string, jobs []uint64) error {
	return c.cfg.Disk.WriteFile(filepath.Join(c.cfg.Dir, name), func(w io.Writer) error {
		return BuildSet(&roomy{to: w, room: c.cfg.Room}, c.cfg.Dir, c.cfg.Memory,
			func(yield func(iter.Seq2[Document, error]) bool) {
				for _, job := range jobs {
					if !yield(c.piece(ctx, job)) {
						return
					}
				}
			})
	})
}

// piece reads a piece that is there.
func (c *Cache) piece(ctx context.Context, job uint64) iter.Seq2[Document, error] {
	path := filepath.Join(c.cfg.Dir, pieceName(job))
	return func(yield func(Document, error) bool) {
		err := func() error {
			f, err := os.Open(path)
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
			c.cfg.Log.Warn("a list of documents is damaged; it is read again", "job", job, "error", err)
			err = errors.Join(err, c.cfg.Disk.Remove(path))
		}
		if err != nil {
			yield(Document{}, err)
		}
	}
}

// tidy removes what was not used for long, and what was used longest ago if there is too much. A set that is open stays
// readable for who has it open.
func (c *Cache) tidy() {
	if err := c.removeOld(); err != nil {
		c.cfg.Log.Warn("lists of documents that are not needed cannot be removed", "error", err)
	}
}

func (c *Cache) removeOld() error {
	entries, err := os.ReadDir(c.cfg.Dir)
	if err != nil {
		return err
	}
	type file struct {
		path string
		size int64
		used time.Time
	}
	var all []file
	var sum int64
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), pieceSuffix) && !strings.HasSuffix(e.Name(), setSuffix) {
			continue
		}
		if stat, err := e.Info(); err == nil {
			all = append(all, file{filepath.Join(c.cfg.Dir, e.Name()), stat.Size(), stat.ModTime()})
			sum += stat.Size()
		}
	}
	slices.SortFunc(all, func(a, b file) int { return a.used.Compare(b.used) })
	for _, f := range all {
		if sum <= c.cfg.Most && c.cfg.Now().Sub(f.used) <= c.cfg.Age {
			break
		}
		if err := c.cfg.Disk.Remove(f.path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		sum -= f.size
	}
	return nil
}

// roomy writes as long as there is room.
type roomy struct {
	to    io.Writer
	room  func() (int64, error)
	until int // bytes until it looks again
}

const roomEvery = 16 << 20

func (r *roomy) Write(p []byte) (int, error) {
	if r.until -= len(p); r.until < 0 {
		left, err := r.room()
		if err != nil {
			return 0, err
		}
		if left < roomEvery {
			return 0, fmt.Errorf("%w: %d bytes are left above the reserve", disk.ErrFull, max(left, 0))
		}
		r.until = roomEvery
	}
	return r.to.Write(p)
}
