package harvest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Context holds the facts that a sheet's conditions are about.
type Context struct {
	URL  string
	SURT string // of the URL, as "http://(org,example,)/path"
	Port int
	Now  time.Time
}

// Origin is where a setting in effect comes from: "default", "job" or a sheet.
type Origin struct {
	Value json.RawMessage `json:"value"`
	From  string          `json:"from"`
}

// Sheets finds the settings in effect for a URI. It does not change; it may be used concurrently if its memo may.
type Sheets struct {
	base   *Settings
	sheets []compiledSheet
	memo   Memo // by the numbers of the sheets that hold, most specific last
}

// Memo remembers merged settings, so that the same sheets over a job's settings give the same *Settings again. It may
// forget.
type Memo interface {
	Recall(sheets string) *Settings // nil: not known
	Remember(sheets string, merged *Settings)
}

type compiledSheet struct {
	Sheet
	regex      *regexp.Regexp
	time       window
	conditions int
}

// NewSheets prepares settings that are valid. Without a memo, settings are merged each time.
func NewSheets(s Settings, memo Memo) (*Sheets, error) {
	out := &Sheets{base: &s, memo: memo}
	for _, sheet := range s.Sheets {
		c, err := sheet.compile()
		if err != nil {
			return nil, err
		}
		out.sheets = append(out.sheets, c)
	}
	return out, nil
}

// Windows names the sheets that hold at some times only and do now. While it stays the same, so does what holds for a
// URI.
func (s *Sheets) Windows(now time.Time) (open []string) {
	for i := range s.sheets {
		if c := &s.sheets[i]; c.time.timed() && c.time.open(now) {
			open = append(open, c.Name)
		}
	}
	return open
}

// Empty reports whether the same settings hold for all.
func (s *Sheets) Empty() bool { return len(s.sheets) == 0 }

// Base returns the job's own settings; do not change them.
func (s *Sheets) Base() *Settings { return s.base }

// For returns the settings in effect. They are shared: do not change them.
func (s *Sheets) For(c Context) *Settings {
	if len(s.sheets) == 0 {
		return s.base
	}
	order := s.matching(c)
	if len(order) == 0 {
		return s.base
	}
	key := fmt.Sprint(order)
	if s.memo != nil {
		if known := s.memo.Recall(key); known != nil {
			return known
		}
	}
	merged := *s.base
	for _, i := range order {
		for name, value := range s.sheets[i].Settings {
			// Checked when the sheet was compiled.
			if err := merged.set(name, value); err != nil {
				continue
			}
		}
	}
	if s.memo != nil {
		s.memo.Remember(key, &merged)
	}
	return &merged
}

// Explain tells for every setting its value in effect and where it comes from. Secrets are left out.
func (s *Sheets) Explain(c Context) map[string]Origin {
	out := map[string]Origin{}
	given := s.base.Redacted()
	for _, d := range described {
		value, err := json.Marshal(d.field(&given).Interface())
		if err != nil {
			continue
		}
		o := Origin{Value: value, From: "job"}
		if bytes.Equal(value, d.Default) {
			o.From = "default"
		}
		out[d.Name] = o
	}
	for _, i := range s.matching(c) {
		for name, value := range s.sheets[i].Settings {
			out[name] = Origin{Value: redactedSetting(name, value), From: "sheet " + s.sheets[i].Name}
		}
	}
	return out
}

// matching returns the sheets that hold, the most specific last.
func (s *Sheets) matching(c Context) []int {
	type match struct{ sheet, prefix int }
	var found []match
	for i := range s.sheets {
		if prefix, ok := s.sheets[i].holds(c); ok {
			found = append(found, match{i, prefix})
		}
	}
	slices.SortStableFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.prefix, b.prefix),
			cmp.Compare(s.sheets[a.sheet].conditions, s.sheets[b.sheet].conditions))
	})
	order := make([]int, len(found))
	for i, m := range found {
		order[i] = m.sheet
	}
	return order
}

// holds tells whether all conditions hold, and the length of the prefix that did.
func (s *compiledSheet) holds(c Context) (prefix int, ok bool) {
	if len(s.Prefixes) > 0 {
		prefix = -1
		for _, p := range s.Prefixes {
			if strings.HasPrefix(c.SURT, p) {
				prefix = max(prefix, len(p))
			}
		}
		if prefix < 0 {
			return 0, false
		}
	}
	if len(s.Ports) > 0 && !slices.Contains(s.Ports, c.Port) || s.regex != nil && !s.regex.MatchString(c.URL) {
		return 0, false
	}
	return prefix, s.time.open(c.Now)
}

func (s Sheet) compile() (c compiledSheet, err error) {
	c = compiledSheet{Sheet: s}
	wrong := func(what, given, allowed string) error { return invalid("sheets: "+s.Name+": "+what, given, allowed) }
	if s.Name == "" {
		return c, invalid("sheets", "a sheet without a name", "a name for each sheet")
	}
	if s.Regex != "" {
		if c.regex, err = regexp.Compile(s.Regex); err != nil {
			return c, wrong("regex", strconv.Quote(s.Regex), "a regular expression ("+err.Error()+")")
		}
	}
	for _, p := range s.Ports {
		if p < 1 || p > 65535 {
			return c, wrong("ports", strconv.Itoa(p), "1 to 65535")
		}
	}
	in := Window{Days: s.Days, From: s.From, Until: s.Until, Zone: s.Zone}
	if c.time, err = in.compile(wrong); err != nil {
		return c, err
	}
	c.Prefixes = make([]string, len(s.Prefixes))
	for i, p := range s.Prefixes {
		if c.Prefixes[i], err = SURTPrefix(p); err != nil {
			return c, wrong("surt_prefixes", strconv.Quote(p),
				"SURT prefixes, as http://(org,example, ("+err.Error()+")")
		}
	}
	for _, given := range []bool{len(s.Prefixes) > 0, s.Regex != "", len(s.Ports) > 0, len(s.Days) > 0, s.From != ""} {
		if given {
			c.conditions++
		}
	}
	return c, nil
}

// validate tells whether a sheet can be laid over the settings it belongs to.
func (s Sheet) validate(base Settings) error {
	if _, err := s.compile(); err != nil {
		return err
	}
	base.Sheets = nil
	for name, value := range s.Settings {
		setting, ok := named(name)
		switch {
		case !ok:
			return invalid("sheets: "+s.Name, strconv.Quote(name), "a setting"+DidYouMean(name, settingNames))
		case setting.Level != OfURI:
			return invalid("sheets: "+s.Name, name, "settings that may differ by URI; "+name+" holds for the whole job")
		case !setting.Live && (s.From != s.Until || len(s.Days) > 0):
			return invalid("sheets: "+s.Name, name,
				"settings that can change while the crawl runs, because the sheet is for a time; "+name+" cannot")
		}
		if err := base.set(name, value); err != nil {
			return fmt.Errorf("sheets: %s: %w", s.Name, err)
		}
	}
	if err := base.Validate(); err != nil {
		return fmt.Errorf("sheets: %s: %w", s.Name, err)
	}
	return nil
}
