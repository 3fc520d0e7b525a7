package catalog

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"reflect"
	"slices"

	"holdfast/catalog/agree"
)

func createToken(s *state, b *JoinToken) (any, error) {
	if err := agree.CheckName("token", b.ID); err != nil {
		return nil, err
	}
	if there, err := agree.Has(s, keyJoinToken(b.ID)); err != nil || there {
		return nil, agree.OrConflict(err, "there is a token %s already", b.ID)
	}
	if there, err := agree.Has(s, keyReplica(b.Replica)); err != nil || !there {
		return nil, agree.OrNotFound(err, "no replica %q", agree.Clip(string(b.Replica), 64))
	}
	if err := s.stays(b.Replica); err != nil {
		return nil, err
	}
	if b.SecretHash.IsZero() || b.Expires <= s.At {
		return nil, agree.Refuse(agree.Invalid, "a token needs a secret and a time in the future at which it expires")
	}
	token := JoinToken{ID: b.ID, SecretHash: b.SecretHash, Replica: b.Replica, Created: s.At, Expires: b.Expires}
	if err := s.Set(keyJoinToken(b.ID), token); err != nil {
		return nil, err
	}
	return nil, s.Event(CreateToken, b.ID, "replica=%s", b.Replica)
}

func revokeToken(s *state, b *Named) (any, error) {
	token, there, err := agree.Get[JoinToken](s, keyJoinToken(b.ID))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no token %q", agree.Clip(b.ID, 64))
	}
	if token.Revoked != 0 {
		return nil, nil
	}
	token.Revoked = s.At
	if err := s.Set(keyJoinToken(b.ID), token); err != nil {
		return nil, err
	}
	return nil, s.Event(RevokeToken, b.ID, "")
}

