package kv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dgraph-io/badger/v4"

	"holdfast/internal/disk"
)

// manifestRoom is how much room the list of a database's tables has to grow. A record that is only half written would
// make the database unreadable once another follows it.
const manifestRoom = 1 << 20

// Reserve sets aside the room that the open database needs for more data: for the log of its next memtable, and for
// its list of tables. It answers disk.ErrFull if the disk has no room for them; then the database must not be written
// to. Call it before writes, at least once for as many bytes as a memtable holds. It costs little if everything is in
// place.
func Reserve(db *badger.DB) error {
	o := db.Opts()
	if o.InMemory {
		return nil
	}
	next, err := nextMemtable(o.Dir)
	if err != nil {
		return fmt.Errorf("set room aside for the database %s: %w", o.Dir, err)
	}
	if err := disk.Reserve(filepath.Join(o.Dir, fmt.Sprintf("%05d.mem", next)), 2*o.MemTableSize); err != nil {
		return err
	}
	list := filepath.Join(o.Dir, badger.ManifestFilename)
	stat, err := os.Stat(list)
	if err != nil {
		return fmt.Errorf("set room aside for the database %s: %w", o.Dir, err)
	}
	return disk.Reserve(list, stat.Size()+manifestRoom)
}

// nextMemtable returns the number of the next memtable's log: above that of every log that was begun.
func nextMemtable(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	last := 0
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), ".mem")
		if !is {
			continue
		}
		number, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue // flushed in the meantime
		}
		if err != nil {
			return 0, err
		}
		if info.Size() > 0 {
			last = max(last, number)
		}
	}
	return last + 1, nil
}
