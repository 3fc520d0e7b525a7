package harvest

import (
	"encoding/json"
	"strconv"
)

// Limit is the most of something that may be fetched, or no limit, which is the zero value. A limit of 0 means that
// nothing may be fetched. In JSON it is a number, or null or absent.
type Limit struct {
	most  int64
	given bool
}

// AtMost is a limit. A negative one counts as 0.
func AtMost(most int64) Limit { return Limit{max(most, 0), true} }

// Given returns the limit, and whether there is one.
func (l Limit) Given() (int64, bool) { return l.most, l.given }

// IsZero reports whether there is no limit.
func (l Limit) IsZero() bool { return !l.given }

// Nothing reports whether nothing may be fetched.
func (l Limit) Nothing() bool { return l.given && l.most == 0 }

// Least is the smaller of two limits.
func (l Limit) Least(other Limit) Limit {
	if !l.given || other.given && other.most < l.most {
		return other
	}
	return l
}

// Above reports whether this limit allows more than another.
func (l Limit) Above(other Limit) bool { return other.given && (!l.given || l.most > other.most) }

// String is the limit in words.
func (l Limit) String() string {
	if !l.given {
		return "no limit"
	}
	return strconv.FormatInt(l.most, 10)
}

// MarshalJSON writes a number, or null.
func (l Limit) MarshalJSON() ([]byte, error) {
	if !l.given {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, l.most, 10), nil
}

// UnmarshalJSON reads a number that is not negative, or null.
func (l *Limit) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*l = Limit{}
		return nil
	}
	var n int64
	if err := json.Unmarshal(data, &n); err != nil || n < 0 || n > huge {
		return invalid("limit", string(data),
			"a whole number from 0 to "+strconv.FormatInt(huge, 10)+", or null for no limit")
	}
	*l = Limit{n, true}
	return nil
}
