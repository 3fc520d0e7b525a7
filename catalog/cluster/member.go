package cluster

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"reflect"
	"slices"

	"holdfast/catalog/agree"
)

func joinMember(s *agree.State, b *Joining) (any, error) {
	if s.Cluster.Level < 2 && b.Member.Crawls {
		return nil, agree.UnknownField("crawls")
	}
	if s.Cluster.Level < 2 && b.Member.Seal != nil {
		return nil, agree.UnknownField("seal")
	}
	if s.Cluster.Level < 2 && !b.Member.Local.IsZero() {
		return nil, agree.UnknownField("local")
	}
	token, there, err := agree.Get[JoinToken](s, keyJoinToken(b.Token))
	if err != nil {
		return nil, err
	}
	hash := agree.Digest(sha256.Sum256(b.Secret))
	if !there || subtle.ConstantTimeCompare(hash[:], token.SecretHash[:]) != 1 {
		return nil, agree.Refuse(agree.Denied, "the token is not one of this cluster")
	}
	if token.UsedBy != "" {
		m, there, err := In(s).Member(token.UsedBy)
		if err != nil {
			return nil, err
		}
		if there && token.UsedBy == b.Member.ID && token.UsedBy == Fingerprint(b.Member.Key) {
			return &m, nil // a retry
		}
		return nil, agree.Refuse(agree.Denied, "token %s was used by another machine", token.ID)
	}
	if token.Revoked != 0 || token.Expires <= s.At {
		return nil, agree.Refuse(agree.Denied, "token %s is expired or revoked", token.ID)
	}
	if b.Member.Replica != "" && b.Member.Replica != token.Replica {
		return nil, agree.Refuse(agree.Denied, "token %s is for replica %s", token.ID, token.Replica)
	}
	b.Member.Replica = token.Replica
	old, there, err := In(s).Member(b.Member.ID)
	if err == nil && there {
		err = readmit(s, &b.Member, &old)
	} else if err == nil {
		if err = Admit(s, &b.Member); err == nil {
			err = stageJoined(s, &b.Member)
		}
	}
	if err != nil {
		return nil, err
	}
	token.UsedBy, token.Used = b.Member.ID, s.At
	if err := s.Set(keyJoinToken(token.ID), token); err != nil {
		return nil, err
	}
	return &b.Member, s.Event(JoinMember, string(b.Member.ID), "name=%s replica=%s token=%s", b.Member.Name,
		b.Member.Replica, token.ID)
}

// Admit checks and stores a new member.
func Admit(s *agree.State, m *Member) error {
	if len(m.Key) != 32 || Fingerprint(m.Key) != m.ID {
		return agree.Refuse(agree.Invalid, "node id %q is not the fingerprint of its key", agree.Clip(string(m.ID), 60))
	}
	if m.Level < s.Cluster.Level {
		return agree.Refuse(agree.Conflict, "the node's program supports level %d, the cluster is at %d", m.Level,
			s.Cluster.Level)
	}
	if s.Cluster.Level < LevelOfChannels && m.Channels != nil {
		return agree.UnknownField("channels")
	}
	if there, err := In(s).IsMember(m.ID); err != nil || there {
		return agree.OrConflict(err, "node %s is a member already", m.ID)
	}
	if there, err := agree.Has(s, keyReplica(m.Replica)); err != nil || !there {
		return agree.OrNotFound(err, "no replica %q", agree.Clip(string(m.Replica), 64))
	}
	if err := Stays(s, m.Replica); err != nil {
		return err
	}
	layout, err := In(s).Layout(m.Replica)
	if err != nil {
		return err
	}
	for _, p := range layout {
		if p.Holder == m.ID || p.Next == m.ID {
			return agree.Refuse(agree.Conflict, "node %s was lost and its shards are still being given up", m.ID)
		}
	}
	if err := nameMember(s, m.Name, m.ID); err != nil {
		return err
	}
	if err := checkMember(m); err != nil {
		return err
	}
	m.Joined = s.At
	return s.Set(keyMember(m.ID), m)
}

// readmit lets a member that has lost its state join again with the same key: its entry in the catalog stays.
func readmit(s *agree.State, m, old *Member) error {
	if len(m.Key) != 32 || Fingerprint(m.Key) != m.ID {
		return agree.Refuse(agree.Invalid, "node id %q is not the fingerprint of its key", agree.Clip(string(m.ID), 60))
	}
	if m.Level < s.Cluster.Level {
		return agree.Refuse(agree.Conflict, "the node's program supports level %d, the cluster is at %d", m.Level,
			s.Cluster.Level)
	}
	if m.Replica != old.Replica {
		return agree.Refuse(agree.Conflict, "node %s is a member already, of replica %s", m.ID, old.Replica)
	}
	if m.Name != old.Name {
		if err := nameMember(s, m.Name, m.ID); err != nil {
			return err
		}
		s.Delete(keyName(old.Name))
	}
	m.Joined, m.Draining = old.Joined, old.Draining
	if m.Seal == nil {
		m.Seal, m.Crawls, m.Local = old.Seal, old.Crawls, old.Local
	}
	if m.Weight == 0 {
		m.Weight = old.Weight
	}
	if m.Channels == nil {
		m.Channels = old.Channels
	}
	if err := checkMember(m); err != nil {
		return err
	}
	return s.Set(keyMember(m.ID), m)
}

