package files

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// Correction says that a file's SHA-256 in the catalog is wrong. It is taken only if copies were read and found to have
// the new one: two at least, and more than half of all that were read.
type Correction struct {
	Name    FileName     `json:"name"`
	Was     agree.Digest `json:"was"` // must agree, against mistakes
	SHA256  agree.Digest `json:"sha256"`
	Reason  string       `json:"reason"`
	Version uint64       `json:"version,omitempty"` // of the entry that was looked at; 0: none was
}

// CopySetting puts a replica's copy back to owed, so that it is made again. It is refused while there are no good bytes
// elsewhere, unless the copy is owed already: then only its tries begin again.
type CopySetting struct {
	Name    FileName            `json:"name"`
	Replica cluster.ReplicaName `json:"replica"`
	SHA256  agree.Digest        `json:"sha256"` // the file's; must agree, against mistakes
	State   StoreState          `json:"state"`  // UPLOAD_STARTED or UPLOAD_FAILED
	Reason  string              `json:"reason"`
	Version uint64              `json:"version,omitempty"` // of the entry that was looked at; 0: none was
}

// setChecksum changes what the archive takes for the file's SHA-256. No copy becomes good by it: those that have the
// new one stay disputed until their node has read them again, with their size.
func setChecksum(s *state, b *Correction) (any, error) {
	f, err := s.entry(b.Name)
	if err != nil {
		return nil, err
	}
	switch {
	case !f.counts() || f.Hidden != 0:
		return nil, agree.Refuse(agree.Conflict, "file %s was removed, or is declared lost", f.Name)
	case b.SHA256.IsZero() || b.SHA256 == b.Was:
		return nil, agree.Refuse(agree.Invalid, "want a SHA-256 for file %s that is not the one it had", f.Name)
	case f.SHA256 != b.Was:
		return nil, agree.Refuse(agree.Conflict, "file %s has SHA-256 %s", f.Name, f.SHA256)
	}
	if err := unchanged(&f, b.Version); err != nil {
		return nil, err
	}
	if err := s.readKinds(); err != nil {
		return nil, err
	}
	if err := s.mayCorrect(&f, b.SHA256); err != nil {
		return nil, err
	}
	old, now := edit(f)
	now.SHA256 = b.SHA256
	for i := range now.Copies {
		if c := &now.Copies[i]; c.Good() && !c.Surplus { // a record of the old one
			*c = Copy{Replica: c.Replica, State: UploadStarted, Since: s.At}
		}
	}
	if err := s.putFile(old, now); err != nil {
		return nil, err
	}
	if err := s.changeRoot(old, now); err != nil {
		return nil, err
	}
	return nil, s.Event(SetChecksum, string(f.Name), "was=%s sha256=%s reason=%s", b.Was, b.SHA256,
		agree.ClipReason(b.Reason))
}

// mayCorrect refuses a SHA-256 that most of the copies that were read do not have, and any while somebody has bytes
// with the one in the catalog.
func (s *state) mayCorrect(f *File, to agree.Digest) error {
	read, same, bytes := 0, 0, 0
	for i := range f.Copies {
		c := &f.Copies[i]
		if c.State != UploadCompleted {
			continue
		}
		switch hasBytes := s.kinds[c.Replica] == cluster.Bitarchive; {
		case !c.Disputed && hasBytes:
			return agree.Refuse(agree.Unsafe, "replica %s has a verified copy of %s with the SHA-256 in the catalog",
				c.Replica, f.Name)
		case !c.Disputed:
			read++
		case c.Checksum == ChecksumCorrupt && !c.Found.IsZero():
			read++
			if c.Found == to && !c.Surplus {
				same++
				if hasBytes {
					bytes++
				}
			}
		}
	}
	if !f.Released {
		if alive, err := s.IsMember(f.Source); err != nil || alive {
			if err == nil {
				err = agree.Refuse(agree.Unsafe,
					"the source of %s has bytes with the SHA-256 in the catalog, as far as is known", f.Name)
			}
			return err
		}
	}
	if bytes == 0 || same < 2 || 2*same <= read {
		return agree.Refuse(agree.Unsafe, "%d of the %d copies of %s that were read have SHA-256 %s, %d of them with "+
			"bytes: want two at least, and more than half", same, read, f.Name, to, bytes)
	}
	return nil
}

