package access

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"holdfast/cdx"
)

// outback is a rule as OutbackCDX writes it.
type outback struct {
	ID       json.Number `json:"id"`
	PolicyID any         `json:"policyId"` // text or number
	Patterns []string    `json:"urlPatterns"`
	Captured *span       `json:"captured"`
	Accessed *span       `json:"accessed"`
	Period   *period     `json:"period"`
	Public   string      `json:"publicMessage"`
	Private  string      `json:"privateComment"`
	Reason   string      `json:"reason"`
	Enabled  *bool       `json:"enabled"`

	// for people
	Pinned   any `json:"pinned"`
	Created  any `json:"created"`
	Creator  any `json:"creator"`
	Modified any `json:"modified"`
	Modifier any `json:"modifier"`
}

// span is a time span; either end may be missing.
type span struct {
	Start *moment `json:"start"`
	End   *moment `json:"end"`
}

// moment is a time: a text, or milliseconds since 1970.
type moment struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (m *moment) UnmarshalJSON(text []byte) error {
	var n int64
	if json.Unmarshal(text, &n) == nil {
		m.Time = time.UnixMilli(n)
		return nil
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("time %.40s: want a text or milliseconds", text)
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			m.Time = t
			return nil
		}
	}
	return fmt.Errorf("time %.40q: want one such as 2026-01-31T00:00:00Z", s)
}

// Imported is a rule of another system, with what that keeps for its people.
type Imported struct {
	Rule
	Reason string
}

// ParseOutback reads access rules of OutbackCDX: what GET /COLLECTION/access/rules answers. policies says what each of
// its policies, by id, is here. Rules that are switched off are counted, and left out. The error names the rule, and
// wraps ErrRule.
func ParseOutback(in io.Reader, policies map[string]Decision) (out []Imported, off int, err error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, 0, err
	}
	var all []json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, 0, fmt.Errorf("%w: want a list of rules: %w", ErrRule, err)
	}
	for i, raw := range all {
		var said outback
		if err := strictly(string(raw), &said); err != nil {
			return nil, 0, fmt.Errorf("rule %d of the list: %w", i+1, err)
		}
		if said.Enabled != nil && !*said.Enabled {
			off++
			continue
		}
		some, err := said.rules(policies)
		if err != nil {
			return nil, 0, fmt.Errorf("rule %d of the list, id %s: %w", i+1, said.ID, err)
		}
		out = append(out, some...)
	}
	return out, off, nil
}

// rules makes a rule of each pattern.
func (o *outback) rules(policies map[string]Decision) (out []Imported, err error) {
	policy := fmt.Sprint(o.PolicyID)
	decision, known := policies[policy]
	if !known {
		return nil, fmt.Errorf("%w: policy %.60q: say what it is here: allow, block or exclude", ErrRule, policy)
	}
	if len(o.Patterns) == 0 {
		return nil, fmt.Errorf("%w: it has no URL patterns", ErrRule)
	}
	for _, pattern := range o.Patterns {
		rule, err := RuleFor(pattern, decision)
		if err != nil {
			return nil, err
		}
		rule.From, rule.To = o.Captured.ends()
		rule.Begin, rule.End = o.Accessed.ends()
		rule.Message, rule.Newer = o.Public, o.Period.text()
		if o.Period != nil && rule.Newer == "" && *o.Period != (period{}) {
			return nil, fmt.Errorf("%w: a period that is negative", ErrRule)
		}
		if err := rule.Check(); err != nil {
			return nil, err
		}
		reason := o.Private
		if o.Reason != "" && reason != "" {
			reason = o.Reason + ": " + reason
		} else if reason == "" {
			reason = o.Reason
		}
		out = append(out, Imported{rule, reason})
	}
	return out, nil
}

// ends returns the span as timestamps, empty where it is open.
func (s *span) ends() (from, to string) {
	if s == nil {
		return "", ""
	}
	if s.Start != nil {
		from = cdx.Timestamp(s.Start.Time)
	}
	if s.End != nil {
		to = cdx.Timestamp(s.End.Time)
	}
	return from, to
}
