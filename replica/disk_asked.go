package replica

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"

	"holdfast/internal/disk"
)

// asked holds an operator's wishes for a store's disks, and how far they are fulfilled. It survives a restart, in a
// file of its own.
type asked struct {
	path string
	disk disk.Disk

	mu   sync.Mutex
	now  wishes
	torn error    // the file could not be read: nothing moves until somebody has looked
	away []string // folders of the settings that are not used since the start, such as that of an emptied disk
}

// wishes is the content of the file.
type wishes struct {
	Drain     []drain    `json:"drain,omitempty"`
	Gone      []goneDisk `json:"gone,omitempty"`
	Added     []newDisk  `json:"added,omitempty"`
	Lost      []lostDisk `json:"lost,omitempty"`
	Paused    bool       `json:"paused,omitempty"`    // no shard moves
	Balancing bool       `json:"balancing,omitempty"` // the disks were found unevenly full, and are not even yet
}

// drain is a disk that is to be emptied, or was.
type drain struct {
	Mark    string `json:"mark"`
	Path    string `json:"path"`              // where it was mounted
	Emptied bool   `json:"emptied,omitempty"` // nothing of the archive lies on it
}

// openAsked reads the file at path. One that cannot be read is said, and keeps shards from moving, but nothing else.
func openAsked(path string, d disk.Disk, log *slog.Logger) *asked {
	a := &asked{path: path, disk: d}
	if path == "" {
		return a
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &a.now)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.torn = fmt.Errorf("the list of disks to empty cannot be read: %s: %w. No shard moves between disks. "+
			"Remove the file, then drain the disks again", path, err)
		log.Error("the list of disks to empty cannot be read; no shard moves between disks", "file", path, "err", err)
	}
	return a
}

// look returns the present wishes.
func (a *asked) look() (wishes, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now.copy(), a.torn
}

// change applies do and writes the file, if do has changed anything. On error nothing is changed.
func (a *asked) change(do func(*wishes) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.torn != nil {
		return a.torn
	}
	next := a.now.copy()
	if err := do(&next); err != nil {
		return err
	}
	if next.Paused == a.now.Paused && next.Balancing == a.now.Balancing && slices.Equal(next.Drain, a.now.Drain) &&
		slices.Equal(next.Gone, a.now.Gone) && slices.Equal(next.Added, a.now.Added) &&
		slices.Equal(next.Lost, a.now.Lost) {
		return nil
	}
	if a.path != "" {
		err := a.disk.WriteFile(a.path, func(w io.Writer) error { return json.NewEncoder(w).Encode(next) })
		if err != nil {
			return fmt.Errorf("write the list of disks to empty: %w", err)
		}
	}
	a.now = next
	return nil
}

func (w wishes) copy() wishes {
	w.Drain, w.Gone = slices.Clone(w.Drain), slices.Clone(w.Gone)
	w.Added, w.Lost = slices.Clone(w.Added), slices.Clone(w.Lost)
	return w
}

// drained returns the wish for the disk with the mark, or for the disk at the path if it has none.
func (w wishes) drained(mark, path string) (drain, bool) {
	i := slices.IndexFunc(w.Drain, func(d drain) bool {
		return mark != "" && d.Mark == mark || mark == "" &&
			d.Path == path
	})
	if i < 0 {
		return drain{}, false
	}
	return w.Drain[i], true
}

// emptied reports whether the disk with the mark was emptied: it may be taken away.
func (w wishes) emptied(mark string) bool {
	d, ok := w.drained(mark, "")
	return ok && d.Emptied
}

// set records the drain of a disk, in place of an earlier record.
func (w *wishes) set(d drain) {
	w.drop(d.Mark)
	w.Drain = append(w.Drain, d)
}

func (w *wishes) drop(mark string) {
	w.Drain = slices.DeleteFunc(w.Drain, func(d drain) bool { return d.Mark == mark })
}

// takenAway reports whether the disk at path was emptied and is no longer there. Its mount point must not receive
// files: another disk in its place is used once somebody says so.
func (a *asked) takenAway(path string) bool {
	mark, err := readMark(path)
	now, _ := a.look()
	d, ok := now.drained("", path)
	if err != nil || mark != "" || !ok || !d.Emptied {
		return false
	}
	a.away = append(a.away, path)
	return true
}

// forget forgets disks that were emptied, are not there (their paths by their marks), and are not in the settings; new
// ones that are used; and those that were replaced and are in the settings no more.
func (a *asked) forget(settings []string, there map[string]string) error {
	now, fault := a.look()
	if fault != nil {
		return nil
	}
	return a.change(func(w *wishes) error {
		for _, d := range now.Drain {
			if d.Emptied && there[d.Mark] == "" && !slices.Contains(settings, d.Path) {
				w.drop(d.Mark)
			}
		}
		w.Added = slices.DeleteFunc(w.Added, func(n newDisk) bool { return there[n.Mark] != "" })
		w.Lost = slices.DeleteFunc(w.Lost, func(l lostDisk) bool {
			return l.Told && !slices.Contains(settings, l.Path)
		})
		return nil
	})
}
