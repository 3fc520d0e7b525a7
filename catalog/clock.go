package catalog

// ClockMost is how far the catalog's clock may be ahead of a leader's stamp before it can be set back: no two leaders whose
// clocks were compared with the other members' are so far apart.
const ClockMost Time = 10 * 60 * 1000

// setClock takes the catalog's clock back to the leader's time. Without it, one stamp from a clock that was wrong would hold
// for years: nothing could get a time of expiry, and all that happens would bear the same time.
func setClock(s *state, _ *ClockChange) (any, error) {
	if s.at-s.stamp <= ClockMost {
		return nil, refuse(Conflict, "the clock is %d ms ahead: it is set back only when it is more than %d ms ahead", s.at-s.stamp, ClockMost)
	}
	wrong := s.at
	s.at = s.stamp
	return nil, s.event(SetClock, s.cluster.ID, "from=%d to=%d", wrong, s.at)
}
