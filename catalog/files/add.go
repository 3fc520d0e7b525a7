package files

import (
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

func addFiles(s *state, b *Additions) (any, error) {
	if err := agree.CheckItems(len(b.Files)); err != nil {
		return nil, err
	}
	replicas, err := cluster.Staying(s.State)
	if err != nil {
		return nil, err
	}
	return each(b.Files, func(a *Addition) FileName { return a.Name },
		func(a *Addition) error { return s.addFile(a, replicas) })
}

func (s *state) addFile(a *Addition, replicas []cluster.Replica) error {
	if err := a.Name.Check(); err != nil {
		return agree.Refuse(agree.Invalid, "%v", err)
	}
	if a.Size < 0 || a.Size > maxSize || a.SHA256.IsZero() {
		return agree.Refuse(agree.Invalid, "file %s of %d bytes: want a SHA-256 and 0 to %d bytes", a.Name, a.Size,
			int64(maxSize))
	}
	if a.By != "" && (len(a.By) > 200 || !strings.HasPrefix(a.By, "person:") && !strings.HasPrefix(a.By, "program:") &&
		!strings.HasPrefix(a.By, "local:")) {
		return agree.Refuse(agree.Invalid, "%q is no person and no program", agree.Clip(a.By, 100))
	}
	if there, err := s.HasCollection(a.Collection); err != nil || !there {
		return agree.OrNotFound(err, "no collection %q", agree.Clip(string(a.Collection), 64))
	}
	if there, err := s.IsMember(a.Source); err != nil || !there {
		return agree.OrNotFound(err, "no member %q", agree.Clip(string(a.Source), 60))
	}
	f, there, err := s.file(a.Name)
	if err != nil {
		return err
	}
	if there {
		return s.addAgain(a, f)
	}
	f = File{Name: a.Name, Size: a.Size, SHA256: a.SHA256, Collection: a.Collection, Source: a.Source, Added: s.At,
		Job: a.Job, Attempt: a.Attempt, Copies: make([]Copy, 0, len(replicas))}
	for i := range replicas {
		if replicas[i].Holds(a.Collection) {
			f.addCopy(Copy{Replica: replicas[i].Name, State: UploadStarted, Since: s.At})
		}
	}
	if !s.roomFor(&f, 7+2*len(f.Copies)) {
		return agree.Refuse(agree.Conflict, "the command is full: send file %s again", a.Name)
	}
	if err := s.putFile(nil, &f); err != nil {
		return err
	}
	return putBy(s, a)
}

// addAgain handles a file that entered before. When its source is gone or released while a copy is missing,
// the new source takes over.
func (s *state) addAgain(a *Addition, f File) error {
	if f.Size != a.Size || f.SHA256 != a.SHA256 {
		return agree.Refuse(agree.Conflict, "file %s is in the archive with %d bytes, SHA-256 %s", f.Name, f.Size,
			f.SHA256)
	}
	if f.Removed != 0 {
		return agree.Refuse(agree.Conflict, "file %s was removed: %s", f.Name, f.Reason)
	}
	// what a node offers again by itself is needed: the copies of a hidden file are kept, and it stays hidden
	if f.Hidden != 0 && a.By != "" && (f.Source != a.Source || f.Released) {
		return agree.Refuse(agree.Conflict, "%s; restore it instead of putting it again: a name is used once", f.Gone())
	}
	if f.Lost != 0 {
		return s.foundAgain(f, func(now *File) { now.Source, now.Released = a.Source, false },
			"source="+string(a.Source))
	}
	if f.Complete() || f.Source == a.Source && !f.Released {
		return nil
	}
	alive, err := s.IsMember(f.Source)
	if err != nil || alive && !f.Released {
		return err
	}
	if !s.roomFor(&f, 7) {
		return agree.Refuse(agree.Conflict, "the command is full: send file %s again", a.Name)
	}
	old, now := edit(f)
	now.Source, now.Released = a.Source, false
	if err := s.putFile(old, now); err != nil {
		return err
	}
	return putBy(s, a)
}

// putBy writes into the trail that a person or a program has put the file. What nodes bring in by themselves, as they
// do with all that they harvest, is not written there.
func putBy(s *state, a *Addition) error {
	if a.By == "" {
		return nil
	}
	actor := s.Actor
	s.Actor = a.By
	err := s.Event("file.put", string(a.Name), "node=%s collection=%s size=%d sha256=%s", a.Source, a.Collection,
		a.Size, a.SHA256)
	s.Actor = actor
	return err
}

// removeFile hides the file, or makes its entry a tombstone and the release of each copy's bytes due.
func removeFile(s *state, b *FileRemoval) (any, error) {
	f, err := s.entry(b.Name)
	if err != nil {
		return nil, err
	}
	if f.SHA256 != b.SHA256 {
		return nil, agree.Refuse(agree.Conflict, "file %s has SHA-256 %s", f.Name, f.SHA256)
	}
	if f.RemovedAt() != 0 {
		return nil, nil
	}
	if err := unchanged(&f, b.Version); err != nil {
		return nil, err
	}
	if err := s.noLedgers(f.Name); err != nil {
		return nil, err
	}
	days, err := RemovalDaysIn(s)
	if err != nil {
		return nil, err
	}
	if days > 0 {
		return nil, hide(s, f, b.Reason, days)
	}
	old, now := edit(f)
	now.Removed, now.Reason = max(s.At, 1), agree.ClipReason(b.Reason)
	if s.Cluster.Level >= LevelOfHidden {
		now.RemovedBy = s.Actor
	}
	if err := bury(s, old, now); err != nil {
		return nil, err
	}
	return nil, s.Event(RemoveFile, string(f.Name), "sha256=%s reason=%s", f.SHA256, now.Reason)
}

// bury makes the entry, whose removal is set, a tombstone, and the release of each copy's bytes due.
func bury(s *state, old, now *File) error {
	now.Copies, now.Lost, now.LostWhy = nil, 0, ""
	for _, c := range old.Copies {
		p, err := s.Placement(c.Replica, now.Name.Shard())
		if err != nil {
			return err
		}
		if !c.Surplus {
			c.Node = p.Holder
		}
		if alive, err := s.IsMember(c.Node); err != nil {
			return err
		} else if alive {
			c.Surplus, c.Disputed = true, false
			now.Copies = append(now.Copies, c)
		}
		if alive, err := s.IsMember(p.Next); err != nil {
			return err
		} else if alive {
			s.Mark(keyRelease(p.Next, now.Name))
		}
	}
	return s.putFile(old, now)
}

// unchanged refuses an act on a file's entry that is not the one that was looked at; 0 means that none was.
func unchanged(f *File, version uint64) error {
	if version == 0 || version == f.Version {
		return nil
	}
	return agree.Refuse(agree.Conflict,
		"file %s has changed since it was looked at: its entry is version %d now, it was %d",
		f.Name, f.Version, version)
}
