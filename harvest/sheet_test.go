package harvest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReferenceNamesEverySettingOnce(t *testing.T) {
	want := map[string]int{}
	for name := range jsonNames(reflect.TypeFor[Settings]()) {
		want[name]++
	}
	for _, r := range Reference() {
		want[r.Name]--
		if r.Help == "" || r.Type == "" || len(r.Default) == 0 || r.Level == "" {
			t.Errorf("%s is not described: %+v", r.Name, r)
		}
	}
	for name, n := range want {
		if n != 0 {
			t.Errorf("%s: described %d times too few", name, n)
		}
	}
}

// TestReferenceDocument keeps doc/settings.md in step; -update writes it.
func TestReferenceDocument(t *testing.T) {
	const file = "../doc/settings.md"
	var b strings.Builder
	b.WriteString("# Settings of a crawl\n\nGenerated from the code (`go test ./harvest -update`). Level `uri`: may differ by URI, in a sheet. Live: may be changed while the crawl runs. Laid: a configuration of a domain may lay it over the template. Expert: most crawls do without.\n")
	group := ""
	for _, r := range Reference() {
		if r.Group != group {
			group = r.Group
			fmt.Fprintf(&b, "\n## %s\n\n| setting | type | default | level | live | laid | expert | meaning |\n|---|---|---|---|---|---|---|---|\n", strings.ToUpper(group[:1])+group[1:])
		}
		kind := r.Type
		if r.Unit != "" {
			kind = r.Unit
		}
		yes := map[bool]string{true: "yes", false: "no"}
		help := r.Help
		if len(r.Allowed) > 0 {
			help += " Allowed: " + words(r.Allowed) + "."
		}
		value := string(r.Default)
		if len(value) > 90 || value == "null" {
			value = map[bool]string{true: "none", false: "all"}[value == "null"]
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s | %s |\n", r.Name, kind, strings.ReplaceAll(value, "|", "\\|"), r.Level,
			yes[r.Live], yes[r.Layable], yes[r.Expert], help)
	}
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil || string(have) != b.String() {
		t.Errorf("%s is not in step with the code (%v): go test ./harvest -update", file, err)
	}
}

var _ = flag.Bool("update", false, "write doc/settings.md")

