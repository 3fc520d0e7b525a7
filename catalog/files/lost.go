package files

import (
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// loseFile declares a file lost: nobody has its bytes any more. From then on it is in no root and owed by nobody, so
// that its shard can move. It stays in the catalog, and counts again as soon as verified bytes of it are found.
func loseFile(s *state, b *FileLoss) (any, error) {
	f, err := s.entry(b.Name)
	if err != nil {
		return nil, err
	}
	if f.SHA256 != b.SHA256 {
		return nil, agree.Refuse(agree.Conflict, "file %s has SHA-256 %s", f.Name, f.SHA256)
	}
	if f.Removed != 0 {
		return nil, agree.Refuse(agree.Conflict, "file %s was removed", f.Name)
	}
	if (f.Lost == 0) == b.Undo {
		return nil, nil
	}
	if err := unchanged(&f, b.Version); err != nil {
		return nil, err
	}
	if err := s.readKinds(); err != nil {
		return nil, err
	}
	if b.Undo {
		return nil, s.foundAgain(f, nil, "reason="+agree.ClipReason(b.Reason))
	}
	if err := s.mayLose(&f, b.Checked); err != nil {
		return nil, err
	}
	old, now := edit(f)
	now.Lost, now.LostWhy, now.Released = max(s.At, 1), agree.ClipReason(b.Reason), true
	for i := range now.Copies {
		c := &now.Copies[i]
		c.Disputed = false
		if s.kinds[c.Replica] == cluster.Bitarchive && !c.Surplus {
			c.State, c.Reason, c.Since = UploadFailed, "the file is lost", s.At
		}
	}
	if err := s.putFile(old, now); err != nil {
		return nil, err
	}
	return nil, s.Event(LoseFile, string(f.Name), "sha256=%s checked=%d reason=%s", f.SHA256, len(b.Checked),
		now.LostWhy)
}

// mayLose refuses while there is a verified copy, and while a member that may have the bytes was not asked.
func (s *state) mayLose(f *File, checked []agree.NodeID) error {
	mayHave := []agree.NodeID{f.Source}
	if f.Released {
		mayHave = nil
	}
	for i := range f.Copies {
		c := &f.Copies[i]
		if s.kinds[c.Replica] != cluster.Bitarchive {
			continue
		}
		node, err := s.keeper(f, c)
		if err != nil {
			return err
		}
		if node != "" {
			return agree.Refuse(agree.Unsafe, "replica %s has a verified copy of %s: audit it first", c.Replica, f.Name)
		}
		p, err := s.Placement(c.Replica, f.Name.Shard())
		if err != nil {
			return err
		}
		mayHave = append(mayHave, p.Holder, p.Next, c.Node)
	}
	if s.Cluster.Level >= cluster.LevelOfMarks { // any may have bytes that nobody counts on
		members, err := s.MemberIDs(0)
		if err != nil {
			return err
		}
		for _, id := range members {
			mayHave = append(mayHave, agree.NodeID(id))
		}
	}
	for _, node := range mayHave {
		m, there, err := s.Member(node)
		if err != nil {
			return err
		}
		if there && !slices.Contains(checked, node) {
			return agree.Refuse(agree.Unsafe, "%s may have the bytes of %s, and was not asked", m.Name, f.Name)
		}
	}
	return nil
}

// foundAgain makes a lost file count again. Its copies are owed, apart from what change sets.
func (s *state) foundAgain(f File, change func(now *File), detail string) error {
	if err := s.readKinds(); err != nil {
		return err
	}
	if !s.roomFor(&f, 10+2*len(f.Copies)) {
		return agree.Refuse(agree.Conflict, "the command is full: send file %s again", f.Name)
	}
	old, now := edit(f)
	now.Lost, now.LostWhy = 0, ""
	for i := range now.Copies {
		if c := &now.Copies[i]; s.kinds[c.Replica] == cluster.Bitarchive && !c.Surplus {
			*c = Copy{Replica: c.Replica, State: UploadStarted, Since: s.At}
		}
	}
	if change != nil {
		change(now)
	}
	if err := s.putFile(old, now); err != nil {
		return err
	}
	return s.Event("file.found", string(f.Name), "sha256=%s %s", f.SHA256, detail)
}
