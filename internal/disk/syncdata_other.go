//go:build !linux

package disk

import (
	"errors"
	"syscall"
)

// SyncData puts what was written to a file on stable storage, and of its metadata only what is needed to read it again.
func SyncData(f syscall.Conn) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	failed := raw.Control(func(fd uintptr) {
		for {
			if err = syscall.Fsync(int(fd)); !errors.Is(err, syscall.EINTR) {
				return
			}
		}
	})
	return errors.Join(failed, err)
}
