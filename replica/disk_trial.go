package replica

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// trialName is a file that is written to each disk now and then, to see whether it takes writes.
const trialName = ".holdfast-trial"

// trialEvery is how often that is tried, and faultTold for how long a read that failed is told.
const (
	trialEvery = 5 * time.Minute
	faultTold  = 24 * time.Hour
)

// readFaults are reads of a disk that failed while it was there.
type readFaults struct {
	count int
	last  string
	at    time.Time
}

// trial writes to the disk. It returns why the disk takes no writes; nil if it does, or is merely full.
func (r *root) trial(d disk.Disk) error {
	path := filepath.Join(r.path, trialName)
	f, err := d.Create(path)
	if err != nil {
		return notFull(err)
	}
	_, err = f.Write([]byte{'\n'})
	if err == nil {
		err = f.SyncData()
	}
	return notFull(errors.Join(err, f.Close(), d.Remove(path)))
}

func notFull(err error) error {
	if errors.Is(err, disk.ErrFull) {
		return nil
	}
	return err
}

// refuses returns why the disk takes no writes, as of the last trial; nil if it does.
func (r *root) refuses() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refusal
}

// try notes whether the disk takes writes, and reports whether that is news.
func (r *root) try(d disk.Disk) (why error, news bool) {
	why = r.trial(d)
	r.mu.Lock()
	defer r.mu.Unlock()
	news = (why == nil) != (r.refusal == nil)
	r.refusal = why
	return why, news
}

// writable answers an error if the disk takes no writes.
func (r *root) writable() error {
	if why := r.refuses(); why != nil {
		return fmt.Errorf("disk %s takes no writes: %w", r.path, why)
	}
	return nil
}

// failed notes that bytes on the disk could not be read.
func (r *root) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults.count++
	r.faults.last, r.faults.at = err.Error(), time.Now()
}

// faulty says that reads of the disk failed lately; empty if none did.
func (r *root) faulty() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.faults.count == 0 || time.Since(r.faults.at) > faultTold {
		return ""
	}
	return fmt.Sprintf("bytes on it could not be read %d times since the node's start, the last time: %s",
		r.faults.count, r.faults.last)
}

// tryAll tries all disks that are there, when it is time.
func (r *remaking) tryAll(now time.Time) {
	if !r.trials.IsZero() && now.Sub(r.trials) < trialEvery {
		return
	}
	r.trials = now
	asked, _ := r.store.asked.look()
	for _, one := range r.store.roots {
		if asked.emptied(one.mark) || one.mounted() != nil {
			continue
		}
		switch why, news := one.try(r.store.disk); {
		case news && why != nil:
			r.log.Error("a disk takes no writes: what lies there is served and audited, and nothing comes to it",
				"disk", one.path, "err", why)
		case news:
			r.log.Info("a disk takes writes again", "disk", one.path)
		}
	}
}

// spill offers shards of a disk that takes no writes to other nodes, if no disk here has room for them.
func (r *remaking) spill(from *root) error {
	if r.disks.lacks(from) && time.Since(r.tried[from]) < goneAgain {
		return nil
	}
	r.tried[from] = time.Now()
	shards, err := r.held(from)
	if err != nil {
		return err
	}
	rooms, _, err := r.disks.survey()
	if err != nil {
		return err
	}
	sizes, err := r.disks.bytes()
	if err != nil {
		return err
	}
	var lacks lacking
	for _, n := range shards {
		if r.place(n, rooms, sizes[n].Bytes) >= 0 {
			continue
		}
		if lacks.shards++; len(lacks.next) < lackingMost {
			lacks.next = append(lacks.next, n)
		}
	}
	r.disks.note(from, lacks)
	return nil
}

// ailing returns the disks that are away, or take no writes, by their marks.
func (r *remaking) ailing(asked wishes) map[string]goneDisk {
	all := make(map[string]goneDisk)
	for _, one := range r.store.roots {
		switch {
		case asked.emptied(one.mark):
		case one.gone():
			all[one.mark] = goneDisk{Mark: one.mark, Path: one.path}
		case one.refuses() != nil:
			all[one.mark] = goneDisk{Mark: one.mark, Path: one.path, ReadOnly: true}
		}
	}
	return all
}

// lost reports whether err, of reading a copy in its shard, is about this copy alone: its bytes cannot be read, while
// the disk that they lie on is there. The disk's state says so.
func (s *Store) lost(name catalog.FileName, err error) bool {
	is := errors.Is(err, errUnreadable) && s.reachable(name) == nil
	if on := s.shards.on(name.Shard()); is && on != nil {
		on.failed(err)
	}
	return is
}
