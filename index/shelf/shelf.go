// Package shelf keeps files on the disk of a node that can be made again: each is made once, whoever asks for it, and
// what was used longest ago goes when there are too many.
package shelf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/internal/disk"
)

// Config is what a Shelf is made with.
type Config struct {
	Dir  string // made if it is not there; everything in it is the shelf's
	Disk disk.Disk
	Most int64                 // bytes of all that is kept; what was used longest ago goes first
	Age  time.Duration         // after which what was not used goes
	Room func() (int64, error) // bytes that may still be written there
	Now  func() time.Time
	Log  *slog.Logger
}

// Shelf keeps files by name. It may be used by several goroutines.
type Shelf struct {
	cfg Config

	mu     sync.Mutex
	making map[string]chan struct{} // closed when the file of that name is made, or could not be
}

// New returns the shelf in a folder. What an earlier process was making is removed.
func New(cfg Config) *Shelf {
	left, err := filepath.Glob(filepath.Join(cfg.Dir, sortingFiles+"*"))
	for _, path := range left {
		err = errors.Join(err, cfg.Disk.RemoveAll(path))
	}
	if err = errors.Join(err, cfg.Disk.CleanTemporary(cfg.Dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		cfg.Log.Warn("what an earlier process was making cannot be removed", "dir", cfg.Dir, "error", err)
	}
	return &Shelf{cfg: cfg, making: map[string]chan struct{}{}}
}

// sortingFiles is how the names of a sorter's files begin, and of whatever else is not kept. Those that are being
// written begin with a point.
const sortingFiles = "sort-"

// Dir is the folder. Who makes a file may use it for sorting.
func (s *Shelf) Dir() string { return s.cfg.Dir }

// Path is where the file of that name is, if it is there.
func (s *Shelf) Path(name string) string { return filepath.Join(s.cfg.Dir, name) }

// Use notes that a file was used.
func (s *Shelf) Use(name string) {
	now := s.cfg.Now()
	if err := os.Chtimes(s.Path(name), now, now); err != nil {
		s.cfg.Log.Debug("cannot note that a file was used", "file", name, "error", err)
	}
}

// Drop removes a file that cannot be read, so that it is made again.
func (s *Shelf) Drop(name string, why error) error {
	s.cfg.Log.Warn("a file is damaged; it is made again", "file", name, "error", why)
	if err := s.cfg.Disk.Remove(s.Path(name)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Once makes a file unless it is there. Who asks for one that is being made waits for it. An error of make leaves
// nothing behind; one that wraps disk.ErrFull says that there is no room.
func (s *Shelf) Once(ctx context.Context, name string, make func(w io.Writer) error) error {
	path := s.Path(name)
	for {
		if _, err := os.Stat(path); err == nil {
			s.Use(name)
			return nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		other, begin := s.begin(name)
		if begin {
			err := s.cfg.Disk.MkdirAll(s.cfg.Dir)
			if err == nil {
				err = s.cfg.Disk.WriteFile(path, func(w io.Writer) error {
					return make(Roomy(w, s.cfg.Room))
				})
			}
			if err == nil {
				s.Use(name)
			}
			s.end(name)
			return err
		}
		select {
		case <-other:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Shelf) begin(name string) (other <-chan struct{}, begin bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if done, there := s.making[name]; there {
		return done, false
	}
	s.making[name] = make(chan struct{})
	return nil, true
}

func (s *Shelf) end(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.making[name])
	delete(s.making, name)
}

// Tidy removes what was not used for long, and what was used longest ago if there is too much. A file that is open
// stays readable for who has it open.
func (s *Shelf) Tidy() {
	if err := s.removeOld(); err != nil {
		s.cfg.Log.Warn("files that are not needed cannot be removed", "dir", s.cfg.Dir, "error", err)
	}
}

func (s *Shelf) removeOld() error {
	entries, err := os.ReadDir(s.cfg.Dir)
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
		if strings.HasPrefix(e.Name(), ".") || strings.HasPrefix(e.Name(), sortingFiles) {
			continue
		}
		if stat, err := e.Info(); err == nil {
			all = append(all, file{s.Path(e.Name()), stat.Size(), stat.ModTime()})
			sum += stat.Size()
		}
	}
	slices.SortFunc(all, func(a, b file) int { return a.used.Compare(b.used) })
	for _, f := range all {
		if sum <= s.cfg.Most && s.cfg.Now().Sub(f.used) <= s.cfg.Age {
			break
		}
		if err := s.cfg.Disk.Remove(f.path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		sum -= f.size
	}
	return nil
}

// Roomy returns a writer that writes as long as room says that there is room, and returns a disk.ErrFull then.
func Roomy(to io.Writer, room func() (int64, error)) io.Writer { return &roomy{to: to, room: room} }

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
