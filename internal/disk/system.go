package disk

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// The operations below are all that ever changes a disk. Each goes to the system,
// or through the faulty twin, which counts it, may refuse it, and remembers how to undo it.

func (d Disk) openFile(path string, flag int, mode fs.FileMode) (*os.File, error) {
	if d.twin != nil {
		return d.twin.openFile(path, flag, mode)
	}
	return os.OpenFile(path, flag, mode)
}

func (d Disk) rename(old, new string) error {
	if d.twin != nil {
		return d.twin.rename(old, new)
	}
	return os.Rename(old, new)
}

func (d Disk) link(old, new string) error {
	if d.twin != nil {
		return d.twin.link(old, new)
	}
	return os.Link(old, new)
}

func (d Disk) remove(path string) error {
	if d.twin != nil {
		return d.twin.remove(path)
	}
	return os.Remove(path)
}

func (d Disk) removeAll(path string) error {
	if d.twin != nil {
		return d.twin.removeAll(path)
	}
	return os.RemoveAll(path)
}

func (d Disk) mkdir(path string) error {
	if d.twin != nil {
		return d.twin.mkdir(path)
	}
	return os.Mkdir(path, d.folderMode())
}

func (d Disk) syncDir(dir string) error {
	if d.twin != nil {
		return d.twin.syncDir(dir)
	}
	return systemSyncDir(dir)
}

func systemSyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if closing := f.Close(); err == nil {
		err = closing
	}
	if errors.Is(err, syscall.EINVAL) { // a file system that cannot sync folders has none to lose
		return nil
	}
	return err
}

func (f *File) write(p []byte) (int, error) {
	if f.disk.twin != nil {
		return f.disk.twin.write(f, p)
	}
	return f.file.Write(p)
}

func (f *File) overwrite(offset int64, b byte) error {
	if f.disk.twin != nil {
		return f.disk.twin.overwrite(f, offset, b)
	}
	_, err := f.file.WriteAt([]byte{b}, offset)
	return err
}

func (f *File) truncate(size int64) error {
	if f.disk.twin != nil {
		return f.disk.twin.truncate(f, size)
	}
	return f.file.Truncate(size)
}

func (f *File) sync() error {
	if f.disk.twin != nil {
		return f.disk.twin.sync(f)
	}
	return f.file.Sync()
}
