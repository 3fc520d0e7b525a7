package files

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

func findCopies(s *state, b *Findings) (any, error) {
	return eachOf(s, b.Node, b.Files, func(item *Finding) FileName { return item.Name },
		func(m cluster.Member, item *Finding) error { return s.findCopy(&m, item) })
}

// findCopy disputes a verified copy, or ends the dispute when the copy was found right again.
func (s *state) findCopy(m *cluster.Member, b *Finding) error {
	if err := checkFinding(b); err != nil {
		return err
	}
	f, c, holder, err := s.kept(m, b.Name)
	if err != nil {
		return err
	}
	if !holder {
		return agree.Refuse(agree.Conflict, "shard %s of %s is still moving to %s", b.Name.Shard(), m.Replica, m.Name)
	}
	if c.State != UploadCompleted {
		return agree.Refuse(agree.Conflict, "the copy of %s is %s and owed", f.Name, c.State)
	}
	if f.Lost != 0 {
		return agree.Refuse(agree.Conflict, "file %s is declared lost", f.Name)
	}
	wrong := b.wrong()
	if wrong && b.Found == f.SHA256 {
		return agree.Refuse(agree.Invalid, "what was found of %s agrees with the archive", f.Name)
	}
	if !s.roomFor(&f, 7) {
		return agree.Refuse(agree.Conflict, "the command is full: report file %s again", f.Name)
	}
	old, now := edit(f)
	c = now.Copy(m.Replica)
	c.Disputed, c.FileList, c.Checksum, c.Found, c.Since = wrong, b.FileList, b.Checksum, b.Found, s.At
	if !wrong {
		c.Found = agree.Digest{}
	}
	return s.putFile(old, now)
}

// wrong reports whether something is wrong with the copy, and not right again.
func (b *Finding) wrong() bool { return b.FileList == FileListMissing || b.Checksum == ChecksumCorrupt }

func checkFinding(b *Finding) error {
	switch b.FileList {
	case NoFileListStatus, FileListOK, FileListMissing:
	default:
		return agree.Refuse(agree.Invalid, "file list status %q", agree.Clip(string(b.FileList), 40))
	}
	switch b.Checksum {
	case ChecksumUnknown, ChecksumOK, ChecksumCorrupt:
	default:
		return agree.Refuse(agree.Invalid, "checksum status %q", agree.Clip(string(b.Checksum), 40))
	}
	if !b.wrong() && (b.FileList != FileListOK || b.Checksum != ChecksumOK) {
		return agree.Refuse(agree.Invalid, "finding %s, %s says neither what is wrong nor that all is right",
			b.FileList, b.Checksum)
	}
	return nil
}

func judgeCopies(s *state, b *Verdicts) (any, error) {
	if err := agree.CheckItems(len(b.Copies)); err != nil {
		return nil, err
	}
	return each(b.Copies, func(v *Verdict) FileName { return v.Name }, s.judge)
}

// judge ends a dispute: a good copy counts again, a bad one is owed. A copy is not judged bad while nobody has
// bytes to repair it from.
func (s *state) judge(v *Verdict) error {
	f, err := s.entry(v.Name)
	if err != nil {
		return err
	}
	c := f.Copy(v.Replica)
	if c == nil || !c.Disputed {
		return agree.Refuse(agree.Conflict, "the copy of %s in %q is not disputed", f.Name,
			agree.Clip(string(v.Replica), 64))
	}
	if v.Bad && c.Found == f.SHA256 { // the catalog was corrected since: its node reads the copy again
		return agree.Refuse(agree.Conflict, "the copy of %s in %s was found with the file's SHA-256", f.Name, v.Replica)
	}
	if v.Bad {
		if ok, err := s.repairable(&f); err != nil || !ok {
			if err == nil {
				err = agree.Refuse(agree.Unsafe, "file %s has no good copy to repair the one in %s from", f.Name,
					v.Replica)
			}
			return err
		}
	}
	if !s.roomFor(&f, 8) {
		return agree.Refuse(agree.Conflict, "the command is full: judge file %s again", f.Name)
	}
	old, now := edit(f)
	c = now.Copy(v.Replica)
	c.Disputed, c.Since = false, s.At
	word := "good"
	if v.Bad {
		word = "bad"
		c.State, c.Reason, c.Tries = UploadFailed, agree.ClipReason(v.Votes), 0
	} else {
		c.FileList, c.Checksum, c.Found = FileListOK, ChecksumOK, agree.Digest{}
	}
	if err := s.putFile(old, now); err != nil {
		return err
	}
	return s.Event(JudgeCopies, string(f.Name)+"/"+string(v.Replica), "%s filelist=%s checksum=%s votes=%s",
		word, c.FileList, c.Checksum, agree.ClipReason(v.Votes))
}