// changeRoot takes the file's old SHA-256 out of its shard's root, and puts the new one in.
func (s *state) changeRoot(old, now *File) error {
	key := keyRoot(now.Name.Shard(), now.Collection)
	root, _, err := agree.Get[Root](s, key)
	if err != nil {
		return err
	}
	return s.Set(key, root.Sub(RootOf(old.Name, old.Size, old.SHA256)).Add(RootOf(now.Name, now.Size, now.SHA256)))
}

// setCopyState makes a copy owed. Bytes that its node has are read again before they count.
func setCopyState(s *state, b *CopySetting) (any, error) {
	f, err := s.entry(b.Name)
	if err != nil {
		return nil, err
	}
	replica := agree.Clip(string(b.Replica), 64)
	c := f.Copy(b.Replica)
	switch {
	case b.State == UploadCompleted:
		return nil, agree.Refuse(agree.Invalid, "only verified bytes make a copy %s", UploadCompleted)
	case b.State != UploadStarted && b.State != UploadFailed:
		return nil, agree.Refuse(agree.Invalid, "state %q: want %s or %s", agree.Clip(string(b.State), 40),
			UploadStarted, UploadFailed)
	case f.SHA256 != b.SHA256:
		return nil, agree.Refuse(agree.Conflict, "file %s has SHA-256 %s", f.Name, f.SHA256)
	case !f.counts():
		return nil, agree.Refuse(agree.Conflict, "file %s was removed, or is declared lost", f.Name)
	case c == nil || c.Surplus:
		return nil, agree.Refuse(agree.Conflict, "replica %q is not to hold file %s", replica, f.Name)
	}
	if err := unchanged(&f, b.Version); err != nil {
		return nil, err
	}
	was := c.State
	if was == UploadCompleted {
		if there, err := s.goodElsewhere(&f, b.Replica); err != nil || !there {
			if err == nil {
				err = agree.Refuse(agree.Unsafe, "file %s has no other good copy to make the one in %s from", f.Name,
					replica)
			}
			return nil, err
		}
	}
	old, now := edit(f)
	c = now.Copy(b.Replica)
	c.Disputed, c.State, c.Tries, c.Since = false, b.State, 0, s.At
	c.Reason = ""
	if b.State == UploadFailed {
		c.Reason = agree.ClipReason(b.Reason)
	}
	if err := s.putFile(old, now); err != nil {
		return nil, err
	}
	return nil, s.Event(SetCopyState, string(f.Name)+"/"+replica, "was=%s state=%s sha256=%s reason=%s", was, b.State,
		f.SHA256, agree.ClipReason(b.Reason))
}

// goodElsewhere reports whether a member has good bytes of the file, not counting the replica's own copy, nor those of
// a member that has not compared its copies since a recovery.
func (s *state) goodElsewhere(f *File, but cluster.ReplicaName) (bool, error) {
	if err := s.readKinds(); err != nil {
		return false, err
	}
	var have []agree.NodeID
	if alive, err := s.IsMember(f.Source); err != nil {
		return false, err
	} else if alive && !f.Released {
		have = append(have, f.Source)
	}
	for i := range f.Copies {
		c := &f.Copies[i]
		if c.Replica == but || c.Surplus || s.kinds[c.Replica] != cluster.Bitarchive {
			continue
		}
		node, err := s.keeper(f, c)
		if err != nil {
			return false, err
		}
		if node != "" {
			have = append(have, node)
		}
	}
	for _, node := range have {
		if proved, err := s.proved(node); err != nil || proved {
			return proved, err
		}
	}
	return false, nil
}
