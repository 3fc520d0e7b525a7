// Package jobset makes indexes of sets of jobs: lines that jobs have, put together in the order of their bytes, and
// kept on the disk of a node for who asks next.
package jobset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"holdfast/index/shelf"
	"holdfast/internal/disk"
	"holdfast/internal/sorter"
)

// ErrNone reports that a job has no lines now: it has not ended, or its metadata file is not in the archive.
var ErrNone = errors.New("there is nothing of the job to make an index of")

// Kind is a kind of index.
type Kind string

// The kinds of indexes.
const (
	CDX  Kind = "cdx"  // what the metadata files' CDX says, as it stands there
	Full Kind = "full" // crawl.log and CDX together
)

// Source has the lines of jobs.
type Source interface {
	// Edition names what there is of a job now. Lines of another edition are not taken for these. An error that wraps
	// ErrNone says that there is nothing.
	Edition(job uint64) (string, error)
	// Lines gives a job's lines, without their ends and in any order, to take, which copies them.
	Lines(ctx context.Context, kind Kind, job uint64, take func(line []byte) error) error
}

// Config is what a Cache is made with.
type Config struct {
	shelf.Config
	Source Source
	Memory int // bytes for putting lines in order
}

// Cache keeps the lines of jobs and of sets of jobs. It may be used by several goroutines.
type Cache struct {
	cfg   Config
	shelf *shelf.Shelf
	turn  chan struct{} // full while something is made: memory is for one at a time
}

// NewCache returns the cache in a folder.
func NewCache(cfg Config) *Cache {
	return &Cache{cfg: cfg, shelf: shelf.New(cfg.Config), turn: make(chan struct{}, 1)}
}

// part is what there is of a job.
type part struct {
	job  uint64
	name string // of its file
}

// Open returns the lines of those of the jobs of which there is something now, and which they are, in order. There may
// be no line. A later call with the same jobs looks again for those that were missing. The caller closes the lines.
func (c *Cache) Open(ctx context.Context, kind Kind, jobs []uint64) (_ *Lines, used []uint64, err error) {
	// A file may turn out to be damaged, or have been removed for want of room meanwhile.
	for range len(jobs) + 2 {
		var parts []part
		for _, job := range slices.Compact(slices.Sorted(slices.Values(jobs))) {
			p, there, err := c.have(ctx, kind, job)
			if err != nil {
				return nil, nil, err
			}
			if there {
				parts = append(parts, p)
			}
		}
		var l *Lines
		if l, err = c.together(ctx, kind, parts); err == nil {
			for _, p := range parts {
				used = append(used, p.job)
			}
			return l, used, nil
		}
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return nil, nil, fmt.Errorf("make the index of %d jobs: %w", len(jobs), err)
}

// together opens the set of parts that are there.
func (c *Cache) together(ctx context.Context, kind Kind, parts []part) (*Lines, error) {
	name := setName(kind, parts)
	err := c.shelf.Once(ctx, name, func(w io.Writer) error {
		return c.sort(ctx, w, func(take func([]byte) error) error {
			for _, p := range parts {
				if err := c.each(ctx, p, take); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	l, err := openLines(c.shelf.Path(name))
	if errors.Is(err, ErrDamaged) {
		return nil, errors.Join(err, c.shelf.Drop(name, err))
	}
	if err == nil {
		err = c.check(ctx, name)
	}
	if err != nil {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
		return nil, err
	}
	c.shelf.Tidy()
	return l, nil
}

// check reads a set, so that what is damaged is made again before any of it is handed out.
func (c *Cache) check(ctx context.Context, name string) error {
	return c.read(name, func([]byte) error { return ctx.Err() })
}

// read gives the blocks of a file. One that is damaged is removed.
func (c *Cache) read(name string, take func(block []byte) error) (err error) {
	l, err := openLines(c.shelf.Path(name))
	if err == nil {
		defer func() { err = errors.Join(err, l.Close()) }()
	}
	for err == nil {
		var block []byte
		if block, err = l.Block(); err == nil {
			err = take(block)
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, ErrDamaged):
		return errors.Join(err, c.shelf.Drop(name, err))
	}
	return err
}

// each gives the lines of a part.
func (c *Cache) each(ctx context.Context, p part, take func([]byte) error) error {
	return c.read(p.name, func(block []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		for line := range bytes.Lines(block) {
			if err := take(line[:len(line)-1]); err != nil {
				return err
			}
		}
		return nil
	})
}

// have makes sure that a job's lines are here, and reports false if they cannot be had now. The error is that of this
// node: it was told to stop, or has no room.
func (c *Cache) have(ctx context.Context, kind Kind, job uint64) (p part, there bool, err error) {
	for range 2 { // another copy of what could not be read may be good
		var edition string
		if edition, err = c.cfg.Source.Edition(job); err == nil {
			p = part{job, fmt.Sprintf("%d-%s.%s", job, edition, kind)}
			err = c.shelf.Once(ctx, p.name, func(w io.Writer) error {
				return c.sort(ctx, w, func(take func([]byte) error) error {
					return c.cfg.Source.Lines(ctx, kind, job, take)
				})
			})
		}
		switch {
		case err == nil:
			return p, true, nil
		case ctx.Err() != nil:
			return p, false, ctx.Err()
		case errors.Is(err, disk.ErrFull):
			return p, false, fmt.Errorf("read what there is of job %d: %w", job, err)
		case errors.Is(err, ErrNone):
			return p, false, nil
		}
	}
	c.cfg.Log.Warn("a job is left out of an index", "job", job, "kind", kind, "error", err)
	return p, false, nil
}

// sort writes a file of the lines that give gives.
func (c *Cache) sort(ctx context.Context, to io.Writer, give func(take func([]byte) error) error) (err error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	sorted := sorter.New(c.shelf.Dir(), c.cfg.Memory)
	defer func() { err = errors.Join(err, sorted.Close()) }()
	left := 0
	err = give(func(line []byte) error {
		if len(line) > maxLine || bytes.IndexByte(line, '\n') >= 0 {
			left++
			return nil
		}
		return sorted.Add(line, "")
	})
	if err != nil {
		return err
	}
	if left > 0 {
		c.cfg.Log.Warn("lines are too long for an index, and are left out", "lines", left)
	}
	out, err := newWriter(to)
	if err != nil {
		return err
	}
	for line, err := range sorted.Sorted() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = out.add(line)
		}
		if err != nil {
			return err
		}
	}
	return out.end()
}

// setName names the set of parts: by the four lowest jobs and a digest of all.
func setName(kind Kind, parts []part) string {
	var name strings.Builder
	sum := sha256.New()
	for i, p := range parts {
		if i < 4 {
			fmt.Fprintf(&name, "%d-", p.job)
		}
		_, _ = fmt.Fprintln(sum, p.name)
	}
	return "set-" + name.String() + hex.EncodeToString(sum.Sum(nil)[:16]) + "." + string(kind)
}
