package files

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

func reportCopies(s *state, b *CopyReports) (any, error) {
	return eachOf(s, b.Node, b.Copies, func(item *CopyReport) FileName { return item.Name },
		func(m cluster.Member, item *CopyReport) error { return s.reportCopy(&m, item) })
}

// kept returns the entry of a file that is not removed, and the copy that the node keeps as the holder (then also
// true) or next of its shard.
func (s *state) kept(m *cluster.Member, name FileName) (File, *Copy, bool, error) {
	f, err := s.entry(name)
	if err != nil {
		return f, nil, false, err
	}
	if f.Removed != 0 {
		return f, nil, false, agree.Refuse(agree.Conflict, "file %s was removed", name)
	}
	c := f.Copy(m.Replica)
	if c == nil || c.Surplus {
		return f, nil, false, agree.Refuse(agree.Conflict, "replica %s is not to hold file %s", m.Replica, name)
	}
	p, err := s.Placement(m.Replica, name.Shard())
	if err != nil {
		return f, nil, false, err
	}
	if p.Holder != m.ID && p.Next != m.ID {
		return f, nil, false, agree.Refuse(agree.Conflict, "%s does not hold shard %s of %s", m.Name, name.Shard(),
			m.Replica)
	}
	return f, c, p.Holder == m.ID, nil
}

func (s *state) reportCopy(m *cluster.Member, r *CopyReport) error {
	switch {
	case r.State == UploadCompleted, r.State == UploadFailed:
	case r.State == DataUploaded && s.Cluster.Level < LevelOfCompact:
	default:
		return agree.Refuse(agree.Invalid, "state %q cannot be reported", agree.Clip(string(r.State), 40))
	}
	f, c, holder, err := s.kept(m, r.Name)
	if err != nil {
		return err
	}
	if r.State == UploadCompleted && r.SHA256 != f.SHA256 {
		return agree.Refuse(agree.Conflict, "file %s has SHA-256 %s, the copy %s", f.Name, f.SHA256, r.SHA256)
	}
	if !holder {
		return nil
	}
	if f.Lost != 0 {
		return s.reportOfLost(m, f, r)
	}
	if c.State == UploadCompleted {
		if c.Disputed || r.State != UploadCompleted {
			return agree.Refuse(agree.Conflict, "the copy of %s is completed: what is wrong with it is a finding",
				f.Name)
		}
		return nil
	}
	if r.State == c.State && r.State == DataUploaded {
		return nil
	}
	if !s.roomFor(&f, 7) {
		return agree.Refuse(agree.Conflict, "the command is full: report file %s again", f.Name)
	}
	old, now := edit(f)
	c = now.Copy(m.Replica)
	before := *c
	c.State, c.Node, c.Since = r.State, m.ID, s.At
	switch r.State {
	case UploadFailed:
		c.Tries++
		c.Reason, c.Found = agree.ClipReason(r.Reason), r.SHA256
	case UploadCompleted:
		*c = Copy{Replica: m.Replica, State: UploadCompleted, Node: m.ID, Since: s.At}
	}
	if err := s.putFile(old, now); err != nil {
		return err
	}
	if r.State == UploadCompleted && (before.Checksum == ChecksumCorrupt || before.FileList == FileListMissing) {
		return s.Event("copy.repair", string(f.Name)+"/"+string(m.Replica), "node=%s sha256=%s", m.ID, f.SHA256)
	}
	return nil
}

// reportOfLost makes a lost file count again when a holder of bytes has found them.
func (s *state) reportOfLost(m *cluster.Member, f File, r *CopyReport) error {
	if err := s.readKinds(); err != nil {
		return err
	}
	if r.State != UploadCompleted || s.kinds[m.Replica] != cluster.Bitarchive {
		return agree.Refuse(agree.Conflict, "file %s is declared lost", f.Name)
	}
	return s.foundAgain(f, func(now *File) {
		*now.Copy(m.Replica) = Copy{Replica: m.Replica, State: UploadCompleted, Node: m.ID, Since: s.At}
	}, "node="+string(m.ID))
}

func releaseFiles(s *state, b *Releases) (any, error) {
	return eachOf(s, b.Node, b.Files, func(name *FileName) FileName { return *name },
		func(m cluster.Member, name *FileName) error { return s.release(&m, *name) })
}

// release allows the node to delete its bytes of the file, but for those it is to hold.
func (s *state) release(m *cluster.Member, name FileName) error {
	f, err := s.entry(name)
	if err != nil {
		return err
	}
	if f.Lost != 0 { // what lies there is not the file, and is set aside
		if err := s.mayLeave(m, &f); err != nil {
			return err
		}
	} else if f.Removed == 0 {
		if err := s.mayRelease(m, &f); err != nil {
			return err
		}
	}
	if !s.roomFor(&f, 8) {
		return agree.Refuse(agree.Conflict, "the command is full: ask for file %s again", f.Name)
	}
	old, now := edit(f)
	changes := false
	if f.Source == m.ID && !f.Released {
		now.Released, changes = true, true
	}
	if surplusAt(f.Copy(m.Replica)) == m.ID {
		now.dropCopy(m.Replica)
		changes = true
	}
	if changes {
		if err := s.putFile(old, now); err != nil {
			return err
		}
	}
	if due, err := agree.Has(s, keyRelease(m.ID, name)); err != nil || !due {
		return err
	}
	s.Delete(keyRelease(m.ID, name))
	return nil
}

// mayRelease refuses while a required copy is not good, while no member has the bytes as a holder, and for a copy
// that the node has to hold and has no other reason to give up.
func (s *state) mayRelease(m *cluster.Member, f *File) error {
	bytes := 0
	required := 0
	for i := range f.Copies {
		c := &f.Copies[i]
		if c.Surplus {
			continue
		}
		required++
		node, err := s.keeper(f, c)
		if err != nil {
			return err
		}
		if node == "" {
			return agree.Refuse(agree.Unsafe, "file %s is not verified in replica %s", f.Name, c.Replica)
		}
		if err := cluster.Proved(s.State, node); err != nil {
			return err
		}
		r, _, err := s.Replica(c.Replica)
		if err != nil {
			return err
		}
		if r.Kind == cluster.Bitarchive {
			bytes++
		}
	}
	if required == 0 || bytes == 0 {
		return agree.Refuse(agree.Unsafe,
			"file %s has no verified copy of its bytes in a replica that is to hold it", f.Name)
	}
	if f.Source != m.ID || f.Released {
		return s.mayLeave(m, f)
	}
	return nil
}

// mayLeave refuses to let a node give up a copy that it is to hold.
func (s *state) mayLeave(m *cluster.Member, f *File) error {
	c := f.Copy(m.Replica)
	if c == nil || c.Surplus {
		return nil
	}
	p, err := s.Placement(m.Replica, f.Name.Shard())
	if err != nil {
		return err
	}
	if p.Holder == m.ID || p.Next == m.ID {
		return agree.Refuse(agree.Unsafe, "%s is to hold file %s", m.Name, f.Name)
	}
	return nil
}
