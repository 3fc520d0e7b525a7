package access

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"holdfast/cdx"
)

// maxLine bounds a line of a list of rules.
const maxLine = 64 << 10

// aclj is what pywb's access files say of a rule.
type aclj struct {
	Access string  `json:"access"`
	URL    string  `json:"url,omitempty"` // for people
	User   string  `json:"user,omitempty"`
	Before string  `json:"before,omitempty"`
	After  string  `json:"after,omitempty"`
	Newer  *period `json:"newer,omitempty"`
	Older  *period `json:"older,omitempty"`
}

// period is a period as pywb and OutbackCDX write it.
type period struct {
	Years  int `json:"years,omitempty"`
	Months int `json:"months,omitempty"`
	Weeks  int `json:"weeks,omitempty"`
	Days   int `json:"days,omitempty"`
}

// text writes the period as ParsePeriod reads it.
func (p *period) text() string {
	if p == nil {
		return ""
	}
	return Period{p.Years, p.Months, 7*p.Weeks + p.Days}.String()
}

// ParseACLJ reads pywb's access file: a rule a line, in any order. users says which role a user of pywb's is. The error
// names the line, and wraps ErrRule.
func ParseACLJ(in io.Reader, users map[string]Role) (out []Rule, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if line == "" || line == "#" || strings.HasPrefix(line, "# ") {
			continue
		}
		rule, err := parseACLJ(line, users)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, rule)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d: %w: more than %d bytes", n+1, ErrRule, maxLine)
	}
	return out, lines.Err()
}

func parseACLJ(line string, users map[string]Role) (rule Rule, err error) {
	key, rest, ok := strings.Cut(line, " ")
	_, text, spaced := strings.Cut(rest, " ")
	if !ok || !spaced {
		return rule, fmt.Errorf("%w: %.80q: want a SURT prefix, a dash, and JSON", ErrRule, line)
	}
	var said aclj
	if err := strictly(text, &said); err != nil {
		return rule, err
	}
	if key != "*," {
		rule.Prefix, rule.Exact = strings.CutSuffix(key, "###")
		if !rule.Exact && !strings.ContainsAny(rule.Prefix, "),:") || rule.Prefix == "" {
			return rule, halfAName(key)
		}
		if !rule.Exact && !strings.ContainsAny(rule.Prefix, "):") && !strings.HasSuffix(rule.Prefix, ",") {
			return rule, halfAName(key)
		}
	}
	rule.Access = Decision(said.Access)
	if said.Access == "allow_ignore_embargo" { // the most specific rule decides here, and so it does
		rule.Access = Allow
	}
	if said.User != "" {
		role, known := users[said.User]
		if !known {
			role = Role(said.User)
		}
		if role.rank() < 1 && !known {
			return rule, fmt.Errorf("%w: user %.60q: say which role that is", ErrRule, said.User)
		}
		rule.Role = role
	}
	if said.Before != "" {
		if rule.To, err = shifted(said.Before, cdx.Low, -time.Second); err != nil {
			return rule, fmt.Errorf("%w: before: %w", ErrRule, err)
		}
	}
	if said.After != "" {
		if rule.From, err = shifted(said.After, cdx.High, time.Second); err != nil {
			return rule, fmt.Errorf("%w: after: %w", ErrRule, err)
		}
	}
	rule.Newer, rule.Older = said.Newer.text(), said.Older.text()
	if said.Newer != nil && rule.Newer == "" || said.Older != nil && rule.Older == "" {
		return rule, fmt.Errorf("%w: a period without a length", ErrRule)
	}
	return rule, rule.Check()
}

// halfAName refuses a prefix that another system takes for the beginning of a host's name.
func halfAName(key string) error {
	return fmt.Errorf("%w: prefix %.80q ends within a host's name: want a comma or ) behind it", ErrRule, key)
}

// strictly reads JSON, and refuses what is not known: a condition that is not heeded would make a rule mean something
// else.
func strictly(text string, into any) error {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", ErrRule, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something follows the JSON", ErrRule)
	}
	return nil
}

// shifted pads a timestamp and moves it.
func shifted(text string, pad cdx.Pad, by time.Duration) (string, error) {
	t, err := cdx.ParseTimestamp(text, pad)
	if err != nil {
		return "", err
	}
	return cdx.Timestamp(t.Add(by)), nil
}

// FormatACLJ writes rules as pywb reads them. users says which user of pywb's has a role. What pywb's files cannot say
// is an error that names the rule by its place in the list: without it, pywb would decide otherwise.
func FormatACLJ(rules []Rule, users map[Role]string) ([]byte, error) {
	var lines []string
	for i, rule := range rules {
		some, err := rule.lines(users)
		if err != nil {
			return nil, fmt.Errorf("rule %d of the list: %w", i+1, err)
		}
		lines = append(lines, some...)
	}
	slices.SortFunc(lines, func(a, b string) int { // the longest first, and what is about everything last
		if allA, allB := strings.HasPrefix(a, "*,"), strings.HasPrefix(b, "*,"); allA != allB {
			return compareBool(allA, allB)
		}
		return -strings.Compare(a, b)
	})
	var out bytes.Buffer
	for _, line := range lines {
		out.WriteString(line + "\n")
	}
	return out.Bytes(), nil
}

// CheckACLJ reports why pywb's files cannot say what the rule says.
func (r Rule) CheckACLJ(users map[Role]string) error {
	_, err := r.lines(users)
	return err
}

// lines writes a rule. One about a host and the hosts below it takes several.
func (r Rule) lines(users map[Role]string) ([]string, error) {
	if r.Begin != "" || r.End != "" || len(r.Addresses) > 0 {
		return nil, fmt.Errorf("%w: pywb's files know neither dates in force nor addresses", ErrRule)
	}
	said := aclj{Access: string(r.Access)}
	if r.Role != Anyone {
		if said.User = users[r.Role]; said.User == "" {
			said.User = string(r.Role)
		}
	}
	var err error
	if r.To != "" {
		if said.Before, err = shifted(r.To, cdx.High, time.Second); err != nil {
			return nil, err
		}
	}
	if r.From != "" {
		if said.After, err = shifted(r.From, cdx.Low, -time.Second); err != nil {
			return nil, err
		}
	}
	for _, p := range []struct {
		text string
		into **period
	}{{r.Newer, &said.Newer}, {r.Older, &said.Older}} {
		read, err := parsePeriodOf("period", p.text)
		if err != nil {
			return nil, err
		}
		if p.text != "" {
			*p.into = &period{Years: read.Years, Months: read.Months, Days: read.Days}
		}
	}
	text, err := json.Marshal(said)
	if err != nil {
		return nil, err
	}
	keys := []string{r.Prefix}
	switch {
	case r.Exact:
		keys = []string{r.Prefix + "###"}
	case r.Prefix == "":
		keys = []string{"*,"}
	case !strings.ContainsAny(r.Prefix, "):") && !strings.HasSuffix(r.Prefix, ","):
		keys = []string{r.Prefix + ")", r.Prefix + ",", r.Prefix + ":"}
	}
	var out []string
	for _, key := range keys {
		out = append(out, key+" - "+string(text))
	}
	return out, nil
}
