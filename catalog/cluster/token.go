package cluster

import "holdfast/catalog/agree"

func createToken(s *agree.State, b *JoinToken) (any, error) {
	if err := agree.CheckName("token", b.ID); err != nil {
		return nil, err
	}
	if there, err := agree.Has(s, keyJoinToken(b.ID)); err != nil || there {
		return nil, agree.OrConflict(err, "there is a token %s already", b.ID)
	}
	if there, err := agree.Has(s, keyReplica(b.Replica)); err != nil || !there {
		return nil, agree.OrNotFound(err, "no replica %q", agree.Clip(string(b.Replica), 64))
	}
	if err := Stays(s, b.Replica); err != nil {
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

func revokeToken(s *agree.State, b *Named) (any, error) {
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