func sheets(t *testing.T, list ...Sheet) *Sheets {
	t.Helper()
	s := DefaultSettings()
	s.Sheets = list
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	out, err := NewSheets(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func set(pairs ...string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return out
}

func TestTheMostSpecificSheetWins(t *testing.T) {
	s := sheets(t,
		Sheet{Name: "page", Prefixes: []string{"http://(org,example,)/a"}, Settings: set("max_hops", "3")},
		Sheet{Name: "domain", Prefixes: []string{"http://(org,example,"}, Settings: set("max_hops", "2", "robots", `"ignore"`)},
		Sheet{Name: "pdf", Regex: `\.pdf$`, Settings: set("max_hops", "1", "traps", `["x"]`)},
		Sheet{Name: "port", Regex: `\.pdf$`, Ports: []int{8080}, Settings: set("max_hops", "9")},
	)
	tests := []struct {
		url, surt string
		port      int
		hops      int
		robots    RobotsPolicy
		from      string
	}{
		{"http://example.org/a", "http://(org,example,)/a", 80, 3, RobotsIgnore, "sheet page"},
		{"http://example.org/b.pdf", "http://(org,example,)/b.pdf", 80, 2, RobotsIgnore, "sheet domain"},
		{"http://example.net/b.pdf", "http://(net,example,)/b.pdf", 80, 1, RobotsObey, "sheet pdf"},
		{"http://example.net:8080/b.pdf", "http://(net,example,:8080)/b.pdf", 8080, 9, RobotsObey, "sheet port"},
		{"http://example.net/", "http://(net,example,)/", 80, 20, RobotsObey, "default"},
	}
	for _, tt := range tests {
		c := Context{URL: tt.url, SURT: tt.surt, Port: tt.port}
		got := s.For(c)
		if got.MaxHops != tt.hops || got.Robots != tt.robots {
			t.Errorf("%s: max_hops %d robots %s, want %d %s", tt.url, got.MaxHops, got.Robots, tt.hops, tt.robots)
		}
		if from := s.Explain(c)["max_hops"].From; from != tt.from {
			t.Errorf("%s: max_hops comes from %s, want %s", tt.url, from, tt.from)
		}
	}
	if len(s.Base().Traps) != 0 {
		t.Error("a sheet changed the job's own settings")
	}
}

func TestSheetsOfATime(t *testing.T) {
	s := sheets(t, Sheet{Name: "all", Settings: set("max_hops", "3")}, Sheet{Name: "night", From: "22:00", Until: "06:00", Days: []string{"fri"}, Zone: "Europe/Copenhagen", Settings: set("min_delay", `"100ms"`)})
	for at, night := range map[string]bool{
		"2026-11-20T20:59:00Z": false, // a Friday, 21:59 there
		"2026-11-20T21:00:00Z": true,
		"2026-11-21T04:59:00Z": true, // Saturday morning belongs to Friday's night
		"2026-11-21T05:00:00Z": false,
		"2026-11-20T04:59:00Z": false, // Friday morning belongs to Thursday's
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.For(Context{Now: now}).MinDelay == Duration(100*time.Millisecond); got != night {
			t.Errorf("%s: night %v, want %v", at, got, night)
		}
		if open := slices.Equal(s.Windows(now), []string{"night"}); open != night {
			t.Errorf("%s: open windows %q", at, s.Windows(now))
		}
	}
}

func TestSheetsThatCannotBe(t *testing.T) {
	for want, sheet := range map[string]Sheet{
		"a name for each":                {Settings: set("max_hops", "1")},
		"holds for the whole job":        {Name: "a", Settings: set("workers", "1")},
		`did you mean "max_hops"`:        {Name: "a", Settings: set("max_hop", "1")},
		"max_hops: given -1":             {Name: "a", Settings: set("max_hops", "-1")},
		"allowed: a time of day":         {Name: "a", From: "25:00", Until: "01:00", Settings: set("max_hops", "1")},
		"SURT prefixes":                  {Name: "a", Prefixes: []string{"example.org"}, Settings: set("max_hops", "1")},
		"a regular expression":           {Name: "a", Regex: "(", Settings: set("max_hops", "1")},
		"an IANA time zone":              {Name: "a", Zone: "Moon/Tycho", Settings: set("max_hops", "1")},
		`"friday", allowed: mon to sun`:  {Name: "a", Days: []string{"friday"}, Settings: set("max_hops", "1")},
		"from and until, or neither":     {Name: "a", From: "10:00", Settings: set("max_hops", "1")},
		"min_delay: given 10m0s":         {Name: "a", Settings: set("min_delay", `"10m"`)},
		"is for a time":                  {Name: "a", From: "22:00", Until: "06:00", Settings: set("queue_name", `"q"`)},
		"queue_name cannot":              {Name: "a", Days: []string{"fri"}, Settings: set("queue_name", `"q"`)},
		"queue_by holds for the whole":   {Name: "a", From: "22:00", Until: "06:00", Settings: set("queue_by", `"ip"`)},
		`extractors: given "flash", all`: {Name: "a", Settings: set("extractors", `["flash"]`)},
	} {
		s := DefaultSettings()
		s.Sheets = []Sheet{sheet}
		if err := s.Validate(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("sheet %+v: %v, want %q", sheet, err, want)
		}
	}
}

func TestChange(t *testing.T) {
	s := DefaultSettings()
	changed, err := s.Change(set("min_delay", `"1s"`, "workers", "3"))
	if err != nil || changed.Workers != 3 || changed.MinDelay != Duration(time.Second) || s.Workers == 3 {
		t.Fatalf("%+v, %v", changed, err)
	}
	for _, wrong := range []map[string]json.RawMessage{set("warc_bytes", "5000"), set("nothing", "1"), set("workers", "0")} {
		if _, err := s.Change(wrong); !errors.Is(err, ErrInvalid) {
			t.Errorf("change %s: %v", wrong, err)
		}
	}
}

// What is not live is not changed by way of a sheet: sheets that set such stay, others may come, go and change.
func TestChangeOfSheets(t *testing.T) {
	queue := Sheet{Name: "one server", Prefixes: []string{"http://(org,"}, Settings: set("queue_name", `"q"`, "min_delay", `"4s"`)}
	other := Sheet{Name: "other", Prefixes: []string{"http://(com,"}, Settings: set("max_hops", "1")}
	vary := func(change func(*Sheet)) Sheet {
		s := queue
		s.Settings = set("queue_name", ` "q"`, "min_delay", `"5s"`)
		change(&s)
		return s
	}
	for _, tt := range []struct {
		name          string
		before, after []Sheet
		refused       string
	}{
		{"a new one", nil, []Sheet{queue}, "sheets: one server"},
		{"taken away", []Sheet{queue}, []Sheet{other}, "sheets: one server"},
		{"another value", []Sheet{queue}, []Sheet{vary(func(s *Sheet) { s.Settings["queue_name"] = json.RawMessage(`"r"`) })}, "sheets: one server"},
		{"elsewhere", []Sheet{queue}, []Sheet{vary(func(s *Sheet) { s.Prefixes = nil })}, "sheets: one server"},
		{"for a time", []Sheet{queue}, []Sheet{vary(func(s *Sheet) { s.From, s.Until = "10:00", "11:00" })}, "is for a time"},
		{"other settings of it", []Sheet{queue}, []Sheet{vary(func(*Sheet) {})}, ""},
		{"another beside it", []Sheet{queue}, []Sheet{other, queue}, ""},
		{"no more of the others", []Sheet{other, queue}, []Sheet{queue}, ""},
	} {
		s := DefaultSettings()
		s.Sheets = tt.before
		value, err := json.Marshal(tt.after)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Change(set("sheets", string(value)))
		if tt.refused == "" && err != nil || tt.refused != "" && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tt.refused)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.refused)
		}
	}
}

