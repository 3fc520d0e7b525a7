package catalog

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

func removeMember(s *state, b *MemberRemoval) (any, error) {
	m, there, err := s.Member(b.ID)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no member %q", agree.Clip(string(b.ID), 60))
	}
	if err := cluster.Unmoved(s.State, &m, b.Standing); err != nil {
		return nil, err
	}
	members, err := s.MemberIDs(2)
	if err != nil {
		return nil, err
	}
	if len(members) < 2 {
		return nil, agree.Refuse(agree.Unsafe, "%s is the only member", m.Name)
	}
	holds, err := s.HoldsShards(&m)
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
	if err := cluster.DropMember(s.State, &m); err != nil {
		return nil, err
	}
	if holds {
		if err := s.startFill(m.Replica, false); err != nil {
			return nil, err
		}
	}
	return nil, s.Event(RemoveMember, string(m.ID), "name=%s lost=%t reason=%s", m.Name, b.Lost, agree.ClipReason(b.Reason))
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
