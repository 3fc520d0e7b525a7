package people

import (
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

func createAccess(s *state, b *AccessToken) (any, error) {
	if s.Cluster.Level >= LevelOfPeople {
		return nil, agree.Refuse(agree.Conflict, "from level %d on an access token belongs to a person", LevelOfPeople)
	}
	if err := PutAccess(s.State, b); err != nil {
		return nil, err
	}
	return nil, s.Event(CreateAccess, b.ID, "name=%s role=%s", b.Name, b.Role)
}

// PutAccess checks and stores a new access token.
func PutAccess(s *agree.State, a *AccessToken) error {
	if err := agree.CheckName("access token", a.ID); err != nil {
		return err
	}
	if there, err := agree.Has(s, keyAccess(a.ID)); err != nil || there {
		return agree.OrConflict(err, "there is an access token %s already", a.ID)
	}
	switch a.Role {
	case RoleReader, RoleCurator, RoleOperator, RoleAdmin:
	default:
		return agree.Refuse(agree.Invalid, "role %q: want reader, curator, operator or admin",
			agree.Clip(string(a.Role), 40))
	}
	if a.SecretHash.IsZero() || len(a.Name) > 200 || a.Expires != 0 && a.Expires <= s.At {
		return agree.Refuse(agree.Invalid,
			"an access token needs a secret, a name of at most 200 bytes, and no expiry in the past")
	}
	a.Created, a.Revoked = s.At, 0
	return s.Set(keyAccess(a.ID), a)
}

func revokeAccess(s *state, b *cluster.Named) (any, error) {
	token, there, err := agree.Get[AccessToken](s, keyAccess(b.ID))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no access token %q", agree.Clip(b.ID, 64))
	}
	if token.Revoked != 0 {
		return nil, nil
	}
	if err := s.mayRevoke(&token); err != nil {
		return nil, err
	}
	token.Revoked = s.At
	if err := s.Set(keyAccess(b.ID), token); err != nil {
		return nil, err
	}
	return nil, s.Event(RevokeAccess, b.ID, "name=%s", token.Name)
}

// mayRevoke refuses to revoke the last token by which the last administrator acts.
func (s *state) mayRevoke(token *AccessToken) error {
	b, there, err := agree.Get[Bearer](s, keyBearer(token.ID))
	if err != nil || !there || !(held{*token, b}).administers(s.At) {
		return err
	}
	rights, err := s.rights(b.Owner, s.At)
	if err != nil || !slices.ContainsFunc(rights, func(r Right) bool { return r.Role == RoleAdmin }) {
		return err
	}
	if other, err := s.admin(b.Owner); err != nil || other != "" {
		return err
	}
	tokens, err := s.tokensOf(b.Owner)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if t.ID != token.ID && t.administers(s.At) {
			return nil
		}
	}
	return agree.Refuse(agree.Unsafe, "this is the last token of the last administrator; make another one first")
}

// administers reports whether a person can do with the token all that an administrator may.
func (h held) administers(now agree.Time) bool {
	return h.usable(now) && !h.Program && !h.Invites && h.Role == RoleAdmin && len(h.Scopes) == 0
}
