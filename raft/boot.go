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

// countStart returns the number of this start, higher than that of every earlier one. Requests carry it; a request
// with the numbers of an earlier one would get that one's answer. The file with the count may come from an older copy
// of the folder, and so may the state. The number is therefore also higher than the last one that the state
// remembers, and not below the clock.
func (n *Node) countStart(dir string) (boot uint64, err error) {
	err = n.state.view(func(r reader) (err error) {
		boot, err = n.machine.Boot(r, n.cfg.Self)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count the starts: %w", err)
	}
	boot, err = nextBoot(n.disk, dir, max(boot, uint64(max(catalog.At(time.Now()), 0))))
	if err == nil {
		n.wal.ledger.note(func(h *held) { h.Boot = boot })
	}
	return boot, err
}

// checkStart answers ErrStateLost if the folder of the log is older than the node's last start. Without the file with
// the count, the state's number counts.
func (n *Node) checkStart(dir string) error {
	last, err := lastBoot(dir)
	if err != nil {
		return err
	}
	if h := n.wal.ledger.now(); last > 0 && last < h.Boot {
		return fmt.Errorf("%w: %s is an older copy, from before the node's last start", ErrStateLost, dir)
	}
	return nil
}

// lastBoot returns the number of the last start, 0 when there was none.
func lastBoot(dir string) (last uint64, err error) {
	path := filepath.Join(dir, "boot")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("count the starts: %w", err)
	}
	if last, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err != nil {
		return 0, fmt.Errorf("%w: %s says %.20q", ErrDamaged, path, text)
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
