package agree

// LevelOfRebuilding is the level of a state that is made again from what lies in folders.
const LevelOfRebuilding = 5

// RecallTrail brings back events of the audit trail; its body is a TrailRecall.
const RecallTrail Kind = "rebuild.trail"

// TrailRecall has events that follow those that were brought back before. It is refused when they do not.
type TrailRecall struct {
	Events []Event `json:"events"` // at most 500
}

// maxRecalled bounds the events of one TrailRecall.
const maxRecalled = 500

// BeginRebuilding notes that the state is being made again: until EndRebuilding, commands that bring back what was
// known before are carried out. No node runs with such a state.
func BeginRebuilding(s *State) { s.Mark(keyRebuilding) }

// EndRebuilding ends that for good.
func EndRebuilding(s *State) { s.Delete(keyRebuilding) }

// Rebuilding refuses unless the state is being made again.
func Rebuilding(s *State) error {
	there, err := Has(s, keyRebuilding)
	if err == nil && !there {
		err = Refuse(Conflict, "the catalog is not being rebuilt")
	}
	return err
}

// CheckTimes refuses moments that no command can have.
func CheckTimes(times ...Time) error {
	for _, t := range times {
		if t < 0 || t > lastTime {
			return Refuse(Invalid, "time %d is not between 1970 and 9999", t)
		}
	}
	return nil
}

func recallTrail(s *State, b *TrailRecall) (any, error) {
	if err := Rebuilding(s); err != nil {
		return nil, err
	}
	if n := len(b.Events); n < 1 || n > maxRecalled {
		return nil, Refuse(Invalid, "%d events: want 1 to %d", n, maxRecalled)
	}
	h, _, err := Get[head](s, keyTrail)
	if err != nil {
		return nil, err
	}
	if first := b.Events[0].Seq; first != h.Seq+1 || h.Seq == 0 && !b.Events[0].Previous.IsZero() {
		return nil, Refuse(Conflict, "event %d does not follow event %d", first, h.Seq)
	}
	if err := VerifyEvents(b.Events, h.Hash); err != nil {
		return nil, Refuse(Conflict, "%v", err)
	}
	for i := range b.Events {
		if err := s.Set(keyEvent(b.Events[i].Seq), b.Events[i]); err != nil {
			return nil, err
		}
	}
	last := &b.Events[len(b.Events)-1]
	return nil, s.Set(keyTrail, head{Seq: last.Seq, Hash: last.Hash})
}
