package replica

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/catalog"
)

// ErrNotMounted reports a root whose disk is not there. Its files are not lost, only out of reach.
var ErrNotMounted = errors.New("the disk is not mounted")

// MarkName is the file that tells a root from the empty folder on which its disk is mounted.
const MarkName = ".holdfast-root"

const markText = "# A disk of a Holdfast archive. This file belongs to it: without it, the node takes the disk for " +
	"one that is\n" +
	"# not mounted, and does not use it.\n"

// openRoots opens the roots, after all that this node has used are seen to be there. New ones are marked.
func (s *mounts) openRoots() error {
	known, err := readKnown(s.cfg.Known)
	if err != nil {
		return err
	}
	asked, _ := s.asked.look()                         // when it cannot be read, all disks have to be there
	there := make(map[string]string, len(s.cfg.Roots)) // path by mark
	absent := make(map[string]bool)
	written := maps.Clone(known)
	maps.DeleteFunc(known, func(mark, _ string) bool { return asked.isLost(mark) })
	for _, path := range s.cfg.Roots {
		mark, err := readMark(path)
		if why := asked.unused(path, mark); err == nil && why != "" && !isKnown(known, path) {
			s.log.Error("a folder for files of the settings is not used", "disk", path, "why", why)
			s.asked.away = append(s.asked.away, path)
			continue
		}
		if err != nil && !isKnown(known, path) { // a disk with errors is away, if it was used before
			return err
		}
		if other := there[mark]; mark != "" && other != "" {
			return fmt.Errorf("%s and %s carry the same mark (%s)", other, path, MarkName)
		}
		if mark != "" {
			there[mark] = path
		}
	}
	for mark, path := range known {
		if there[mark] != "" || asked.emptied(mark) {
			continue
		}
		if why := s.mayBeAbsent(path); why != nil && len(there) > 0 {
			s.roots = append(s.roots, &root{path: path, incoming: s.cfg.Incoming, quarantine: s.cfg.Quarantine,
				mark: mark, absent: why})
			s.log.Error("a disk for files is not there; the node starts without it", "disk", path, "err", why)
			absent[path], there[mark] = true, path
			continue
		}
		if slices.Contains(s.cfg.Roots, path) {
			return fmt.Errorf("%s: %w: its mark (%s) is missing. Mount it; if it is lost for good, remove its line "+
				"from %s and run an audit: its copies are then made again", path, ErrNotMounted, MarkName, s.cfg.Known)
		}
		return fmt.Errorf("%s: %w under any folder for files of the settings, and was not emptied. Name it there "+
			"again, and empty it with `holdfast disk drain` first; if it is lost for good, take its line out of %s "+
			"and run an audit, and its copies are fetched again", path, ErrNotMounted, s.cfg.Known)
	}
	for _, path := range s.cfg.Roots {
		if absent[path] || slices.Contains(s.asked.away, path) {
			continue
		}
		if s.asked.takenAway(path) {
			s.log.Warn("a disk that was emptied is not there and is not used", "disk", path)
			continue
		}
		r, err := s.openRoot(path)
		if err != nil {
			return err
		}
		if r.mark, err = s.markRoot(path); err != nil {
			return err
		}
		there[r.mark] = path
		_, drained := asked.drained(r.mark, "")
		r.draining.Store(drained)
		s.roots = append(s.roots, r)
	}
	slices.SortFunc(s.roots, func(a, b *root) int {
		return slices.Index(s.cfg.Roots, a.path) - slices.Index(s.cfg.Roots, b.path)
	})
	if len(s.roots) == 0 {
		return errors.New("the only folder for files was emptied and removed, or replaced: set another one in files")
	}
	if err := s.asked.forget(s.cfg.Roots, there); err != nil {
		return err
	}
	return s.writeKnown(written, there)
}

// isKnown reports whether a root was last seen at the path.
func isKnown(known map[string]string, path string) bool {
	for _, was := range known {
		if was == path {
			return true
		}
	}
	return false
}

// mayBeAbsent says why nothing is to be seen of the disk that was used at the path, which the settings still name; nil
// when the settings do not, or when another disk is there.
func (s *mounts) mayBeAbsent(path string) error {
	if !slices.Contains(s.cfg.Roots, path) {
		return nil
	}
	mark, err := readMark(path)
	if err == nil && mark == "" {
		err = fmt.Errorf("%s: %w: its mark (%s) is missing", path, ErrNotMounted, MarkName)
	}
	return err
}

