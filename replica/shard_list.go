package replica

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// shardList remembers in a file which disk holds each shard: of a disk that is not there it tells which shards are out
// of reach, and which are empty. It is whole once it was written at a start with all disks there, and is kept from
// then on: before a shard gets its first file, and before a disk that a shard has moved away from gives up its own.
type shardList struct {
	path string
	disk disk.Disk

	mu    sync.Mutex
	whole bool
	marks [catalog.Shards]string // of the roots
}

const shardListText = "# Which disk holds each shard, by the mark in the disk's " + MarkName +
	". Of two lines of a shard, the later one counts.\n"

// openShardList reads the list at path. One that cannot be read is not relied on: it is made again at the next start
// with all disks there.
func openShardList(path string, d disk.Disk, log *slog.Logger) *shardList {
	l := &shardList{path: path, disk: d}
	if path == "" {
		return l
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = l.parse(string(text))
	}
	switch {
	case err == nil:
		l.whole = true
	case !errors.Is(err, fs.ErrNotExist):
		clear(l.marks[:])
		log.Error("the list of the disks' shards cannot be read; it is made again once all disks are there", "file",
			path, "err", err)
	}
	return l
}

// parse reads the lines. The last one counts only with its end: without it, it was never relied on.
func (l *shardList) parse(text string) error {
	if !strings.HasPrefix(text, "#") {
		return fmt.Errorf("%s does not begin as such a list does", l.path)
	}
	for line := range strings.Lines(text) {
		whole, ended := strings.CutSuffix(line, "\n")
		if !ended || strings.HasPrefix(whole, "#") {
			continue
		}
		number, mark, _ := strings.Cut(whole, " ")
		n, err := catalog.ParseShard(number)
		if err != nil || n.String() != number || mark == "" {
			return fmt.Errorf("%s: want a shard and a mark, not %q", l.path, whole)
		}
		l.marks[n] = mark
	}
	return nil
}

// of returns the mark of the disk that holds the shard, "" for none; known reports whether the list can tell.
func (l *shardList) of(n catalog.Shard) (mark string, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.marks[n], l.whole
}

// note records that the root holds the shard. When it returns nil that is on stable storage. Before the list is whole,
// nothing is recorded.
func (l *shardList) note(n catalog.Shard, r *root) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.whole || l.marks[n] == r.mark {
		return nil
	}
	if err := l.disk.Append(l.path, []byte(n.String()+" "+r.mark)); err != nil {
		return fmt.Errorf("note that shard %s is on %s: %w", n, r.path, err)
	}
	l.marks[n] = r.mark
	return nil
}

// settle writes the list as the shards are found when the store is opened. While a disk is away, a list that is not
// whole stays so. A shard that lies nowhere keeps the mark of a disk that was replaced, as long as kept says so.
func (l *shardList) settle(shards *places, absent bool, kept func(mark string) bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.path == "" || absent && !l.whole {
		return nil
	}
	var is [catalog.Shards]string
	for n := range shards {
		if r := shards[n].root; r != nil {
			is[n] = r.mark
		} else if kept(l.marks[n]) {
			is[n] = l.marks[n]
		}
	}
	if l.whole && is == l.marks {
		return nil
	}
	err := l.disk.WriteFile(l.path, func(w io.Writer) error {
		if _, err := io.WriteString(w, shardListText); err != nil {
			return err
		}
		for n, mark := range is {
			if mark == "" {
				continue
			}
			if _, err := fmt.Fprintln(w, catalog.Shard(n), mark); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write the list of the disks' shards: %w", err)
	}
	l.marks, l.whole = is, true
	return nil
}
