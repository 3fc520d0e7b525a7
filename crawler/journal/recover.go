package journal

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/crawler/frontier"
	"holdfast/internal/disk"
	"holdfast/warc"
)

// Recovery brings the WARC files of a crawl that is opened into line with the frontier.
type Recovery struct {
	dir         string
	disk        disk.Disk
	frontier    *frontier.Frontier
	journal     *Journal
	checkpoints *Checkpoints
	replay      *Replay
	log         *slog.Logger
	damage      Damage // that was found
}

// Run puts the WARC files in order and accounts for their records. A torn file is cut after its last complete URI and
// finished. URIs that the frontier does not know as finished are accounted for as if they had just been fetched.
func (r *Recovery) Run() (Damage, error) {
	err := r.files()
	return r.damage, err
}

func (r *Recovery) files() error {
	dir := filepath.Join(r.dir, "warcs")
	if err := r.leaveDamaged(); err != nil {
		return err
	}
	torn, err := filepath.Glob(filepath.Join(dir, "*.warc.gz.open"))
	if err != nil {
		return fmt.Errorf("look for torn files: %w", err)
	}
	for _, path := range torn {
		if err := r.salvage(path); err != nil {
			return fmt.Errorf("salvage %s: %w", path, err)
		}
	}
	described, err := r.examine(dir)
	if err != nil {
		return err
	}
	if err := r.mend(described); err != nil {
		return fmt.Errorf("mend damaged files: %w", err)
	}
	whole, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
	if err != nil {
		return fmt.Errorf("look for WARC files: %w", err)
	}
	slices.SortFunc(whole, func(a, b string) int { return strings.Compare(serial(a)+a, serial(b)+b) })
	if err := r.setAside(whole); err != nil {
		return err
	}
	for _, path := range whole {
		if err := r.account(path, described[filepath.Base(path)]); err != nil {
			return fmt.Errorf("account for %s: %w", path, err)
		}
	}
	return nil
}

// examine reads the finished files that were not handed over. One that is damaged is kept under another name.
func (r *Recovery) examine(dir string) (map[string]warc.Finished, error) {
	whole, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
	if err != nil {
		return nil, fmt.Errorf("look for WARC files: %w", err)
	}
	described := map[string]warc.Finished{}
	for _, path := range whole {
		name := filepath.Base(path)
		if given, err := r.journal.Handover.given(name); err != nil {
			return nil, err
		} else if given {
			continue
		}
		f, err := Describe(path)
		if damaged(err) {
			err = r.keepDamaged(path)
		} else if err == nil {
			described[name] = f
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return described, nil
}

// serial is the part of a file's name that tells the order of writing.
func serial(path string) string {
	parts := strings.Split(filepath.Base(path), "-")
	for i := len(parts) - 2; i > 0; i-- {
		if len(parts[i]) >= 5 && len(parts[i-1]) == 17 {
			return parts[i-1]
		}
	}
	return ""
}

// salvage cuts a torn file after its last complete URI and finishes it; a file without one is removed. A file with
// damage in its committed part is kept under another name.
func (r *Recovery) salvage(path string) error {
	end := int64(0)
	err := eachGroup(path, 0, func(g *group) error {
		end = g.end
		return nil
	})
	if err != nil && !damaged(err) {
		return err
	}
	committed, err := readAccounted(r.frontier, strings.TrimSuffix(filepath.Base(path), ".open"))
	if err != nil {
		return err
	}
	if end < committed.end {
		return r.keepDamaged(path)
	}
	r.log.Info("salvage a WARC file that was being written", "file", filepath.Base(path), "whole", end)
	if end == 0 {
		return r.disk.Remove(path)
	}
	f, err := r.disk.Open(path)
	if err != nil {
		return err
	}
	err = f.Truncate(end)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, err = warc.Salvage(r.disk, path)
	return err
}

// account accounts for the URIs of a finished file that are not committed yet, and hands it over. The file is as
// described, if it was described.
func (r *Recovery) account(path string, f warc.Finished) error {
	name := filepath.Base(path)
	committed, err := readAccounted(r.frontier, name)
	if err != nil {
		return err
	}
	from := committed.end
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if from < info.Size() {
		n := 0
		err := eachGroup(path, from, func(g *group) error {
			if n++; n%500 == 0 {
				if err := r.journal.Commit(); err != nil {
					return err
				}
			}
			return r.replay.group(g)
		})
		if err != nil {
			return err
		}
		if err := r.journal.Commit(); err != nil {
			return err
		}
	}
	given, err := r.journal.Handover.given(name)
	if err != nil {
		return err
	}
	if given {
		r.journal.Handover.found(name, nil)
		return nil
	}
	if f.Path == "" {
		if f, err = Describe(path); err != nil {
			return err
		}
	}
	r.journal.Handover.found(name, &f)
	return nil
}

// Describe reads a finished file to tell its size, checksum and number of records.
func Describe(path string) (warc.Finished, error) {
	f, err := os.Open(path)
	if err != nil {
		return warc.Finished{}, err
	}
	defer f.Close()
	out := warc.Finished{Path: path}
	sum := sha256.New()
	if out.Size, err = io.Copy(sum, f); err != nil {
		return out, err
	}
	sum.Sum(out.SHA256[:0])
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return out, err
	}
	r, err := warc.NewReader(f, path)
	for err == nil {
		if _, err = r.Next(); err == nil {
			out.Records++
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return out, err
}

// setAside accepts WARC files as they are, after the frontier was set back to a checkpoint: content fetched since
// then is kept, but the crawl does not know of it.
func (r *Recovery) setAside(files []string) error {
	if back, err := r.checkpoints.takenBack(); err != nil || !back {
		return err
	}
	for _, path := range files {
		stat, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("set %s aside: %w", filepath.Base(path), err)
		}
		r.frontier.SetValue(valueWARC+filepath.Base(path), accounted{end: stat.Size()}.bytes())
	}
	if err := r.journal.Commit(); err != nil {
		return err
	}
	r.log.Info("crawl starts from a checkpoint", "files kept", len(files))
	return r.disk.Remove(RestoredMark(r.dir))
}

// leaveDamaged counts damaged files as mended, after the frontier was set back to a checkpoint: their lost URIs were
// queued before that, or are no longer known.
func (r *Recovery) leaveDamaged() error {
	if back, err := r.checkpoints.takenBack(); err != nil || !back {
		return err
	}
	paths, err := r.damagedFiles()
	for _, path := range paths {
		r.frontier.SetValue(ValueMended+filepath.Base(path), []byte("1"))
	}
	return err
}
