package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// ErrInjected is the failure that Faulty makes up when no other is asked for.
var ErrInjected = errors.New("injected fault")

// ErrCrashed reports the use of a file that was open when Crash happened.
var ErrCrashed = errors.New("the machine has crashed since the file was opened")

// Faulty is the disk's twin for tests. It works on real files, can fail the n-th
// write operation, and Crash drops everything that was not synced: bytes beyond
// the last sync of a file, and names made, renamed or removed without a sync of
// their folder. Paths must be given the same way each time (all absolute, say).
type Faulty struct {
	mu      sync.Mutex
	scratch string // folder that keeps what Crash may have to bring back
	kept    int
	ops     int
	failAt  int
	once    bool
	failure error
	refused map[string]error // operations under these folders fail
	era     uint64
	files   map[inode]*content
	undo    []entry
}

type inode struct {
	dev, ino uint64
}

// content is a file that was written: a spare name for it, how many bytes are safe, and what was changed in place.
type content struct {
	spare   string
	size    int64
	changed []spot
}

// spot is a byte as it was before it was changed in place.
type spot struct {
	offset int64
	before byte
}

// entry is one name that changed since its folder was synced, with what it stood for before.
type entry struct {
	path   string
	before string // in the scratch folder; empty: nothing was there
	moved  string // for a renamed folder: the name it had before
}

// NewFaulty returns a twin that keeps its undo files in scratch: an empty folder on
// the same file system as the files to be written, but not among them.
func NewFaulty(scratch string) *Faulty {
	return &Faulty{scratch: scratch, files: make(map[inode]*content)}
}

// Disk returns the disk to hand to the code under test.
func (t *Faulty) Disk() Disk { return Disk{twin: t} }

// Ops returns how many write operations there were: each open for writing, write, sync,
// truncate, rename, link, removal, new folder and folder sync is one.
func (t *Faulty) Ops() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ops
}

// FailAt makes the n-th operation from now (1 is the next) and all after it fail
// with err, or ErrInjected when err is nil. A failing write stores half its bytes.
// FailAt(0, nil) heals the disk.
func (t *Faulty) FailAt(n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.arrange(n, err, false)
}

// FailOnce is FailAt for the n-th operation only; the disk is well again after it.
func (t *Faulty) FailOnce(n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.arrange(n, err, true)
}

func (t *Faulty) arrange(n int, err error, once bool) {
	t.failAt, t.failure, t.once = 0, err, once
	if n > 0 {
		t.failAt = t.ops + n
	}
	if err == nil {
		t.failure = ErrInjected
	}
}

// Refuse makes all operations under the folder fail with err from now on, as on a disk that takes no writes:
// syscall.EROFS, say. What is there can be read. With nil it takes them again.
func (t *Faulty) Refuse(folder string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused == nil {
		t.refused = make(map[string]error)
	}
	if t.refused[folder] = err; err == nil {
		delete(t.refused, folder)
	}
}

// Crash cuts the power: everything that was not synced is lost, open files answer ErrCrashed, and requested faults
// are forgotten. Afterwards the disk can be used again, as after a restart.
func (t *Faulty) Crash() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.era++
	t.failAt = 0
	for _, c := range t.files {
		if err := cut(c); err != nil {
			return fmt.Errorf("crash: %w", err)
		}
	}
	for i := len(t.undo) - 1; i >= 0; i-- {
		if err := t.revert(i); err != nil {
			return fmt.Errorf("crash: %w", err)
		}
	}
	for _, c := range t.files {
		if err := os.Remove(c.spare); err != nil {
			return fmt.Errorf("crash: %w", err)
		}
	}
	t.undo = nil
	clear(t.files)
	return nil
}

// cut takes the bytes that were not synced off a file, and brings back those that were changed in place.
func cut(c *content) error {
	if err := c.unchange(); err != nil {
		return err
	}
	info, err := os.Stat(c.spare)
	if err != nil {
		return err
	}
	if info.Size() <= c.size {
		return nil
	}
	return os.Truncate(c.spare, c.size)
}

func (c *content) unchange() error {
	if len(c.changed) == 0 {
		return nil
	}
	f, err := os.OpenFile(c.spare, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	for i := len(c.changed) - 1; i >= 0 && err == nil; i-- {
		_, err = f.WriteAt([]byte{c.changed[i].before}, c.changed[i].offset)
	}
	return errors.Join(err, f.Close())
}

// revert brings back what stood at the i-th changed name.
func (t *Faulty) revert(i int) error {
	e := t.undo[i]
	if e.moved != "" {
		for j := range t.undo[:i] {
			t.undo[j].path = rebase(t.undo[j].path, e.path, e.moved)
		}
		if err := os.Rename(e.path, e.moved); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := os.RemoveAll(e.path); err != nil {
		return err
	}
	if e.before == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(e.path), 0o755); err != nil {
		return err
	}
	return os.Rename(e.before, e.path)
}

// rebase moves path from under the folder old to under the folder new.
func rebase(path, old, new string) string {
	if rest, ok := strings.CutPrefix(path, old+string(filepath.Separator)); ok {
		return filepath.Join(new, rest)
	}
	return path
}

// now returns the count of crashes so far.
func (t *Faulty) now() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.era
}

// step counts an operation on the paths and tells whether it has to fail. The caller holds mu.
func (t *Faulty) step(paths ...string) error {
	t.ops++
	for folder, err := range t.refused {
		for _, path := range paths {
			if path == folder || strings.HasPrefix(path, folder+string(filepath.Separator)) {
				return err
			}
		}
	}
	if t.failAt == 0 || t.ops < t.failAt {
		return nil
	}
	if t.once {
		t.failAt = 0
	}
	return t.failure
}

// keep gives the file at path a spare name in the scratch folder.
func (t *Faulty) keep(path string) (string, error) {
	t.kept++
	spare := filepath.Join(t.scratch, strconv.Itoa(t.kept))
	if err := os.Link(path, spare); err != nil {
		return "", err
	}
	return spare, nil
}

// remember notes how to restore what path is now.
func (t *Faulty) remember(path string) error {
	before := ""
	if _, err := os.Lstat(path); err == nil {
		if before, err = t.keep(path); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	t.undo = append(t.undo, entry{path: path, before: before})
	return nil
}

// identify returns what names a file whatever it is called.
func identify(info fs.FileInfo) inode {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}
	}
	return inode{dev: uint64(st.Dev), ino: st.Ino}
}
