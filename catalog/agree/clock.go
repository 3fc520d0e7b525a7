package agree

// Rules are the engine's own commands.
var Rules = []Rule{
	{Kind: SetClock, Level: 2, Do: With(setClock)},
	{Kind: RecallTrail, Level: LevelOfRebuilding, Do: With(recallTrail)},
}

// SetClock sets the clock back; its body is a ClockChange.
const SetClock Kind = "cluster.clock"

// ClockChange sets the catalog's clock back to the leader's time, after a clock that was wrong has put it far ahead.
type ClockChange struct {
	Ahead int64 `json:"ahead"` // how many milliseconds it was ahead when the leader looked
}

// ClockMost is how far the catalog's clock may be ahead of a leader's stamp before it can be set back: no two leaders
// whose clocks were compared with the other members' are so far apart.
const ClockMost Time = 10 * 60 * 1000

// setClock takes the catalog's clock back to the leader's time. Without it, one stamp from a clock that was wrong would
// hold for years: nothing could get a time of expiry, and all that happens would bear the same time.
func setClock(s *State, _ *ClockChange) (any, error) {
	if s.At-s.Stamp <= ClockMost {
		return nil, Refuse(Conflict, "the clock is %d ms ahead: it is set back only when it is more than %d ms ahead",
			s.At-s.Stamp, ClockMost)
	}
	wrong := s.At
	s.At = s.Stamp
	return nil, s.Event(SetClock, s.Cluster.ID, "from=%d to=%d", wrong, s.At)
}
