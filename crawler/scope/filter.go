package scope

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"holdfast/harvest"
)

// TypeSet is a set of media types: patterns with *, of which the last that matches decides; "!text/*" takes out. A set
// that begins with an exclusion holds all other types. The zero value is empty.
type TypeSet struct {
	patterns []typePattern
	all      bool // types that nothing matches are in
}

type typePattern struct {
	text string
	out  bool
}

// ParseTypes reads patterns such as image/*, *pdf* or !text/*.
func ParseTypes(patterns []string) (TypeSet, error) {
	var set TypeSet
	for i, given := range patterns {
		p, out := strings.CutPrefix(strings.ToLower(strings.TrimSpace(given)), "!")
		p = strings.TrimSpace(p)
		if p == "" || len(p) > 200 || strings.ContainsAny(p, " \t;,") || !isASCII(p) || !strings.ContainsAny(p, "/*") {
			return TypeSet{}, fmt.Errorf("given %.100q, allowed: media types, * allowed, ! for all but, as image/* "+
				"or !text/*", given)
		}
		if i == 0 {
			set.all = out
		}
		set.patterns = append(set.patterns, typePattern{p, out})
	}
	return set, nil
}

// Empty reports whether there are no patterns.
func (t TypeSet) Empty() bool { return len(t.patterns) == 0 }

// Has tells whether a media type, parameters left out of account, is in the set.
func (t TypeSet) Has(contentType string) bool {
	kind := mediaType(contentType)
	for i := len(t.patterns) - 1; i >= 0; i-- {
		if glob(t.patterns[i].text, kind) {
			return !t.patterns[i].out
		}
	}
	return t.all
}

// mediaType returns a Content-Type without parameters, in lower case; "unknown" if there is none, as Heritrix writes
// it.
func mediaType(contentType string) string {
	if i := strings.IndexAny(contentType, ";,"); i >= 0 {
		contentType = contentType[:i]
	}
	contentType = strings.TrimSpace(contentType)
	if contentType == "" {
		return "unknown"
	}
	return strings.ToLower(contentType)
}

// glob reports whether a pattern, in which * stands for any text, matches the whole of s. Its time grows with the sum
// of both lengths.
func glob(pattern, s string) bool {
	first, rest, any := strings.Cut(pattern, "*")
	if !any {
		return s == pattern
	}
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	for {
		piece, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(s, piece)
		}
		i := strings.Index(s, piece)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(piece):], after
	}
}

// Filter tells which documents are recorded. It is safe for concurrent use.
type Filter struct {
	keep, discard TypeSet
	discardIf     *Expression
}

// NewFilter makes the filter of keep_types, discard_types and discard_if. The error wraps harvest.ErrInvalid.
func NewFilter(s *harvest.Settings, log *slog.Logger) (*Filter, error) {
	f := &Filter{}
	var err error
	if f.keep, err = ParseTypes(s.KeepTypes); err != nil {
		return nil, fmt.Errorf("%w: keep_types: %w", harvest.ErrInvalid, err)
	}
	if f.discard, err = ParseTypes(s.DiscardTypes); err != nil {
		return nil, fmt.Errorf("%w: discard_types: %w", harvest.ErrInvalid, err)
	}
	if strings.TrimSpace(s.DiscardIf) != "" {
		if f.discardIf, err = NewExpression(s.DiscardIf, log); err != nil {
			return nil, fmt.Errorf("%w: discard_if: given %s, allowed: a CEL expression (%w)", harvest.ErrInvalid,
				strconv.Quote(s.DiscardIf), err)
		}
	}
	return f, nil
}

// discardIf is the name of that setting.
const discardIf = "discard_if"

// Keep tells whether a document is to be recorded, by discard_if. An expression that fails discards nothing.
func (f *Filter) Keep(u *Subject) bool { return f.discardIf == nil || !f.discardIf.holds(u) }

// KeepsType tells whether documents of that type are recorded, and if not, by which setting: keep_types or
// discard_types.
func (f *Filter) KeepsType(u *Subject) (keep bool, why string) {
	switch {
	case !f.keep.Empty() && !f.keep.Has(u.ContentType):
		return false, "keep_types"
	case !f.discard.Empty() && f.discard.Has(u.ContentType):
		return false, "discard_types"
	}
	return true, ""
}
