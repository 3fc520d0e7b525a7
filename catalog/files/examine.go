package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// DrawLeast is how long a draw holds at least.
const DrawLeast = agree.Time(7 * 24 * time.Hour / time.Millisecond)

// Draw is a value by which it is decided who challenges whom. It comes out of the audit trail, in which all who decide
// anything have a part, at a moment that the node which asks for it can choose, and not foresee.
type Draw struct {
	Number uint64       `json:"number"` // 1 for the first
	Value  agree.Digest `json:"value"`
	At     agree.Time   `json:"at"`
}

// Draws are the last draw and the one before: challenges that were begun under that one may end.
type Draws struct {
	Last   Draw `json:"last"`
	Before Draw `json:"before,omitzero"`
}

// Numbered returns the draw of that number, if it is one of the two.
func (d Draws) Numbered(n uint64) (Draw, bool) {
	for _, one := range []Draw{d.Last, d.Before} {
		if one.Number == n && n != 0 {
			return one, true
		}
	}
	return Draw{}, false
}

// hashed puts words together so that no two lists of words give the same digest.
func hashed(words ...[]byte) agree.Digest {
	h := sha256.New()
	for _, w := range words {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(w))))
		h.Write(w)
	}
	return agree.Digest(h.Sum(nil))
}

func drawLots(s *state, b *Drawing) (any, error) {
	if _, err := cluster.Speaker(s.State, b.Node); err != nil {
		return nil, err
	}
	d, _, err := agree.Get[Draws](s, keyDraws)
	if err != nil {
		return nil, err
	}
	if b.Number != d.Last.Number+1 {
		return nil, agree.Refuse(agree.Conflict, "draw %d: the last one was %d", b.Number, d.Last.Number)
	}
	if d.Last.Number > 0 && s.At < d.Last.At+DrawLeast {
		return nil, agree.Refuse(agree.Conflict, "draw %d holds for a week at least", d.Last.Number)
	}
	head, err := s.TrailHead()
	if err != nil {
		return nil, err
	}
	at := binary.BigEndian.AppendUint64(nil, s.Index)
	d.Before, d.Last = d.Last, Draw{Number: b.Number, At: s.At,
		Value: hashed([]byte("draw"), d.Last.Value[:], head[:], at)}
	return nil, s.Set(keyDraws, d)
}

// examiner returns the node that challenges the replica's copies of files of a collection in a shard, by a draw: of the
// holders of the shard in other replicas that hold bytes of the collection, at other places if there are any, the one
// that the draw gives the highest number. Empty if there is none.
func (r records) examiner(d Draw, asked cluster.Replica, shard cluster.Shard,
	collection cluster.CollectionName) (who agree.NodeID, err error) {
	replicas, err := r.Replicas()
	if err != nil || asked.Kind != cluster.Bitarchive {
		return "", err
	}
	var best agree.Digest
	elsewhere := false
	for _, other := range replicas {
		if other.Name == asked.Name || other.Kind != cluster.Bitarchive || !other.Holds(collection) {
			continue
		}
		p, err := r.Placement(other.Name, shard)
		if err != nil {
			return "", err
		}
		member, err := r.IsMember(p.Holder)
		if err != nil {
			return "", err
		}
		if away := other.Place != asked.Place; !member || elsewhere && !away {
			continue
		} else if away && !elsewhere {
			elsewhere, who = true, ""
		}
		lot := hashed([]byte("examiner"), d.Value[:], []byte(asked.Name), []byte(shard.String()), []byte(p.Holder))
		if who == "" || bytes.Compare(lot[:], best[:]) > 0 {
			who, best = p.Holder, lot
		}
	}
	return who, nil
}

func findAnswers(s *state, b *Answers) (any, error) {
	draws, _, err := agree.Get[Draws](s, keyDraws)
	if err != nil {
		return nil, err
	}
	draw, ok := draws.Numbered(b.Draw)
	if !ok {
		return nil, agree.Refuse(agree.Conflict, "draw %d does not hold any more", b.Draw)
	}
	asked, there, err := s.Replica(b.Replica)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no replica %q", agree.Clip(string(b.Replica), 64))
	}
	return eachOf(s, b.Node, b.Files, func(item *Answer) FileName { return item.Name },
		func(m cluster.Member, item *Answer) error { return s.findAnswer(&m, asked, draw, item) })
}