func joinMember(s *state, b *Joining) (any, error) {
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
	hash := Digest(sha256.Sum256(b.Secret))
	if !there || subtle.ConstantTimeCompare(hash[:], token.SecretHash[:]) != 1 {
		return nil, agree.Refuse(agree.Denied, "the token is not one of this cluster")
	}
	if token.UsedBy != "" {
		m, there, err := s.member(token.UsedBy)
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
	old, there, err := s.member(b.Member.ID)
	if err == nil && there {
		err = s.readmit(&b.Member, &old)
	} else if err == nil {
		err = s.admit(&b.Member)
	}
	if err != nil {
		return nil, err
	}
	token.UsedBy, token.Used = b.Member.ID, s.At
	if err := s.Set(keyJoinToken(token.ID), token); err != nil {
		return nil, err
	}
	return &b.Member, s.Event(JoinMember, string(b.Member.ID), "name=%s replica=%s token=%s", b.Member.Name, b.Member.Replica, token.ID)
}

// admit checks and stores a new member.
func (s *state) admit(m *Member) error {
	if len(m.Key) != 32 || Fingerprint(m.Key) != m.ID {
		return agree.Refuse(agree.Invalid, "node id %q is not the fingerprint of its key", agree.Clip(string(m.ID), 60))
	}
	if m.Level < s.Cluster.Level {
		return agree.Refuse(agree.Conflict, "the node's program supports level %d, the cluster is at %d", m.Level, s.Cluster.Level)
	}
	if there, err := s.isMember(m.ID); err != nil || there {
		return agree.OrConflict(err, "node %s is a member already", m.ID)
	}
	if there, err := agree.Has(s, keyReplica(m.Replica)); err != nil || !there {
		return agree.OrNotFound(err, "no replica %q", agree.Clip(string(m.Replica), 64))
	}
	if err := s.stays(m.Replica); err != nil {
		return err
	}
	layout, err := s.layout(m.Replica)
	if err != nil {
		return err
	}
	for _, p := range layout {
		if p.Holder == m.ID || p.Next == m.ID {
			return agree.Refuse(agree.Conflict, "node %s was lost and its shards are still being given up", m.ID)
		}
	}
	if err := s.nameMember(m.Name, m.ID); err != nil {
		return err
	}
	if err := checkMember(m); err != nil {
		return err
	}
	m.Joined = s.At
	return s.Set(keyMember(m.ID), m)
}

// readmit lets a member that has lost its state join again with the same key: it keeps what the cluster says of it.
func (s *state) readmit(m, old *Member) error {
	if len(m.Key) != 32 || Fingerprint(m.Key) != m.ID {
		return agree.Refuse(agree.Invalid, "node id %q is not the fingerprint of its key", agree.Clip(string(m.ID), 60))
	}
	if m.Level < s.Cluster.Level {
		return agree.Refuse(agree.Conflict, "the node's program supports level %d, the cluster is at %d", m.Level, s.Cluster.Level)
	}
	if m.Replica != old.Replica {
		return agree.Refuse(agree.Conflict, "node %s is a member already, of replica %s", m.ID, old.Replica)
	}
	if m.Name != old.Name {
		if err := s.nameMember(m.Name, m.ID); err != nil {
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
	if err := checkMember(m); err != nil {
		return err
	}
	return s.Set(keyMember(m.ID), m)
}

// nameMember gives a free name to the node.
func (s *state) nameMember(name string, id NodeID) error {
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
	return nil
}

// changeSealing changes what is said of a member's secrets and its local token, which only the member itself may.
func (s *state) changeSealing(m *Member, b *MemberChange) error {
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
		return agree.Refuse(agree.Denied, "only node %s itself says whether it crawls, with which key it opens secrets, and what its local token is", m.Name)
	}
	assign(&m.Crawls, b.Crawls)
	assign(&m.Local, b.Local)
	if b.Seal != nil {
		m.Seal = b.Seal
	}
	return nil
}

func updateMember(s *state, b *MemberChange) (any, error) {
	m, there, err := s.member(b.ID)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no member %q", agree.Clip(string(b.ID), 60))
	}
	old := m
	if b.Name != nil && *b.Name != m.Name {
		if err := s.nameMember(*b.Name, m.ID); err != nil {
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
	assign(&m.Addresses, b.Addresses)
	assign(&m.OutOnly, b.OutOnly)
	assign(&m.Weight, b.Weight)
	assign(&m.Draining, b.Draining)
	if err := s.changeSealing(&m, b); err != nil {
		return nil, err
	}
	if err := checkMember(&m); err != nil || reflect.DeepEqual(m, old) {
		return nil, err
	}
	if m.Draining && !old.Draining && s.Cluster.Level >= 2 {
		if err := s.mayDrain(&m); err != nil {
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
	return nil, s.Event(UpdateMember, string(m.ID), "%s", detail)
}

// mayDrain refuses a drain that cannot end: no other node of the replica would take the shards.
func (s *state) mayDrain(m *Member) error {
	members, err := agree.List[Member](s, PrefixMembers, "", 0)
	if err != nil {
		return err
	}
	for _, other := range members {
		if other.ID != m.ID && other.Replica == m.Replica && !other.Draining {
			return nil
		}
	}
	return agree.Refuse(agree.Unsafe, "%s is the only node of replica %s that is not draining: its shards have nowhere to go. Let another node join the replica first",
		m.Name, m.Replica)
}

func assign[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func removeMember(s *state, b *MemberRemoval) (any, error) {
	m, there, err := s.member(b.ID)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no member %q", agree.Clip(string(b.ID), 60))
	}
	if err := unmoved(s, &m, b.Standing); err != nil {
		return nil, err
	}
	members, err := agree.Tails(s, PrefixMembers, "", 2)
	if err != nil {
		return nil, err
	}
	if len(members) < 2 {
		return nil, agree.Refuse(agree.Unsafe, "%s is the only member", m.Name)
	}
	holds, err := s.holdsShards(&m)
	if err != nil {
		return nil, err
	}
	if !b.Lost {
		if holds {
			return nil, agree.Refuse(agree.Unsafe, "%s holds shards: drain it first", m.Name)
		}
		for _, prefix := range []string{prefixSource(m.ID), PrefixReleases(m.ID), PrefixLeft(m.ID)} {
			if any, err := agree.HasAny(s, prefix); err != nil || any {
				if err == nil {
					err = agree.Refuse(agree.Unsafe, "%s has files that are not released", m.Name)
				}
				return nil, err
			}
		}
	}
	s.Delete(keyMember(m.ID))
	s.Delete(keyName(m.Name))
	if err := s.trustHolder(m.ID); err != nil {
		return nil, err
	}
	if err := s.Forget(m.ID); err != nil {
		return nil, err
	}
	if holds {
		if err := s.startFill(m.Replica, false); err != nil {
			return nil, err
		}
	}
	return nil, s.Event(RemoveMember, string(m.ID), "name=%s lost=%t reason=%s", m.Name, b.Lost, agree.ClipReason(b.Reason))
}

func (s *state) holdsShards(m *Member) (bool, error) {
	layout, err := s.layout(m.Replica)
	return slices.ContainsFunc(layout, func(p Placement) bool { return p.Holder == m.ID || p.Next == m.ID }), err
}

func createAccess(s *state, b *AccessToken) (any, error) {
	if s.Cluster.Level >= LevelOfPeople {
		return nil, agree.Refuse(agree.Conflict, "from level %d on an access token belongs to a person", LevelOfPeople)
	}
	if err := s.putAccess(b); err != nil {
		return nil, err
	}
	return nil, s.Event(CreateAccess, b.ID, "name=%s role=%s", b.Name, b.Role)
}

func (s *state) putAccess(a *AccessToken) error {
	if err := agree.CheckName("access token", a.ID); err != nil {
		return err
	}
	if there, err := agree.Has(s, keyAccess(a.ID)); err != nil || there {
		return agree.OrConflict(err, "there is an access token %s already", a.ID)
	}
	switch a.Role {
	case RoleReader, RoleCurator, RoleOperator, RoleAdmin:
	default:
		return agree.Refuse(agree.Invalid, "role %q: want reader, curator, operator or admin", agree.Clip(string(a.Role), 40))
	}
	if a.SecretHash.IsZero() || len(a.Name) > 200 || a.Expires != 0 && a.Expires <= s.At {
		return agree.Refuse(agree.Invalid, "an access token needs a secret, a name of at most 200 bytes, and no expiry in the past")
	}
	a.Created, a.Revoked = s.At, 0
	return s.Set(keyAccess(a.ID), a)
}

func revokeAccess(s *state, b *Named) (any, error) {
	token, there, err := agree.Get[AccessToken](s, keyAccess(b.ID))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no access token %q", agree.Clip(b.ID, 64))
	}
	if token.Revoked != 0 {
		return nil, nil
	}
	if err := peopleOf(s).mayRevoke(&token); err != nil {
		return nil, err
	}
	token.Revoked = s.At
	if err := s.Set(keyAccess(b.ID), token); err != nil {
		return nil, err
	}
	return nil, s.Event(RevokeAccess, b.ID, "name=%s", token.Name)
}
