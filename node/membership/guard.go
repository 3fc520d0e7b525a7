package membership

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"holdfast/internal/disk"
)

// OwnerOnly are the permissions of files that only the node's user may read.
const OwnerOnly = 0o600

// guarded are the folders of a node that hold its keys, what the cluster agreed, and the state of crawls.
func (c Folder) guarded() []string {
	var all []string
	for _, name := range []string{"identity", "raft", "catalog", "jobs", "log"} {
		all = append(all, filepath.Join(c.Data, name))
	}
	return all
}

// PrivateDisk makes files that the node's user alone may read.
func (c Folder) PrivateDisk() disk.Disk { return disk.New().WithMode(OwnerOnly) }

// FilesDisk makes files with the permissions of the archive's.
func (c Folder) FilesDisk() disk.Disk { return disk.New().WithMode(fs.FileMode(c.Limits.FilesMode)) }

// Guard takes from others the permissions that they have in the guarded folders, and says so. A harvested file that has
// a second name elsewhere is left: it enters the archive. A folder may be a link to one on another disk.
func (c Folder) Guard(log *slog.Logger) error {
	for _, dir := range c.guarded() {
		mended, harvested := 0, filepath.Base(dir) == "jobs"
		real, err := filepath.EvalSymlinks(dir)
		if err := gone(err); err != nil {
			return fmt.Errorf("keep %s from other users of this machine: %w", dir, err)
		}
		if err != nil {
			continue
		}
		err = filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return gone(err)
			}
			info, err := d.Info()
			if err != nil {
				return gone(err)
			}
			mode := info.Mode()
			if mode.Perm()&0o077 == 0 || !mode.IsDir() && !mode.IsRegular() ||
				harvested && !mode.IsDir() && linked(info) {
				return nil
			}
			mended++
			return gone(os.Chmod(path, mode.Perm()&0o700))
		})
		if err != nil {
			return fmt.Errorf("keep %s from other users of this machine: %w", dir, err)
		}
		if mended > 0 {
			log.Warn("others on this machine could read what is the node's own; that is mended",
				"folder", dir, "entries", mended)
		}
	}
	return nil
}

func linked(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink > 1
}

// gone ignores the error that a file no longer exists.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
