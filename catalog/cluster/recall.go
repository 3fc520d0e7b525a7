package cluster

import "holdfast/catalog/agree"

// RecallCollection stores a collection with the date that it had.
func RecallCollection(s *agree.State, c *Collection) error {
	created := c.Created
	if err := agree.CheckTimes(created); err != nil {
		return err
	}
	if err := PutCollection(s, c); err != nil {
		return err
	}
	c.Created = created
	return s.Set(keyCollection(c.Name), c)
}

// RecallMember stores a member with the date at which it joined. It is not to have more than others have of it by then:
// which token it has, and what its program is, it says itself when it is back: an older program is not let in.
func RecallMember(s *agree.State, m *Member) error {
	joined := m.Joined
	if err := agree.CheckTimes(joined); err != nil {
		return err
	}
	m.Draining, m.Local, m.Level = false, agree.Digest{}, max(m.Level, s.Cluster.Level)
	if err := Admit(s, m); err != nil {
		return err
	}
	m.Joined = joined
	return s.Set(keyMember(m.ID), m)
}
