package replica

import (
	"os"

	"golang.org/x/sys/unix"
)

// What follows is advice to the system; that it was not taken changes nothing but the speed.

// adviseCold tells the kernel that f is to be read from the disk, not from the page cache, from its beginning to its
// end.
func adviseCold(f *os.File) {
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_SEQUENTIAL)
}

// adviseDone tells the kernel that what was read of f will not be read again soon.
func adviseDone(f *os.File) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }

// adviseWrite says that these bytes of f may go to the disk now, so that there is less left for a sync.
func adviseWrite(f *os.File, offset, length int64) {
	_ = unix.SyncFileRange(int(f.Fd()), offset, length, unix.SYNC_FILE_RANGE_WRITE)
}