// repairable reports whether a member has good bytes of the file: a replica's holder, or the source.
func (s *state) repairable(f *File) (bool, error) {
	if !f.Released {
		if alive, err := s.IsMember(f.Source); err != nil || alive {
			return alive, err
		}
	}
	for i := range f.Copies {
		node, err := s.keeper(f, &f.Copies[i])
		if err != nil {
			return false, err
		}
		if node == "" {
			continue
		}
		r, _, err := s.Replica(f.Copies[i].Replica)
		if err != nil || r.Kind == cluster.Bitarchive {
			return err == nil, err
		}
	}
	return false, nil
}

// passShard records one finished audit pass. Its times are the node's own, so they are held to be past.
func passShard(s *state, b *ShardPass) (any, error) {
	if b.Shard >= cluster.Shards {
		return nil, agree.Refuse(agree.Invalid, "shard %d: want 0 to %d", b.Shard, cluster.Shards-1)
	}
	m, err := cluster.Speaker(s.State, b.Node)
	if err != nil {
		return nil, err
	}
	p, err := s.Placement(b.Replica, b.Shard)
	if err != nil {
		return nil, err
	}
	if m.Replica != b.Replica || p.Holder != m.ID {
		return nil, agree.Refuse(agree.Conflict, "%s does not hold shard %s of %q", m.Name, b.Shard,
			agree.Clip(string(b.Replica), 64))
	}
	b.Ended = max(0, min(b.Ended, s.At))
	b.Began = max(0, min(b.Began, b.Ended))
	return nil, s.Set(keyPass(b.Replica, b.Shard), b)
}

// replaceCopy lets a person decide what a vote left undecided, or has decided already: then it is fetched at once.
func replaceCopy(s *state, b *Replacement) (any, error) {
	f, err := s.entry(b.Name)
	if err != nil {
		return nil, err
	}
	replica := agree.Clip(string(b.Replica), 64)
	c := f.Copy(b.Replica)
	switch {
	case f.Removed != 0 || f.Lost != 0:
		return nil, agree.Refuse(agree.Conflict, "file %s was removed, or is declared lost", f.Name)
	case c == nil || c.Surplus:
		return nil, agree.Refuse(agree.Conflict, "replica %q is not to hold file %s", replica, f.Name)
	case b.SHA256 == f.SHA256 || b.SHA256.IsZero():
		return nil, agree.Refuse(agree.Invalid, "SHA-256 %s is not that of a bad copy of %s", b.SHA256, f.Name)
	case c.Checksum != ChecksumCorrupt || c.Good():
		return nil, agree.Refuse(agree.Conflict, "nothing was found wrong with the bytes of %s in %s: audit them first",
			f.Name, replica)
	case c.Found != b.SHA256:
		return nil, agree.Refuse(agree.Conflict, "the copy of %s in %s was found with SHA-256 %s, not %s", f.Name,
			replica, c.Found, b.SHA256)
	}
	if ok, err := s.repairable(&f); err != nil || !ok {
		if err == nil {
			err = agree.Refuse(agree.Unsafe, "file %s has no good copy to make the one in %s from", f.Name, replica)
		}
		return nil, err
	}
	old, now := edit(f)
	c = now.Copy(b.Replica)
	c.Disputed, c.State, c.Tries, c.Since = false, UploadFailed, 0, s.At
	c.Reason = agree.ClipReason("replaced: " + b.Reason)
	if err := s.putFile(old, now); err != nil {
		return nil, err
	}
	return nil, s.Event(ReplaceCopy, string(f.Name)+"/"+replica, "sha256=%s reason=%s", b.SHA256,
		agree.ClipReason(b.Reason))
}