// nameMember gives a free name to the node.
func nameMember(s *agree.State, name string, id agree.NodeID) error {
	if err := agree.CheckName("member", name); err != nil {
		return err
	}
	if there, err := agree.Has(s, keyName(name)); err != nil || there {
		return agree.OrConflict(err, "there is a member named %s already", name)
	}
	return s.Set(keyName(name), id)
}

func checkMember(m *Member) error {
	if m.Weight < 0 || m.Weight > 1_000_000 {
		return agree.Refuse(agree.Invalid, "weight %d: want 0 to 1000000", m.Weight)
	}
	if len(m.Addresses) > 16 {
		return agree.Refuse(agree.Invalid, "%d addresses: at most 16", len(m.Addresses))
	}
	if slices.ContainsFunc(m.Addresses, func(a string) bool { return a == "" || len(a) > 300 }) {
		return agree.Refuse(agree.Invalid, "an address is empty or longer than 300 bytes")
	}
	if m.Seal != nil && !m.Seal.Proved(m.Key) {
		return agree.Refuse(agree.Invalid, "the key for secrets is not signed by the node's own key")
	}
	return checkChannels(m.Channels)
}

// changeSealing changes a member's key for secrets and its local token, which only the member itself may change.
func changeSealing(s *agree.State, m *Member, b *MemberChange) error {
	switch {
	case b.Crawls == nil && b.Seal == nil && b.Local == nil:
		return nil
	case s.Cluster.Level < 2 && b.Crawls != nil:
		return agree.UnknownField("crawls")
	case s.Cluster.Level < 2 && b.Seal != nil:
		return agree.UnknownField("seal")
	case s.Cluster.Level < 2:
		return agree.UnknownField("local")
	case s.Node != m.ID:
		return agree.Refuse(agree.Denied,
			"only node %s itself says whether it crawls, with which key it opens secrets, "+
				"and what its local token is", m.Name)
	}
	agree.Assign(&m.Crawls, b.Crawls)
	agree.Assign(&m.Local, b.Local)
	if b.Seal != nil {
		m.Seal = b.Seal
	}
	return nil
}

func updateMember(s *agree.State, b *MemberChange) (any, error) {
	m, there, err := In(s).Member(b.ID)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no member %q", agree.Clip(string(b.ID), 60))
	}
	old := m
	if b.Name != nil && *b.Name != m.Name {
		if err := nameMember(s, *b.Name, m.ID); err != nil {
			return nil, err
		}
		s.Delete(keyName(m.Name))
		m.Name = *b.Name
	}
	if b.Level != nil {
		if *b.Level < s.Cluster.Level {
			return nil, agree.Refuse(agree.Conflict, "level %d is below the cluster's, %d", *b.Level, s.Cluster.Level)
		}
		m.Level = *b.Level
	}
	agree.Assign(&m.Addresses, b.Addresses)
	agree.Assign(&m.OutOnly, b.OutOnly)
	agree.Assign(&m.Weight, b.Weight)
	agree.Assign(&m.Draining, b.Draining)
	if err := changeSealing(s, &m, b); err != nil {
		return nil, err
	}
	if err := changeChannels(s, &m, b.Channels); err != nil {
		return nil, err
	}
	if err := checkMember(&m); err != nil || reflect.DeepEqual(m, old) {
		return nil, err
	}
	if m.Draining && !old.Draining && s.Cluster.Level >= 2 {
		if err := mayDrain(s, &m); err != nil {
			return nil, err
		}
	}
	if err := s.Set(keyMember(m.ID), m); err != nil {
		return nil, err
	}
	detail := fmt.Sprintf("name=%s weight=%d draining=%t level=%d", m.Name, m.Weight, m.Draining, m.Level)
	if b.Crawls != nil || b.Seal != nil {
		detail += fmt.Sprintf(" crawls=%t", m.Crawls)
	}
	if b.Channels != nil {
		detail += channelsText(&m)
	}
	return nil, s.Event(UpdateMember, string(m.ID), "%s", detail)
}

// mayDrain refuses a drain that cannot end: no other node of the replica would take the shards.
func mayDrain(s *agree.State, m *Member) error {
	members, err := agree.List[Member](s, PrefixMembers, "", 0)
	if err != nil {
		return err
	}
	for _, other := range members {
		if other.ID != m.ID && other.Replica == m.Replica && !other.Draining {
			return nil
		}
	}
	return agree.Refuse(agree.Unsafe,
		"%s is the only node of replica %s that is not draining: its shards have nowhere to go. "+
			"Let another node join the replica first",
		m.Name, m.Replica)
}

// DropMember deletes a member and the record of its requests.
func DropMember(s *agree.State, m *Member) error {
	s.Delete(keyMember(m.ID))
	s.Delete(keyName(m.Name))
	if err := trustHolder(s, m.ID); err != nil {
		return err
	}
	if err := unstage(s, func(c *Staged) bool { return c.Node == m.ID }); err != nil {
		return err
	}
	return s.Forget(m.ID)
}

// HasName reports whether a member has the name.
func (r Records) HasName(name string) (bool, error) { return agree.Has(r.Reader, keyName(name)) }

// Named returns the member of that name, and false if there is none.
func (r Records) Named(name string) (agree.NodeID, bool, error) {
	return agree.Get[agree.NodeID](r.Reader, keyName(name))
}
