package disk

import (
	"os"
	"syscall"
)

// keepSize is FALLOC_FL_KEEP_SIZE.
const keepSize = 1

func allocate(f *os.File, size int64) error {
	return syscall.Fallocate(int(f.Fd()), keepSize, 0, size)
}