// alone reports whether there is no other root that was there when the store was opened.
func (s *mounts) alone(r *root) bool {
	return !slices.ContainsFunc(s.roots, func(other *root) bool { return other != r && other.absent == nil })
}

// absent returns a root that was not there when the store was opened, nil if all were.
func (s *mounts) absent() *root {
	for _, r := range s.roots {
		if r.absent != nil {
			return r
		}
	}
	return nil
}

// readMark returns the mark of the root at path, "" if there is none.
func readMark(path string) (string, error) {
	f, err := os.Open(filepath.Join(path, MarkName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("check whether %s is mounted: %w", path, err)
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, 4<<10))
	for lines.Scan() {
		if text := strings.TrimSpace(lines.Text()); text != "" && !strings.HasPrefix(text, "#") {
			return text, nil
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("check whether %s is mounted: %w", path, err)
	}
	return "", fmt.Errorf("%s has no mark in it", f.Name())
}

// markRoot returns the root's mark, giving it one if it has none.
func (s *mounts) markRoot(path string) (string, error) {
	if mark, err := readMark(path); mark != "" || err != nil {
		return mark, err
	}
	random := make([]byte, 8)
	_, _ = rand.Read(random)
	mark := hex.EncodeToString(random)
	return mark, s.disk.WriteFile(filepath.Join(path, MarkName), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s%s\n", markText, mark)
		return err
	})
}

// readKnown reads the list of roots that this node has used: where each was mounted last, by its mark.
func readKnown(path string) (map[string]string, error) {
	known := make(map[string]string)
	if path == "" {
		return known, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of roots: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		mark, root, ok := strings.Cut(line, " ")
		if !ok {
			return nil, fmt.Errorf("read the list of roots: %s: want a mark and a folder, not %q", path, line)
		}
		known[mark] = root
	}
	return known, nil
}

// writeKnown keeps the list, if it says anything new.
func (s *mounts) writeKnown(was, is map[string]string) error {
	if s.cfg.Known == "" {
		return nil
	}
	var lines []string
	same := len(was) == len(is)
	for mark, path := range is {
		same = same && was[mark] == path
		lines = append(lines, mark+" "+path+"\n")
	}
	if same {
		return nil
	}
	slices.Sort(lines)
	return s.disk.WriteFile(s.cfg.Known, func(w io.Writer) error {
		_, err := io.WriteString(w, "# The folders for files that this node has used, each by the mark in its "+
			""+MarkName+".\n"+strings.Join(lines, ""))
		return err
	})
}

// mounted answers ErrNotMounted when the root's disk has gone away since the store was opened.
func (r *root) mounted() error {
	mark, err := readMark(r.path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotMounted, err)
	}
	if r.absent != nil && mark == r.mark {
		return fmt.Errorf("%s: %w since the node's start (%w): it is there again, and used from the next start", r.path,
			ErrNotMounted, r.absent)
	}
	if mark != r.mark || r.absent != nil {
		return fmt.Errorf("%s: %w: its mark (%s) is missing", r.path, ErrNotMounted, MarkName)
	}
	return nil
}

// Mounted answers ErrNotMounted, naming the roots, if disks have gone away since the store was opened. Disks that
// were emptied may go.
func (s *mounts) Mounted() error {
	var gone error
	asked, _ := s.asked.look()
	for _, r := range s.roots {
		if asked.emptied(r.mark) {
			continue
		}
		gone = errors.Join(gone, r.mounted())
	}
	return gone
}

// Away reports whether the file's shard lies on a disk that was not there when the store was opened, or may do so: no
// other disk has it. What is not seen of it is not gone.
func (s *Store) Away(name catalog.FileName) bool {
	r := s.shards.on(name.Shard())
	return r != nil && r.absent != nil
}

// reachable answers ErrNotMounted when the file's shard lies on a disk that has gone away.
func (s *Store) reachable(name catalog.FileName) error {
	sh := &s.shards[name.Shard()]
	sh.mu.Lock()
	r := sh.root
	sh.mu.Unlock()
	if r == nil {
		return nil
	}
	return r.mounted()
}
