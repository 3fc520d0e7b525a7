package raft

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// countStart returns the number of this start, above that of every earlier one: requests carry it, and one that bears the
// numbers of an earlier request would get that one's answer. The file that counts may be of an older copy of the folder, and
// so may the state; so the number is also above the last that the state remembers, and no lower than the clock.
func (n *Node) countStart(dir string) (boot uint64, err error) {
	err = n.state.view(func(r reader) (err error) {
		boot, err = n.machine.Boot(r, n.cfg.Self)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count the starts: %w", err)
	}
	return nextBoot(n.disk, dir, max(boot, uint64(max(catalog.At(time.Now()), 0))))
}

// nextBoot returns a number above both past and the one that the file holds, and keeps it there.
func nextBoot(d disk.Disk, dir string, past uint64) (uint64, error) {
	path := filepath.Join(dir, "boot")
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("count the starts: %w", err)
	}
	var last uint64
	if err == nil {
		if last, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err != nil {
			return 0, fmt.Errorf("%w: %s says %.20q", ErrDamaged, path, text)
		}
	}
	boot := max(last, past) + 1
	return boot, d.WriteFile(path, writeBytes([]byte(strconv.FormatUint(boot, 10)+"\n")))
}
