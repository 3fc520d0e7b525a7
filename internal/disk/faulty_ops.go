package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func (t *Faulty) openFile(path string, flag int, mode fs.FileMode) (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.step(path); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		t.undo = append(t.undo, entry{path: path})
	}
	f, err := os.OpenFile(path, flag, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	id := identify(info)
	if c := t.files[id]; c != nil {
		c.size = min(c.size, info.Size())
		return f, nil
	}
	spare, err := t.keep(path)
	if err != nil {
		f.Close()
		return nil, err
	}
	t.files[id] = &content{spare: spare, size: info.Size()}
	return f, nil
}

func (t *Faulty) rename(old, new string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.step(old, new); err != nil {
		return err
	}
	info, err := os.Lstat(old)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := os.Rename(old, new); err != nil {
			return err
		}
		for i := range t.undo {
			t.undo[i].path = rebase(t.undo[i].path, old, new)
		}
		t.undo = append(t.undo, entry{path: new, moved: old})
		return nil
	}
	if err := t.remember(new); err != nil {
		return err
	}
	if err := t.remember(old); err != nil {
		return err
	}
	return os.Rename(old, new)
}

func (t *Faulty) link(old, new string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.step(old, new); err != nil {
		return err
	}
	if err := os.Link(old, new); err != nil {
		return err
	}
	t.undo = append(t.undo, entry{path: new})
	return nil
}

func (t *Faulty) remove(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.step(path); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.Remove(path)
	}
	if err := t.remember(path); err != nil {
		return err
	}
	return os.Remove(path)
}

// removeAll moves the tree away, so that a crash can bring it back.
func (t *Faulty) removeAll(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.step(path); err != nil {
		return err
	}
	t.kept++
	before := filepath.Join(t.scratch, strconv.Itoa(t.kept))
	if err := os.Rename(path, before); err != nil {
		return err
	}
	t.undo = append(t.undo, entry{path: path, before: before})
	return nil
}

func (t *Faulty) mkdir(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.step(path); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	t.undo = append(t.undo, entry{path: path})
	return nil
}

// syncDir makes the names in dir safe: there is nothing left to undo about them.
func (t *Faulty) syncDir(dir string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.step(dir); err != nil {
		return err
	}
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	dir = filepath.Clean(dir)
	var left []entry
	for _, e := range t.undo {
		if filepath.Dir(e.path) != dir {
			left = append(left, e)
			continue
		}
		if err := os.RemoveAll(e.before); err != nil {
			return err
		}
	}
	// A tree that is now gone for good takes the changes within it along.
	t.undo = slices.DeleteFunc(left, func(e entry) bool {
		return beneath(e.path, dir) && gone(e.path, dir)
	})
	return nil
}

// beneath reports whether path lies below dir.
func beneath(path, dir string) bool {
	return strings.HasPrefix(path, dir+string(filepath.Separator))
}

// gone reports whether the child of dir that leads to path does not exist.
func gone(path, dir string) bool {
	rest := path[len(dir)+1:]
	child, _, _ := strings.Cut(rest, string(filepath.Separator))
	_, err := os.Lstat(filepath.Join(dir, child))
	return errors.Is(err, fs.ErrNotExist)
}

func (t *Faulty) write(f *File, p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.era != t.era {
		return 0, ErrCrashed
	}
	if fault := t.step(f.path); fault != nil {
		n, err := f.file.Write(p[:len(p)/2])
		return n, errors.Join(fault, err)
	}
	return f.file.Write(p)
}

// overwrite changes a byte in place, and remembers the one before until the file is synced.
func (t *Faulty) overwrite(f *File, offset int64, b byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, err := t.act(f)
	if err != nil {
		return err
	}
	var before [1]byte
	if _, err := f.file.ReadAt(before[:], offset); err != nil {
		return err
	}
	c.changed = append(c.changed, spot{offset, before[0]})
	_, err = f.file.WriteAt([]byte{b}, offset)
	return err
}

func (t *Faulty) truncate(f *File, size int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, err := t.act(f)
	if err != nil {
		return err
	}
	c.size = min(c.size, size)
	return f.file.Truncate(size)
}

// sync notes how many bytes are safe. It does not call the system's sync: the crash is
// simulated, and tests need not wait for a disk.
func (t *Faulty) sync(f *File) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, err := t.act(f)
	if err != nil {
		return err
	}
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	c.size, c.changed = info.Size(), nil
	return nil
}

// act counts an operation on an open file, and returns what is known of it.
func (t *Faulty) act(f *File) (*content, error) {
	if f.era != t.era {
		return nil, ErrCrashed
	}
	if err := t.step(f.path); err != nil {
		return nil, err
	}
	return t.contentOf(f)
}

func (t *Faulty) contentOf(f *File) (*content, error) {
	info, err := f.file.Stat()
	if err != nil {
		return nil, err
	}
	c := t.files[identify(info)]
	if c == nil {
		return nil, ErrCrashed
	}
	return c, nil
}
