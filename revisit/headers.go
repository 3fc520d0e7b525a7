package revisit

import "fmt"

// Scheme says which headers predict whether a page changed, before its body is read.
type Scheme uint8

const (
	// ByTimestamp predicts from Last-Modified.
	ByTimestamp Scheme = 1
	// ByETag predicts from ETag.
	ByETag Scheme = 2
	// ByEither predicts no change if one of both is what it was.
	ByEither Scheme = 3
	// ByBoth predicts no change if both are what they were.
	ByBoth Scheme = 4
)

// Check refuses a number that is no scheme.
func (s Scheme) Check() error {
	if s < ByTimestamp || s > ByBoth {
		return refuse("scheme", uint8(s), "1 (timestamp), 2 (ETag), 3 (either) or 4 (both)")
	}
	return nil
}

func (s Scheme) String() string {
	switch s {
	case ByTimestamp:
		return "timestamp"
	case ByETag:
		return "etag"
	case ByEither:
		return "either"
	case ByBoth:
		return "both"
	}
	return fmt.Sprintf("scheme %d", uint8(s))
}

// Headers are the validators of an answer, as the server wrote them; empty if it sent none.
type Headers struct {
	LastModified, ETag string
}

// PredictsChange reports whether the headers of an answer let one expect another content than that of the answer
// before. A date that is older than the one before is a change too. A header counts as missing if one of the answers
// had none: then the other decides, where the scheme looks at it, and without any a change is predicted.
func (s Scheme) PredictsChange(before, now Headers) bool {
	same := func(a, b string) (same, known bool) { return a == b, a != "" && b != "" }
	date, dateKnown := same(before.LastModified, now.LastModified)
	tag, tagKnown := same(before.ETag, now.ETag)
	switch {
	case s == ByTimestamp:
		return !dateKnown || !date
	case s == ByETag:
		return !tagKnown || !tag
	case s != ByEither && s != ByBoth || !dateKnown && !tagKnown:
		return true
	case !tagKnown:
		return !date
	case !dateKnown:
		return !tag
	case s == ByEither:
		return !date && !tag
	}
	return !date || !tag
}

// FullCopyDue reports whether a page has to be read and stored as a whole whatever its headers say: it was not for a
// year.
func FullCopyDue(lastFull, now int64) bool {
	return lastFull <= 0 || lastFull > now || now-lastFull >= 365*msPerDay
}
