package files

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// FileRecall is a file of a catalog that is made again from what lies in folders. None of its copies is believed: each
// replica that is to hold it owes a copy, and its node reads what lies there before it counts.
type FileRecall struct {
	Name       FileName               `json:"name"`
	Size       int64                  `json:"size"`
	SHA256     agree.Digest           `json:"sha256"`
	Collection cluster.CollectionName `json:"collection"`
	Source     agree.NodeID           `json:"source"`         // a member
	Kept       bool                   `json:"kept,omitempty"` // the source has the bytes in its outbox
	Added      agree.Time             `json:"added"`
	Job        uint64                 `json:"job,omitempty"`
	Attempt    int                    `json:"attempt,omitempty"`
	Removed    agree.Time             `json:"removed,omitempty"` // a tombstone since then
	Hidden     agree.Time             `json:"hidden,omitempty"`  // removed then, and can be restored
	Until      agree.Time             `json:"until,omitempty"`   // of a hidden one
	RemovedBy  string                 `json:"removedBy,omitempty"`
	Reason     string                 `json:"reason,omitempty"` // of the removal
	Lost       agree.Time             `json:"lost,omitempty"`
	LostWhy    string                 `json:"lostWhy,omitempty"`
}

// FileRecalls brings files back. All are, or none: who makes the catalog says each of them once.
type FileRecalls struct {
	Files []FileRecall `json:"files"`
}

func recallFiles(s *state, b *FileRecalls) (any, error) {
	if err := agree.Rebuilding(s.State); err != nil {
		return nil, err
	}
	if err := agree.CheckItems(len(b.Files)); err != nil {
		return nil, err
	}
	replicas, err := cluster.Staying(s.State)
	if err != nil {
		return nil, err
	}
	for i := range b.Files {
		if err := recallFile(s, &b.Files[i], replicas); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func recallFile(s *state, a *FileRecall, replicas []cluster.Replica) error {
	if err := a.check(); err != nil {
		return err
	}
	if there, err := s.HasCollection(a.Collection); err != nil || !there {
		return agree.OrNotFound(err, "no collection %q", agree.Clip(string(a.Collection), 64))
	}
	if there, err := s.IsMember(a.Source); err != nil || !there {
		return agree.OrNotFound(err, "no member %q", agree.Clip(string(a.Source), 60))
	}
	if _, there, err := s.file(a.Name); err != nil || there {
		return agree.OrConflict(err, "file %s is in the catalog", a.Name)
	}
	f := File{Name: a.Name, Size: a.Size, SHA256: a.SHA256, Collection: a.Collection, Source: a.Source,
		Released: !a.Kept || a.Removed != 0 || a.Lost != 0, Added: a.Added, Job: a.Job, Attempt: a.Attempt,
		Removed: a.Removed, Hidden: a.Hidden, Until: a.Until, RemovedBy: agree.ClipReason(a.RemovedBy),
		Reason: agree.ClipReason(a.Reason), Lost: a.Lost, LostWhy: agree.ClipReason(a.LostWhy)}
	for i := range replicas {
		if a.Removed == 0 && replicas[i].Holds(a.Collection) {
			f.addCopy(Copy{Replica: replicas[i].Name, State: UploadStarted, Since: s.At})
		}
	}
	return s.putFile(nil, &f)
}

// check refuses what cannot be a file.
func (a *FileRecall) check() error {
	if err := a.Name.Check(); err != nil {
		return agree.Refuse(agree.Invalid, "%v", err)
	}
	if a.Size < 0 || a.Size > maxSize || a.SHA256.IsZero() || a.Attempt < 0 {
		return agree.Refuse(agree.Invalid, "file %s of %d bytes: want a SHA-256 and 0 to %d bytes",
			a.Name, a.Size,
			int64(maxSize))
	}
	if (a.Hidden == 0) != (a.Until == 0) || a.Removed != 0 && (a.Hidden != 0 || a.Lost != 0) {
		return agree.Refuse(agree.Invalid, "file %s is removed for good, or until a time, or lost: one of "+
			"these",
			a.Name)
	}
	return agree.CheckTimes(a.Added, a.Removed, a.Hidden, a.Until, a.Lost)
}

// recallShards gives shards to the node in whose folder they lie.
func recallShards(s *state, b *Assignment) (any, error) {
	if err := agree.Rebuilding(s.State); err != nil {
		return nil, err
	}
	m, there, err := s.Member(b.Node)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no member %q", agree.Clip(string(b.Node), 60))
	}
	if m.Replica != b.Replica || len(b.Shards) > maxAssign {
		return nil, agree.Refuse(agree.Conflict, "%s is of replica %s, and gets at most %d shards",
			m.Name, m.Replica,
			maxAssign)
	}
	for _, shard := range b.Shards {
		if shard >= cluster.Shards {
			return nil, agree.Refuse(agree.Invalid, "shard %d: want 0 to %d", shard, cluster.Shards-1)
		}
		if p, err := s.Placement(b.Replica, shard); err != nil || p.Holder != "" {
			return nil, agree.OrConflict(err, "shard %s of replica %s is held by %s", shard,
				b.Replica, p.Holder)
		}
		if err := s.assignShard(&m, shard); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// recallLedger makes a ledger the replica's newest, so that the next one follows it.
func recallLedger(s *state, b *Ledger) (any, error) {
	if err := agree.Rebuilding(s.State); err != nil {
		return nil, err
	}
	r, there, err := s.Replica(b.Replica)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no replica %q", agree.Clip(string(b.Replica), 64))
	}
	last, _, err := agree.Get[Ledger](s, keyNewestLedger(b.Replica))
	if err != nil {
		return nil, err
	}
	end, _, err := agree.TrailEnd(s)
	if err != nil {
		return nil, err
	}
	if b.Serial <= last.Serial || b.Time < last.Time || b.Time > s.At || b.Last > end || b.First > b.Last+1 {
		return nil, agree.Refuse(agree.Conflict, "ledger %d of replica %s, with events %d to %d of the "+
			"trail, does not "+
			"follow number %d and event %d", b.Serial, r.Name, b.First, b.Last, last.Serial, end)
	}
	if b.Files < 0 || b.Bytes < 0 || b.Missing < 0 || len(b.Signed) > maxSigners || len(b.Unsigned) > maxSigners {
		return nil, agree.Refuse(agree.Invalid, "ledger %d of replica %s has numbers that no ledger has",
			b.Serial,
			r.Name)
	}
	if err := agree.CheckTimes(b.Time, b.Recorded); err != nil {
		return nil, err
	}
	if err := s.hasFile(b.Name, b.SHA256); err != nil {
		return nil, err
	}
	b.By = agree.ClipReason(b.By)
	if err := s.Set(keyLedger(b.Replica, b.Serial), b); err != nil {
		return nil, err
	}
	return nil, s.Set(keyNewestLedger(b.Replica), b)
}
