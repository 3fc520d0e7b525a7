package files

import (
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// LevelOfLedgers is the level from which on ledgers are recorded.
const LevelOfLedgers = 5

const (
	maxLedgers = 366 // records of a replica that are kept; the ledgers themselves stay, and each names the one before
	maxSigners = 64  // in a record
)

// Ledger records that a replica's ledger is whole: its files are in the archive.
type Ledger struct {
	Replica  cluster.ReplicaName `json:"replica"`
	Serial   uint64              `json:"serial"` // 1 for the first
	Name     FileName            `json:"name"`   // of its head
	SHA256   agree.Digest        `json:"sha256"` // of its head
	Node     agree.NodeID        `json:"node"`   // who made it
	Time     agree.Time          `json:"time"`   // of the catalog that it writes down
	Files    int64               `json:"files"`
	Bytes    int64               `json:"bytes"`
	Missing  int64               `json:"missing,omitempty"` // counted by the catalog and not found
	First    uint64              `json:"first"`             // event of the trail in it
	Last     uint64              `json:"last"`
	Signed   []agree.NodeID      `json:"signed,omitempty"`   // at other places
	Unsigned []LedgerRefusal     `json:"unsigned,omitempty"` // at other places, with the reason
	By       string              `json:"by,omitempty"`       // who asked for it; empty: it was due
	Recorded agree.Time          `json:"recorded,omitempty"`
}

// LedgerRefusal says why a node at another place has not signed.
type LedgerRefusal struct {
	Node   agree.NodeID `json:"node"`
	Reason string       `json:"reason"`
}

// noLedgers refuses the name of a file of a replica's ledgers. Each ledger is proved by those before it: without one of
// their files no other could be made, and what the replica held then could not be shown any more.
func (s *state) noLedgers(name FileName) error {
	if s.Cluster.Level < LevelOfLedgers || !strings.HasPrefix(string(name), "ledger-") {
		return nil
	}
	replicas, err := agree.Tails(s, PrefixNewest, "", 0)
	if err != nil {
		return err
	}
	for _, replica := range replicas {
		if strings.HasPrefix(string(name), "ledger-"+replica+"-") {
			return agree.Refuse(agree.Unsafe, "file %s belongs to the ledgers of replica %s, which prove what it holds",
				name, replica)
		}
	}
	return nil
}

// recordLedger makes a ledger the replica's newest. It is refused unless it follows the one before, so that of two
// that are made at the same time one counts, and unless its head is a file of the archive.
func recordLedger(s *state, b *Ledger) (any, error) {
	m, err := cluster.Speaker(s.State, b.Node)
	if err != nil {
		return nil, err
	}
	r, there, err := s.Replica(b.Replica)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no replica %q", agree.Clip(string(b.Replica), 64))
	}
	if m.Replica != r.Name || r.Kind != cluster.Bitarchive {
		return nil, agree.Refuse(agree.Conflict, "%s holds no bytes of replica %s, and makes no ledger of it", m.Name,
			r.Name)
	}
	last, _, err := agree.Get[Ledger](s, keyNewestLedger(b.Replica))
	if err != nil {
		return nil, err
	}
	if b.Serial != last.Serial+1 {
		return nil, agree.Refuse(agree.Conflict, "ledger %d of replica %s: the newest is number %d", b.Serial, r.Name,
			last.Serial)
	}
	if b.First != last.Last+1 || b.Last+1 < b.First || b.Time < last.Time || b.Time > s.At ||
		b.Files < 0 || b.Bytes < 0 || b.Missing < 0 || len(b.Signed) > maxSigners || len(b.Unsigned) > maxSigners {
		return nil, agree.Refuse(agree.Invalid, "ledger %d of replica %s does not follow number %d: events %d to %d",
			b.Serial,
			r.Name, last.Serial, b.First, b.Last)
	}
	if err := s.hasFile(b.Name, b.SHA256); err != nil {
		return nil, err
	}
	for _, id := range b.Signed {
		if is, err := s.IsMember(id); err != nil || !is {
			return nil, agree.OrNotFound(err, "no member %q", agree.Clip(string(id), 60))
		}
	}
	for i := range b.Unsigned {
		if is, err := s.IsMember(b.Unsigned[i].Node); err != nil || !is {
			return nil, agree.OrNotFound(err, "no member %q", agree.Clip(string(b.Unsigned[i].Node), 60))
		}
		b.Unsigned[i].Reason = agree.ClipReason(b.Unsigned[i].Reason)
	}
	b.Recorded, b.By = s.At, agree.ClipReason(b.By)
	if b.Serial > maxLedgers {
		s.Delete(keyLedger(b.Replica, b.Serial-maxLedgers))
	}
	if err := s.Set(keyLedger(b.Replica, b.Serial), b); err != nil {
		return nil, err
	}
	if err := s.Set(keyNewestLedger(b.Replica), b); err != nil {
		return nil, err
	}
	return nil, s.Event(RecordLedger, string(b.Replica), "%s sha256=%s files=%d bytes=%d missing=%d signed=%d "+
		"unsigned=%d by=%s",
		b.Name, b.SHA256, b.Files, b.Bytes, b.Missing, len(b.Signed), len(b.Unsigned), b.By)
}

