package files

import (
	"errors"
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// LevelOfAside is the level of a cluster that decides about bytes in the quarantines of its nodes.
const LevelOfAside = 5

// maxDiscards bounds the wishes that one node has not carried out yet.
const maxDiscards = 100

// AsideName names bytes in the quarantine of a node: the file's name, a dot, and 17 digits for when they were set
// aside.
type AsideName string

// File returns the name of the file as which the bytes lay there, or came; false if this is no such name.
func (n AsideName) File() (FileName, bool) {
	dot := strings.LastIndexByte(string(n), '.')
	if dot < 0 || len(n)-dot-1 != 17 || strings.Trim(string(n[dot+1:]), "0123456789") != "" {
		return "", false
	}
	name := FileName(n[:dot])
	return name, name.Check() == nil
}

// Discard is the wish that a node deletes bytes in its quarantine. It is refused while they may be the only ones of a
// file that the archive wants. The node asks once more before it deletes them, with DropAside.
type Discard struct {
	Node   agree.NodeID `json:"node"`
	Aside  AsideName    `json:"aside"`
	SHA256 agree.Digest `json:"sha256"` // of the bytes; must agree when they are deleted
	Reason string       `json:"reason"`
}

// Discarding is a wish that a node has not carried out yet.
type Discarding struct {
	Aside  AsideName    `json:"aside"`
	SHA256 agree.Digest `json:"sha256"`
	By     string       `json:"by"`
	At     agree.Time   `json:"at"`
}

// Drop asks that a node may delete bytes in its quarantine now, which it has just read. By somebody's wish, which ends
// with this, or by itself: then only wrong bytes of a file that is complete, or was removed.
type Drop struct {
	Node   agree.NodeID `json:"node"`
	Aside  AsideName    `json:"aside"`
	SHA256 agree.Digest `json:"sha256"` // of what was read; zero when there is nothing, or it cannot be read
	Wished bool         `json:"wished,omitempty"`
	Why    string       `json:"why,omitempty"` // what keeps the node from deleting: only the wish ends then
}

// Dropped is the answer to Drop.
type Dropped struct {
	Allowed bool   `json:"allowed"`
	Why     string `json:"why,omitempty"` // the bytes stay
}

// discardAside keeps a person's wish for the node.
func discardAside(s *state, b *Discard) (any, error) {
	m, there, err := s.Member(b.Node)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no member %q", agree.Clip(string(b.Node), 60))
	}
	name, ok := b.Aside.File()
	if !ok || b.SHA256.IsZero() {
		return nil, agree.Refuse(agree.Invalid, "%q is not the name of bytes in a quarantine, with their SHA-256",
			agree.Clip(string(b.Aside), 220))
	}
	if why, err := s.onlyBytes(m.ID, name); err != nil || why != "" {
		return nil, refusedUnless(err, why)
	}
	waiting, err := agree.Tails(s, PrefixDiscards(m.ID), "", maxDiscards)
	if err != nil {
		return nil, err
	}
	if len(waiting) >= maxDiscards {
		return nil, agree.Refuse(agree.Conflict, "%s has %d such wishes before it: wait until it has carried them out",
			m.Name, len(waiting))
	}
	wish := Discarding{Aside: b.Aside, SHA256: b.SHA256, By: s.Actor, At: s.At}
	if err := s.Set(keyDiscard(m.ID, b.Aside), wish); err != nil {
		return nil, err
	}
	return nil, s.Event(DiscardAside, string(b.Aside), "node=%s sha256=%s reason=%s", m.ID, b.SHA256,
		agree.ClipReason(b.Reason))
}

func refusedUnless(err error, why string) error {
	if err != nil {
		return err
	}
	return agree.Refuse(agree.Unsafe, "%s", why)
}

// onlyBytes says why the bytes of a file in a node's quarantine may be the only ones; empty when the archive does not
// want the file, or has it elsewhere: a good copy, or a source on another node. What lies in an outbox may be the very
// bytes of the quarantine, under a second name.
func (s *state) onlyBytes(node agree.NodeID, name FileName) (why string, err error) {
	f, there, err := s.file(name)
	if err != nil || !there || f.Removed != 0 {
		return "", err
	}
	if f.Lost != 0 {
		return "file " + string(name) + " is declared lost: this may be all that is left of it", nil
	}
	for i := range f.Copies {
		if good, err := s.hasBytes(&f, &f.Copies[i]); err != nil || good {
			return "", err
		}
	}
	if !f.Released && f.Source != node {
		alive, err := s.IsMember(f.Source)
		if err != nil {
			return "", err
		}
		if proved, err := s.proved(f.Source); err != nil || alive && proved {
			return "", err
		}
	}
	return "these may be the only bytes of file " + string(name) +
		": it has no good copy, and no source on another node", nil
}

