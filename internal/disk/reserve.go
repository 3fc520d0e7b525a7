package disk

import (
	"errors"
	"os"
	"syscall"
)

// Reserve allocates blocks for the first size bytes of the file at path, without changing its size; it makes the file
// if needed. Data written there later finds room even on a full disk. It answers ErrFull if there is no room. A file
// system that cannot reserve room is no error.
func Reserve(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return describe("open", path, err)
	}
	err = reserve(f, size)
	return errors.Join(err, f.Close())
}

func reserve(f *os.File, size int64) error {
	for {
		err := allocate(f, size)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err == nil, errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS):
			return nil
		}
		return describe("set room aside for", f.Name(), err)
	}
}