// The name that robots.txt speaks to us by.
func TestRobotsAgent(t *testing.T) {
	for _, tt := range []struct{ agent, name, want string }{
		{DefaultSettings().UserAgent, "", "holdfast"},
		{"Mozilla/5.0 (compatible; heritrix/3.4.0 +http://archive.example/)", "", "heritrix"},
		{"Mozilla/5.0 (compatible; Some_Bot; +{contact})", "", "Some_Bot"},
		{"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Nice-Bot/2.1; +http://x.test/) Chrome/140.0 Safari/537.36", "", "Nice-Bot"},
		{"MyBot/1.0 (+http://x.test/)", "", "MyBot"},
		{"MyBot", "", "MyBot"},
		{"bot2go/1.0", "", "bot"}, // what stands in a robots.txt is cut there, too
		{"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "", "holdfast"},
		{"2bot/1.0", "", "holdfast"},
		{"MyBot/1.0", "their-archive", "their-archive"},
	} {
		s := DefaultSettings()
		s.UserAgent, s.RobotsName = tt.agent, tt.name
		if got := s.RobotsAgent(); got != tt.want || s.Validate() != nil {
			t.Errorf("%s, %q: %s, want %s; %v", tt.agent, tt.name, got, tt.want, s.Validate())
		}
	}
	for _, wrong := range []string{"a b", "bot/1.0", "bot2", "é", "*"} {
		s := DefaultSettings()
		s.RobotsName = wrong
		if err := s.Validate(); !errors.Is(err, ErrInvalid) {
			t.Errorf("robots_name %q: %v", wrong, err)
		}
	}
}

func TestPatchOfACommandLine(t *testing.T) {
	patch, err := ParsePatch([]string{"max_hops=3", "min_delay=250ms", "traps=.*calendar.*", `headers=["Accept-Language: da","X-A: b"]`, "cookies=false", "user_agent=x 1", "operator=7"})
	if err != nil {
		t.Fatal(err)
	}
	s := DefaultSettings()
	if err := s.Lay(patch); err != nil {
		t.Fatal(err)
	}
	if s.MaxHops != 3 || s.MinDelay != Duration(250*time.Millisecond) || len(s.Traps) != 1 || len(s.Headers) != 2 || s.Cookies || s.UserAgent != "x 1" || s.Operator != "7" {
		t.Errorf("%+v", s)
	}
	for _, wrong := range []string{"max_hops", "max_hop=1", "max_hops=many"} {
		patch, err := ParsePatch([]string{wrong})
		if err == nil {
			err = s.Lay(patch)
		}
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
