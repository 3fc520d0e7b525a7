package alert

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each kind has a name that reads well, a severity, and a sentence that its parameters fill in wholly.
func TestKinds(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	for kind, parameters := range Kinds() {
		var pairs []string
		for _, p := range parameters {
			pairs = append(pairs, p, "<"+p+">")
		}
		a := New(kind, "<subject>", pairs...)
		if !name.MatchString(string(kind)) || a.Severity != Bad && a.Severity != Look {
			t.Errorf("%s: severity %q", kind, a.Severity)
		}
		if text := a.Text(); text == "" || strings.ContainsAny(text, "{}") {
			t.Errorf("%s: %q", kind, text)
		}
	}
}

var update = flag.Bool("update", false, "write the table of kinds into doc/alerts.md")

// The document lists all kinds.
func TestDocument(t *testing.T) {
	t.Parallel()
	const path, begin = "../doc/alerts.md", "| kind | severity | seen by | text |\n|---|---|---|---|\n"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(content), begin)
	if !found {
		t.Fatalf("%s has no table", path)
	}
	text := head + begin
	for _, kind := range slices.Sorted(maps.Keys(Kinds())) {
		shape, by := shapeOf(kind), "every node"
		if shape.local {
			by = "one node"
		}
		text += fmt.Sprintf("| `%s` | %s | %s | %s |\n", kind, shape.severity, by, strings.ReplaceAll(shape.text, "|", "\\|"))
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != string(content) {
		t.Errorf("%s is not in step: go test ./alert -run Document -update", path)
	}
}

// What somebody puts into a parameter is not taken for another parameter's place.
func TestParametersAreText(t *testing.T) {
	t.Parallel()
	got := New(HarvestDeactivated, "3", "name", "{reason}", "reason", "{name} {subject}").Text()
	if want := "harvest 3 ({reason}) was deactivated because of an error: {name} {subject}"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The time since which something is seen lasts as long as it is seen, whatever its parameters become.
func TestWatch(t *testing.T) {
	t.Parallel()
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	low := func(bytes int) Alert { return New(DiskLow, "/a", "bytes", Number(bytes)) }
	var w Watch
	for _, step := range []struct {
		minute int
		seen   []Alert
		want   []int // minutes
	}{
		{1, []Alert{low(5)}, []int{1}},
		{2, []Alert{low(4), New(NoQuorum, "")}, []int{1, 2}},
		{3, []Alert{New(NoQuorum, ""), New(DiskLow, "/b", "bytes", "1")}, []int{2, 3}},
		{4, []Alert{low(4)}, []int{4}},
		{5, nil, nil},
		{6, []Alert{low(4)}, []int{6}},
	} {
		got := w.See(at(step.minute), step.seen)
		for i, a := range got {
			if !a.Since.Equal(at(step.want[i])) || a.Text() != step.seen[i].Text() {
				t.Errorf("minute %d: %s since %v, want minute %d", step.minute, a.Text(), a.Since, step.want[i])
			}
		}
		if len(got) != len(step.want) {
			t.Errorf("minute %d: %v", step.minute, got)
		}
	}
}

// However many alerts there are, all are told, and a bounded number is remembered.
func TestWatchIsBounded(t *testing.T) {
	t.Parallel()
	many := make([]Alert, watched+100)
	for i := range many {
		many[i] = New(JobHeld, Number(i), "reason", "why")
	}
	var w Watch
	if got := w.See(time.Now(), many); len(got) != len(many) || len(w.since) != watched {
		t.Errorf("%d are told and %d remembered of %d", len(got), len(w.since), len(many))
	}
}

// What several nodes see is told once, what each sees alone by its name, the bad things first.
func TestMerge(t *testing.T) {
	t.Parallel()
	at := func(minute int, a Alert) Alert {
		a.Since = time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)
		return a
	}
	now := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	waits := New(HarvestWaits, "5", "name", "news", "snapshot", "4")
	mine := At("north", []Alert{at(5, waits), at(6, New(DiskLow, "/data", "bytes", "1")), at(7, New(NoQuorum, ""))})
	theirs := From("south", now, []Alert{at(3, waits), at(4, New(DiskLow, "/data", "bytes", "2")),
		{Kind: "of-the-future", Subject: "x", Severity: "awful", Node: "somebody else"}})
	var got []string
	for _, a := range Merge(mine, theirs) {
		got = append(got, fmt.Sprintf("%s %s %s %d %s", a.Severity, a.Node, a.Kind, a.Since.Minute(), a.Subject))
	}
	want := []string{"bad  no-quorum 7 ", "bad south of-the-future 0 x", "bad south disk-low 4 /data",
		"bad north disk-low 6 /data", "look  harvest-waits 5 5"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What another node says is bounded, and cannot pass for what this one reads, for another time, or for more lines.
func TestFromAnotherNode(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	beyond, err := time.Parse(time.RFC3339, "9999-12-31T23:59:59-23:59")
	if err != nil {
		t.Fatal(err)
	}
	forged := New(JobHeld, "5", "reason", "x\x1b[2J\nHealthy.\u202e"+strings.Repeat("y", 5000), "subject", "6")
	forged.Node, forged.Severity, forged.Since = "north", "fine", beyond
	early := New(DiskLow, "/a", "bytes", "1")
	early.Since = time.Time{}.Add(time.Hour)
	many := New(OutboxLate, "", "files", "1")
	for i := range 100 {
		many.Parameters[strings.Repeat("a", i%60+1)+"\n"] = "x"
		many.Parameters[strings.Repeat("b", i%60+1)] = "x"
	}
	got := From("south", now, []Alert{forged, early, many, New(NoQuorum, ""), {Kind: "Healthy.\n"}})
	if len(got) != 3 {
		t.Fatalf("%v", got)
	}
	text := got[0].Text()
	if got[0].Node != "south" || got[0].Severity != Look || !got[0].Since.IsZero() || len(text) > 2*mostText ||
		strings.ContainsAny(text, "\x1b\n\u202e") || !strings.HasPrefix(text, "job 5 waits: x [2J Healthy.") {
		t.Errorf("%+v says %.60q", got[0], text)
	}
	if !got[1].Since.IsZero() || len(got[2].Parameters) > mostValues {
		t.Errorf("%+v", got[1:])
	}
	flood := make([]Alert, 3*mostOfOne)
	for i := range flood {
		flood[i] = New(JobHeld, Number(i), "reason", "why")
	}
	got = From("south", now, flood)
	if last := got[len(got)-1]; len(got) != mostOfOne+1 || last.Kind != MoreAlerts || last.Node != "south" {
		t.Errorf("%d alerts, the last %+v", len(got), last)
	}
}
