package raft

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"holdfast/internal/disk"
)

// lastBoot returns the number of the last start, 0 when there was none.
func lastBoot(dir string) (last uint64, err error) {
	path := filepath.Join(dir, "boot")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the number of the last start: %w", err)
	}
	if last, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err != nil {
		return 0, fmt.Errorf("%w: %s should hold a number, not %.20q", ErrDamaged, path, text)
	}
	return last, nil
}

// nextBoot returns a number above both past and the one that the file holds, and keeps it there.
func nextBoot(d disk.Disk, dir string, past uint64) (uint64, error) {
	last, err := lastBoot(dir)
	if err != nil {
		return 0, err
	}
	boot := max(last, past) + 1
	return boot, d.WriteFile(filepath.Join(dir, "boot"), writeBytes([]byte(strconv.FormatUint(boot, 10)+"\n")))
}
