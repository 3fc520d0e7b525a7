package backups

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// nameTime is how a backup's name has the time when it was made.
const nameTime = "20060102T150405Z"

// partMark ends the name of a backup that is not read back yet.
const partMark = ".part"

// FileName returns the name of the backup's file. Names of one node's backups sort by age.
func (h *Head) FileName() string {
	return fmt.Sprintf("catalog-%s-%s-%d.backup", h.Member, h.At.UTC().Format(nameTime), h.Index)
}

// Folder is a folder with backups. Others, also of other nodes and clusters, may lie in it.
type Folder struct {
	Dir  string
	Disk disk.Disk
}

// Kept is a backup in a folder.
type Kept struct {
	Path string
	Head
}

// Save makes a backup in the folder: write is to write it. When Save returns nil the backup is on stable storage under
// its own name, and was read back. Before, it has a name that no backup has; on error, nothing is left of it, as far
// as the disk allows. Older backups are not touched.
func (f Folder) Save(h Head, write func(io.Writer) error) (Kept, error) {
	path := filepath.Join(f.Dir, h.FileName())
	part := path + partMark
	if _, err := os.Lstat(path); err == nil {
		return Kept{}, fmt.Errorf("write %s: %w", path, fs.ErrExist)
	}
	if err := f.Disk.MkdirAll(f.Dir); err != nil {
		return Kept{}, err
	}
	err := f.Disk.WriteFileMode(part, 0o600, write)
	if err == nil {
		err = f.readBack(part, h)
	}
	if err == nil {
		err = f.Disk.Rename(part, path)
	}
	if err != nil {
		return Kept{}, errors.Join(err, f.Disk.RemoveAll(part))
	}
	return Kept{Path: path, Head: h}, nil
}

// readBack compares what lies on the disk with the checksum at its end, and with the head that was meant.
func (f Folder) readBack(path string, want Head) error {
	got, err := checkFile(path)
	if err == nil && (got.Index != want.Index || got.SHA256 != want.SHA256 || !bytes.Equal(got.Box, want.Box)) {
		err = fmt.Errorf("read back %s: %w: it is another one", path, ErrDamaged)
	}
	return err
}

// Clean removes what interrupted calls of Save left behind of the node. Nobody may be saving.
func (f Folder) Clean(member string) error {
	entries, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for backups: %w", err)
	}
	for _, e := range entries {
		name, _, _ := strings.Cut(strings.TrimPrefix(e.Name(), "."), partMark)
		if name != e.Name() && isName(name, member) {
			if err := f.Disk.Remove(filepath.Join(f.Dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func isName(name, member string) bool {
	return regexp.MustCompile(`^catalog-` + regexp.QuoteMeta(member) + `-\d{8}T\d{6}Z-\d+\.backup$`).MatchString(name)
}

// List returns the node's backups of the cluster, newest first, as their names and heads say. What cannot be read as a
// backup is left out.
func (f Folder) List(cluster, member string) ([]Kept, error) {
	entries, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for backups: %w", err)
	}
	var out []Kept
	for _, e := range entries {
		if !e.Type().IsRegular() || !isName(e.Name(), member) {
			continue
		}
		path := filepath.Join(f.Dir, e.Name())
		in, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("look for backups: %w", err)
		}
		h, _, err := ReadHead(in)
		in.Close()
		info, failed := e.Info()
		if err != nil || failed != nil || h.Cluster != cluster || h.FileName() != e.Name() || info.Size() != h.Bytes() {
			continue
		}
		out = append(out, Kept{Path: path, Head: h})
	}
	slices.SortFunc(out, func(a, b Kept) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.Index, a.Index))
	})
	return out, nil
}

// Prune removes the node's oldest backups of the cluster but for keep of them. newest, which was saved just now, stays
// whatever the clock said when the others were made.
func (f Folder) Prune(newest Kept, keep int) (removed int, err error) {
	all, err := f.List(newest.Cluster, newest.Member)
	if err != nil {
		return 0, err
	}
	all = slices.DeleteFunc(all, func(k Kept) bool { return k.Path == newest.Path })
	for _, old := range all[min(len(all), max(keep-1, 0)):] {
		if err := f.Disk.Remove(old.Path); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// Make backs the state up into the folder, and then removes the oldest backups but for keep of them; 0 keeps all.
func (f Folder) Make(ctx context.Context, s State, from Origin, to []byte, keep int, now time.Time) (Kept, error) {
	h, err := Describe(ctx, s)
	if err != nil {
		return Kept{}, err
	}
	h.Index, h.Term, h.Node, h.Member = from.Index, from.Term, from.Node, from.Member
	h.At = now.UTC().Truncate(time.Second)
	with, err := h.Seal(to)
	if err != nil {
		return Kept{}, err
	}
	made, err := f.Save(h, func(w io.Writer) error { return Write(ctx, w, h, with, s) })
	if err == nil && keep > 0 {
		_, err = f.Prune(made, keep)
	}
	return made, err
}

// Origin says where a state comes from.
type Origin struct {
	Index, Term uint64
	Node        catalog.NodeID
	Member      string
}

// receiving begins the names of backups that are on their way; abandoned is how old such a file is when whoever
// received it is taken for ended.
const (
	receiving = ".receiving-"
	abandoned = 24 * time.Hour
)

// Receive saves a backup that somebody sends: send is to call begin with the name of its file, and to write it to what
// begin returns. It promises what Save does, and removes what calls left that were cut off a day ago or longer.
func (f Folder) Receive(send func(begin func(name string) (io.Writer, error)) error) (Kept, error) {
	if err := f.Disk.MkdirAll(f.Dir); err != nil {
		return Kept{}, err
	}
	if err := f.dropAbandoned(); err != nil {
		return Kept{}, err
	}
	var path string
	part := filepath.Join(f.Dir, fmt.Sprintf("%s%d%s", receiving, os.Getpid(), partMark))
	var h Head
	err := f.Disk.WriteFileMode(part, 0o600, func(w io.Writer) error {
		return send(func(name string) (io.Writer, error) {
			sent := regexp.MustCompile(`^catalog-[0-9A-Za-z._-]+\.backup$`)
			if name != filepath.Base(name) || !sent.MatchString(name) {
				return nil, fmt.Errorf("%w: %q is not the name of one", ErrDamaged, name)
			}
			path = filepath.Join(f.Dir, name)
			if _, err := os.Lstat(path); err == nil {
				return nil, fmt.Errorf("write %s: %w", path, fs.ErrExist)
			}
			return w, nil
		})
	})
	if err == nil {
		h, err = checkFile(part)
	}
	if err == nil && h.FileName() != filepath.Base(path) {
		err = fmt.Errorf("%w: it is %s, but its file is named %s", ErrDamaged, h.FileName(), filepath.Base(path))
	}
	if err == nil {
		err = f.Disk.Rename(part, path)
	}
	if err != nil {
		return Kept{}, errors.Join(err, f.Disk.RemoveAll(part))
	}
	return Kept{Path: path, Head: h}, nil
}

func (f Folder) dropAbandoned() error {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return fmt.Errorf("look for cut off backups: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), receiving) || time.Since(info.ModTime()) < abandoned {
			continue
		}
		if err := f.Disk.Remove(filepath.Join(f.Dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// checkFile reads back what lies on the disk, and compares it with the checksum at its end.
func checkFile(path string) (Head, error) {
	in, err := os.Open(path)
	if err != nil {
		return Head{}, fmt.Errorf("read back a backup: %w", err)
	}
	defer in.Close()
	h, err := Check(in)
	if err != nil {
		return h, fmt.Errorf("read back %s: %w", path, err)
	}
	return h, nil
}