// hasFile refuses unless the archive has the file with the digest.
func (s *state) hasFile(name FileName, digest agree.Digest) error {
	if err := name.Check(); err != nil {
		return agree.Refuse(agree.Invalid, "%v", err)
	}
	f, err := s.entry(name)
	if err != nil {
		return err
	}
	if f.SHA256 != digest || !f.counts() {
		return agree.Refuse(agree.Conflict, "file %s is not in the archive with SHA-256 %s", name, digest)
	}
	return nil
}

// dropLedgers forgets the records of a replica that is removed.
func dropLedgers(s *agree.State, name cluster.ReplicaName) error {
	if s.Cluster.Level < LevelOfLedgers {
		return nil
	}
	keys, err := agree.Tails(s, prefixLedgers(name), "", 0)
	if err != nil || len(keys) == 0 {
		return err
	}
	for _, key := range keys {
		s.Delete(prefixLedgers(name) + key)
	}
	s.Delete(keyNewestLedger(name))
	return nil
}

// Ledgers returns at most n records of the replica's ledgers before the number, newest first; 0 is behind the newest.
func (v View) Ledgers(replica cluster.ReplicaName, before uint64, n int) ([]Ledger, error) {
	newest, err := v.NewestLedger(replica)
	if err != nil || newest.Serial == 0 {
		return nil, err
	}
	at := newest.Serial + 1
	if before != 0 {
		at = min(at, before)
	}
	var out []Ledger
	for at--; at > 0 && len(out) < n; at-- {
		l, there, err := agree.Get[Ledger](v.Reader, keyLedger(replica, at))
		if err != nil {
			return nil, err
		}
		if !there {
			break
		}
		out = append(out, l)
	}
	return out, nil
}

// Ledger returns the record of one of the replica's ledgers, or ErrNotFound.
func (v View) Ledger(replica cluster.ReplicaName, serial uint64) (Ledger, error) {
	return agree.Found(agree.Get[Ledger](v.Reader, keyLedger(replica, serial)))
}

// NewestLedger returns the record of the replica's newest ledger; its serial is 0 when there is none.
func (v View) NewestLedger(replica cluster.ReplicaName) (Ledger, error) {
	l, _, err := agree.Get[Ledger](v.Reader, keyNewestLedger(replica))
	return l, err
}

// HeldIn reports whether the replica's copy of the file counts as verified in a ledger of the time: it was so then, and
// nothing has been said against it since.
func (f *File) HeldIn(replica cluster.ReplicaName, at agree.Time) bool {
	c := f.Copy(replica)
	return c != nil && c.Good() && !c.Surplus && f.counts() && c.Since <= at
}

// Doubtful reports whether the replica owes a copy of a file of the shard, or any file anywhere has a disputed copy.
func (v View) Doubtful(replica cluster.ReplicaName, shard cluster.Shard) (bool, error) {
	for _, prefix := range []string{PrefixOwed(replica) + shard.String() + "/", PrefixDisputed} {
		if any, err := agree.HasAny(v.Reader, prefix); err != nil || any {
			return any, err
		}
	}
	return false, nil
}
