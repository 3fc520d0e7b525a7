package disk

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// File is a file open for appending and reading. Bytes written are on stable
// storage only once Sync has returned nil. Write, Sync, Truncate and Close are for one
// goroutine; ReadAt may run beside them.
type File struct {
	disk   Disk
	path   string
	file   *os.File
	size   int64
	named  bool   // the name is known to be on stable storage
	failed error  // a sync failed: from here on the content of the disk is unknown
	era    uint64 // the twin's count of crashes when the file was opened
}

// Create makes the file at path for writing, or empties the one there.
func (d Disk) Create(path string) (*File, error) {
	return d.open(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, d.fileMode())
}

// Open opens the file at path to append to it, and makes it if it does not exist.
func (d Disk) Open(path string) (*File, error) {
	return d.open(path, os.O_RDWR|os.O_CREATE, d.fileMode())
}

// temporary makes a new file with a temporary name beside path.
func (d Disk) temporary(path string, mode fs.FileMode) (*File, error) {
	dir, base := filepath.Split(path)
	if len(base) > 128 { // leave room below the limit of 255 bytes
		base = base[:128]
	}
	name := dir + "." + base + temporaryMark + strconv.FormatUint(rand.Uint64(), 36)
	return d.open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
}

func (d Disk) open(path string, flag int, mode fs.FileMode) (*File, error) {
	file, err := d.openFile(path, flag, mode)
	if err != nil {
		return nil, describe("open", path, err)
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil && size == 0 && d.mode != 0 {
		err = file.Chmod(mode)
	}
	if err != nil {
		file.Close()
		return nil, describe("open", path, err)
	}
	f := &File{disk: d, path: path, file: file, size: size}
	if d.twin != nil {
		f.era = d.twin.now()
	}
	return f, nil
}

// Name returns the path the file was opened by.
func (f *File) Name() string { return f.path }

// Size returns the number of bytes in the file, synced or not.
func (f *File) Size() int64 { return f.size }

// Write appends p. On error the bytes that did get in are counted, and may be cut off by Truncate.
func (f *File) Write(p []byte) (int, error) {
	if f.failed != nil {
		return 0, f.failed
	}
	n, err := f.write(p)
	f.size += int64(n)
	if err != nil {
		return n, describe("write", f.path, err)
	}
	return n, nil
}

// ReadAt reads from the file as io.ReaderAt does, bytes not yet synced included.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	return f.file.ReadAt(p, offset)
}

// Truncate cuts the file to size; writing continues from there.
func (f *File) Truncate(size int64) error {
	if err := f.truncate(size); err != nil {
		return describe("truncate", f.path, err)
	}
	if _, err := f.file.Seek(size, io.SeekStart); err != nil {
		return describe("truncate", f.path, err)
	}
	f.size = size
	return nil
}

// Sync puts all bytes written so far, and the file's name, on stable storage.
// After a Sync that failed the file takes no more writes: the system may have
// dropped bytes it could not store, and a second sync would not notice.
func (f *File) Sync() error {
	if err := f.syncData(); err != nil {
		return err
	}
	if f.named {
		return nil
	}
	if err := f.disk.SyncDir(filepath.Dir(f.path)); err != nil {
		return err
	}
	f.named = true
	return nil
}

// SyncData is Sync without the name, which is on stable storage once SyncDir has returned nil for its folder.
func (f *File) SyncData() error { return f.syncData() }

// syncData is Sync without the name.
func (f *File) syncData() error {
	if f.failed != nil {
		return f.failed
	}
	if err := f.sync(); err != nil {
		f.failed = fmt.Errorf("sync %s: %w", f.path, full(bare(err)))
		return f.failed
	}
	return nil
}

// Close closes the file. It does not sync.
func (f *File) Close() error {
	if err := f.file.Close(); err != nil {
		return describe("close", f.path, err)
	}
	return nil
}
