package z

import (
	"errors"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// waitForRoom is the pause between two tries to give a log of a memtable its blocks.
const waitForRoom = 200 * time.Millisecond

// allocate gives the file real blocks for its first size bytes. Bytes that are written through a map to a hole of a full file
// system end the process by SIGBUS; with the blocks there they do not. No room is an error, but for the log of a memtable: Badger
// ends the process when it cannot make the next one, so that one waits until there is room.
func allocate(fd *os.File, size int64) error {
	for {
		err := reserve(fd, size)
		if !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT) || !strings.HasSuffix(fd.Name(), ".mem") {
			return err
		}
		time.Sleep(waitForRoom)
	}
}

func reserve(fd *os.File, size int64) error {
	for {
		err := unix.Fallocate(int(fd.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return fill(fd, size)
		}
		return err
	}
}

// fill writes zeros over a new file's holes, where the file system cannot set blocks aside.
func fill(fd *os.File, size int64) error {
	stat, err := fd.Stat()
	if err != nil {
		return err
	}
	var zeros [64 << 10]byte
	for at := stat.Size(); at < size; {
		n, err := fd.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at)
		if err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}
