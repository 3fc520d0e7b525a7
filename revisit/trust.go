package revisit

// How much a URI's validators are trusted, in the low half of State.trust: each level doubles how many visits in a row
// may send them.
const (
	probation  = 8 // visits without validators after a lie, before they are sent again
	levels     = 4 // 8, 16, 32 and 64 visits
	distrusted = 15
)

// Conditional reports whether the next visit may send the validators of the last: every 8th to 64th does not, by trust,
// so that lies are found. After a lie, some visits go without.
func (s State) Conditional() bool {
	level := s.trust & 15
	return s.Visits > 0 && level != distrusted && s.since+1 < 8<<min(level, levels-1)
}

// checked notes a visit: whether it sent validators, and if it did not, whether it showed that they lie. They do if
// content is another one under validators that are the same.
func (s *State) checked(conditional, lied bool) {
	level := s.trust & 15
	switch {
	case lied:
		level, s.since = distrusted, 0
	case conditional:
		s.since = min(s.since+1, 64)
	case level == distrusted:
		if s.since++; s.since >= probation {
			level, s.since = 0, 0
		}
	default:
		if s.since > 0 {
			level = min(level+1, levels-1)
		}
		s.since = 0
	}
	s.trust = s.trust&^15 | level
}

// dated returns how many days ago the content changed last, by its Last-Modified, if that date is to be believed. A
// date that is that of the answer, in the future, or contradicts what is known makes the URI's dates less believed; one
// that may be right, after a change, more.
func (s *State) dated(v Visit) (ago float64, ok bool) {
	if v.Modified <= 0 {
		return 0, false
	}
	switch {
	case v.Modified >= v.At-2000, v.Change == Changed && s.Last > 0 && v.Modified <= s.Last-60_000,
		v.Change == Unchanged && s.Last > 0 && v.Modified > s.Last+60_000:
		if s.flags&badDates != badDates {
			s.flags += badDate
		}
		return 0, false
	}
	doubted := s.flags&badDates > badDate
	if v.Change == Changed && s.flags&badDates != 0 {
		s.flags -= badDate
	}
	if doubted {
		return 0, false
	}
	return days(v.Modified, v.At), true
}