// findAnswer disputes a copy whose node gave a wrong answer to its examiner.
func (s *state) findAnswer(m *cluster.Member, asked cluster.Replica, draw Draw, b *Answer) error {
	f, own, holder, err := s.kept(m, b.Name)
	if err != nil {
		return err
	}
	who, err := s.examiner(draw, asked, b.Name.Shard(), f.Collection)
	if err != nil {
		return err
	}
	if who != m.ID {
		return agree.Refuse(agree.Denied, "%s is not to examine the copy of %s in %s", m.Name, f.Name, asked.Name)
	}
	if !holder || !own.Good() || f.Lost != 0 {
		return agree.Refuse(agree.Conflict, "%s has no good copy of %s to compare with", m.Name, f.Name)
	}
	c := f.Copy(asked.Name)
	if c == nil || c.Surplus || c.State != UploadCompleted || c.Since != b.Since {
		return agree.Refuse(agree.Conflict, "the copy of %s in %s is not the one that was challenged", f.Name,
			asked.Name)
	}
	if c.Disputed {
		return nil
	}
	if !s.roomFor(&f, 8) {
		return agree.Refuse(agree.Conflict, "the command is full: report file %s again", f.Name)
	}
	old, now := edit(f)
	c = now.Copy(asked.Name)
	c.Disputed, c.FileList, c.Checksum, c.Found, c.Since = true, FileListOK, ChecksumCorrupt, agree.Digest{}, s.At
	if err := s.putFile(old, now); err != nil {
		return err
	}
	return s.Event(FindAnswers, string(f.Name)+"/"+string(asked.Name), "wrong answer to %s, draw %d", m.ID, draw.Number)
}

func noteCheck(s *state, b *Check) (any, error) {
	m, err := cluster.Speaker(s.State, b.Node)
	if err != nil {
		return nil, err
	}
	switch b.Kind {
	case "presence":
		if m.Replica != b.Replica {
			return nil, agree.Refuse(agree.Conflict, "%s belongs to replica %s", m.Name, m.Replica)
		}
	case "challenge":
		if _, there, err := s.Replica(b.Replica); err != nil || !there {
			return nil, agree.OrNotFound(err, "no replica %q", agree.Clip(string(b.Replica), 64))
		}
		if m.Replica == b.Replica {
			return nil, agree.Refuse(agree.Conflict, "%s belongs to replica %s, and examines none of its copies",
				m.Name, m.Replica)
		}
	default:
		return nil, agree.Refuse(agree.Invalid, "check of kind %q", agree.Clip(b.Kind, 40))
	}
	if min(b.Files, b.Findings, b.Missed) < 0 {
		return nil, agree.Refuse(agree.Invalid, "a check counts less than nothing")
	}
	b.Ended = max(0, min(b.Ended, s.At))
	b.Began = max(0, min(b.Began, b.Ended))
	return nil, s.Set(keyCheck(b.Replica, b.Kind, b.Node), b)
}

// Draws returns the last draws; their numbers are 0 where there was none.
func (v View) Draws() (Draws, error) {
	d, _, err := agree.Get[Draws](v.Reader, keyDraws)
	return d, err
}

// Examiner returns the node that challenges the replica's copies of files of the collection in the shard by the draw,
// empty if no other node has the bytes.
func (v View) Examiner(d Draw, replica cluster.ReplicaName, shard cluster.Shard,
	collection cluster.CollectionName) (agree.NodeID, error) {
	r, err := v.Replica(replica)
	if err != nil {
		return "", err
	}
	return v.records().examiner(d, r, shard, collection)
}

// Checks returns the last check of each node of the kind, of the replica's copies.
func (v View) Checks(replica cluster.ReplicaName, kind string) ([]Check, error) {
	return agree.List[Check](v.Reader, prefixChecks+string(replica)+"/"+kind+"/", "", 0)
}

// Examined is what one node is to examine: the copies that a replica is to have of one collection's files in a shard.
type Examined struct {
	Replica    cluster.ReplicaName
	Collection cluster.CollectionName
	Holder     agree.NodeID // of the shard, empty if there is none
	Examiner   agree.NodeID // empty if no other node has the bytes
	Files      int64
	Bytes      int64
}

// Examined returns by whom the replica's copies in the shard are examined by the draw. Collections without files are
// left out.
func (v View) Examined(d Draw, replica cluster.Replica, shard cluster.Shard) (out []Examined, err error) {
	p, err := v.Placement(replica.Name, shard)
	if err != nil {
		return nil, err
	}
	prefix := prefixRoots + shard.String() + "/"
	var failed error
	err = v.Reader.Scan([]byte(prefix), nil, func(key, value []byte) bool {
		var root Root
		failed = agree.DecodeValue(key, value, &root)
		if name := cluster.CollectionName(key[len(prefix):]); replica.Holds(name) && root.Files > 0 {
			out = append(out, Examined{Replica: replica.Name, Collection: name, Holder: p.Holder, Files: root.Files,
				Bytes: root.Bytes})
		}
		return failed == nil
	})
	for i := range out {
		if err == nil {
			err = failed
		}
		if err == nil {
			out[i].Examiner, err = v.records().examiner(d, replica, shard, out[i].Collection)
		}
	}
	return out, err
}
