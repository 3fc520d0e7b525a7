package frontier

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// adviseTables says of the tables in dir, which Badger maps whole, that they are read here and there: the system would
// read megabytes around each block otherwise, and where memory is short drop as much that was of use. It is advice:
// that it was not taken changes nothing but the speed.
func adviseTables(dir string) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close() // only read
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if from, to, ok := parseMapping(lines.Bytes(), dir); ok {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_RANDOM)
		}
	}
}

// parseMapping reads where a line of /proc/self/maps has a table in dir mapped.
func parseMapping(line []byte, dir string) (from, to uintptr, ok bool) {
	at := bytes.IndexByte(line, '/')
	if at < 0 || !bytes.HasSuffix(line, []byte(".sst")) || filepath.Dir(string(line[at:])) != dir {
		return 0, 0, false
	}
	span, _, _ := bytes.Cut(line, []byte(" "))
	first, last, _ := bytes.Cut(span, []byte("-"))
	a, err1 := strconv.ParseUint(string(first), 16, strconv.IntSize)
	b, err2 := strconv.ParseUint(string(last), 16, strconv.IntSize)
	return uintptr(a), uintptr(b), err1 == nil && err2 == nil && a < b
}