// hasBytes reports whether the copy is good, is one of bytes, and its node has compared what it has with the catalog.
func (s *state) hasBytes(f *File, c *Copy) (bool, error) {
	r, there, err := s.Replica(c.Replica)
	if err != nil || !there || r.Kind != cluster.Bitarchive {
		return false, err
	}
	node, err := s.keeper(f, c)
	if err != nil || node == "" {
		return false, err
	}
	return s.proved(node)
}

// proved reports whether the node need not compare what it has with the catalog first.
func (s *state) proved(node agree.NodeID) (bool, error) {
	err := cluster.Proved(s.State, node)
	if refusal := (*agree.Refusal)(nil); errors.As(err, &refusal) {
		return false, nil
	}
	return err == nil, err
}

// dropAside decides whether a node deletes bytes in its quarantine now. Refusals that would keep a wish alive for ever
// are answers instead: the wish ends, and the trail says why nothing was deleted.
func dropAside(s *state, b *Drop) (any, error) {
	m, err := cluster.Speaker(s.State, b.Node)
	if err != nil {
		return nil, err
	}
	name, ok := b.Aside.File()
	if !ok {
		return nil, agree.Refuse(agree.Invalid, "%q is not the name of bytes in a quarantine",
			agree.Clip(string(b.Aside), 220))
	}
	if !b.Wished {
		why, err := s.staysAside(&m, name, b.SHA256)
		return Dropped{Allowed: err == nil && why == "", Why: why}, err
	}
	key := keyDiscard(m.ID, b.Aside)
	wish, there, err := agree.Get[Discarding](s, key)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "nobody wishes that %s is deleted", agree.Clip(string(b.Aside), 220))
	}
	s.Delete(key)
	why := agree.ClipReason(b.Why)
	if why == "" && wish.SHA256 != b.SHA256 {
		why = "its bytes have SHA-256 " + b.SHA256.String() + ", not " + wish.SHA256.String()
	}
	if why == "" {
		if why, err = s.onlyBytes(m.ID, name); err != nil {
			return nil, err
		}
	}
	if why != "" {
		return Dropped{Why: why}, s.Event("quarantine.kept", string(b.Aside), "node=%s by=%s why=%s", m.ID, wish.By,
			why)
	}
	return Dropped{Allowed: true}, s.Event(DropAside, string(b.Aside), "node=%s by=%s sha256=%s", m.ID, wish.By,
		b.SHA256)
}

// staysAside says why a node may not delete, without anybody's wish, what it set aside; empty when it may: the bytes
// are not the file's, and every replica that is to hold the file has it, or it was removed.
func (s *state) staysAside(m *cluster.Member, name FileName, found agree.Digest) (why string, err error) {
	f, there, err := s.file(name)
	switch {
	case err != nil:
		return "", err
	case !there:
		return "the archive does not know file " + string(name), nil
	case found.IsZero() || found == f.SHA256:
		return "the bytes are not known to be wrong", nil
	case f.Removed != 0:
		return "", nil
	case f.Lost != 0:
		return "file " + string(name) + " is declared lost: this may be all that is left of it", nil
	}
	bytes := false
	for i := range f.Copies {
		c := &f.Copies[i]
		if c.Surplus {
			continue
		}
		node, err := s.keeper(&f, c)
		if err != nil {
			return "", err
		}
		proved, err := s.proved(node)
		if err != nil {
			return "", err
		}
		if node == "" || !proved {
			return "file " + string(name) + " is not verified in replica " + string(c.Replica), nil
		}
		good, err := s.hasBytes(&f, c)
		if err != nil {
			return "", err
		}
		bytes = bytes || good
	}
	if !bytes {
		return s.onlyBytes(m.ID, name)
	}
	return "", nil
}

// DropDiscards ends all wishes about a node's quarantine.
func DropDiscards(s *agree.State, node agree.NodeID) error {
	waiting, err := agree.Tails(s, PrefixDiscards(node), "", 0)
	for _, name := range waiting {
		s.Delete(keyDiscard(node, AsideName(name)))
	}
	return err
}

// Discards returns at most n wishes that the node has not carried out yet.
func (v View) Discards(node agree.NodeID, n int) ([]Discarding, error) {
	return agree.List[Discarding](v.Reader, PrefixDiscards(node), "", n)
}

// OnlyBytes says why bytes of the file in the node's quarantine are not deleted; empty when they may be.
func (v View) OnlyBytes(node agree.NodeID, f *File) (why string, err error) {
	holders, err := v.CoveringFile(f)
	if err != nil || f.Removed != 0 {
		return "", err
	}
	for _, h := range holders {
		epoch, err := v.Unproved(h.Node)
		if err != nil {
			return "", err
		}
		if epoch == 0 && (!h.Source || h.Node != node) && f.Lost == 0 {
			return "", nil
		}
	}
	return "no other good bytes of it", nil
}
