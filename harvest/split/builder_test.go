package split

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast/harvest"
	"holdfast/internal/seed"
)

// split makes jobs of configurations in any order.
func split(t testing.TB, s Settings, snapshot bool, all []Configuration) (jobs []*Job) {
	t.Helper()
	all = slices.Clone(all)
	slices.SortFunc(all, Compare)
	b := NewBuilder(s, snapshot)
	for _, c := range all {
		done, err := b.Add(c)
		if err != nil {
			t.Fatal(err)
		}
		if jobs = append(jobs, done...); b.inHand > int(s.DomainConfigSubsetSize) {
			t.Fatalf("%d configurations in hand", b.inHand)
		}
	}
	return append(jobs, b.End()...)
}

// Each row has configurations as "domain/name expected", with a template, an overlay and a byte limit where these differ,
// and the jobs that are made of them.
func TestWhatStartsAnotherJob(t *testing.T) {
	small := DefaultSettings()
	small.MaxTotalSize, small.MinAbsoluteSizeDifference, small.MaxRelativeSizeDifference = 100, 10, 5
	counted := small
	counted.FixedDomainCountSnapshot, counted.FixedDomainCountFocused = 2, 3
	fixed := counted
	fixed.Generator = FixedCount
	capped := DefaultSettings()
	capped.DomainConfigSubsetSize = 2
	cappedFixed := capped
	cappedFixed.Generator = FixedCount
	tests := []struct {
		name     string
		settings Settings
		snapshot bool
		all      string
		want     string
	}{
		{"one job", small, true, "a/x 10, b/x 10, c/x 9", "a/x b/x c/x"},
		{"1: domain twice", small, false, "a/x 10, a/y 9, b/x 9, b/y 8", "a/x b/x | a/y b/y"},
		{"2: snapshot", counted, true, "a/x 1, b/x 1, c/x 1", "a/x b/x | c/x"},
		{"2: selective has no such limit", counted, false, "a/x 1, b/x 1, c/x 1, d/x 1", "a/x b/x c/x d/x"},
		{"3: template", small, true, "a/x 1 T, b/x 1, c/x 1 T", "b/x | a/x c/x"},
		{"4: overlay", small, true, "a/x 1 - O, b/x 1, c/x 1 - O", "b/x | a/x c/x"},
		{"5: byte limit", small, true, "a/x 1 - - 5, b/x 1, c/x 1 - - 7", "b/x | c/x | a/x"},
		{"6: total", small, true, "a/x 40, b/x 40, c/x 20, d/x 20", "a/x b/x c/x | d/x"},
		{"6: one that is larger alone", small, true, "a/x 400, b/x 40", "a/x | b/x"},
		{"7: relative difference", small, true, "a/x 50, b/x 10, c/x 9", "a/x b/x | c/x"},
		{"7: 0 counts as 1", small, true, "a/x 11, b/x 0", "a/x | b/x"},
		{"8: absolute difference", small, true, "a/x 9, b/x 0", "a/x b/x"},
		{"fixed count: snapshot", fixed, true, "a/x 500, b/x 1, c/x 1", "a/x b/x | c/x"},
		{"fixed count: selective", fixed, false, "a/x 500, b/x 1, c/x 1, d/x 1", "a/x b/x c/x | d/x"},
		{"fixed count: domain twice", fixed, false, "a/x 1, a/y 1", "a/x | a/y"},
		{"capped", capped, false, "a/x 1, b/x 1, c/x 1", "a/x b/x | c/x"},
		{"capped fixed count", cappedFixed, false, "a/x 1, b/x 1, c/x 1", "a/x b/x | c/x"},
		{"none", small, true, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := shown(split(t, tt.settings, tt.snapshot, parse(t, tt.all))); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func parse(t *testing.T, text string) (all []Configuration) {
	t.Helper()
	for one := range strings.SplitSeq(text, ", ") {
		fields := strings.Fields(one)
		if len(fields) == 0 {
			continue
		}
		fields = append(fields, []string{"", "", "-", "-", "-"}[len(fields):]...)
		var c Configuration
		c.Domain, c.Name, _ = strings.Cut(fields[0], "/")
		if _, err := fmt.Sscan(fields[1], &c.Expected); err != nil {
			t.Fatal(err)
		}
		c.Template, c.Overlay = fields[2], fields[3]
		var limit int64
		if n, _ := fmt.Sscan(fields[4], &limit); n == 1 {
			c.Bytes = harvest.AtMost(limit)
		}
		all = append(all, c)
	}
	return all
}

func shown(jobs []*Job) string {
	var text []string
	for _, job := range jobs {
		var names []string
		for _, c := range job.Configurations {
			names = append(names, c.Domain+"/"+c.Name)
		}
		text = append(text, strings.Join(names, " "))
	}
	return strings.Join(text, " | ")
}

func TestOutOfOrder(t *testing.T) {
	b := NewBuilder(DefaultSettings(), true)
	c := Configuration{Domain: "b", Name: "x", Expected: 5}
	if _, err := b.Add(c); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []Configuration{c, {Domain: "a", Name: "x", Expected: 5}, {Domain: "c", Name: "x", Expected: 6}} {
		if _, err := b.Add(wrong); !errors.Is(err, ErrOrder) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	if jobs := b.End(); shown(jobs) != "b/x" || jobs[0].Expected != 5 {
		t.Errorf("%+v", jobs)
	}
}

// Any configurations are each in exactly one job, every job keeps the conditions, and the jobs are those of a slow and
// simple model.
func TestJobsKeepTheConditions(t *testing.T) {
	r := seed.Rand(t)
	for range 400 {
		s := DefaultSettings()
		s.Generator = []string{Default, FixedCount}[r.IntN(2)]
		s.DomainConfigSubsetSize = 1 + r.Int64N(40)
		s.FixedDomainCountSnapshot, s.FixedDomainCountFocused = r.Int64N(12), r.Int64N(12)
		s.MaxTotalSize, s.MaxRelativeSizeDifference, s.MinAbsoluteSizeDifference = 1+r.Int64N(3000), 1+r.Int64N(9), r.Int64N(50)
		snapshot := r.IntN(2) == 0
		all := random(r, 1+r.IntN(200))
		jobs := split(t, s, snapshot, all)
		var flat []Configuration
		for _, job := range jobs {
			flat = append(flat, job.Configurations...)
			if why := broken(s, snapshot, job); why != "" {
				t.Fatalf("%+v: %s: %s", s, why, shown([]*Job{job}))
			}
		}
		slices.SortFunc(all, Compare)
		slices.SortFunc(flat, Compare)
		if !reflect.DeepEqual(all, flat) {
			t.Fatalf("%d configurations became %d", len(all), len(flat))
		}
		if got, want := shown(jobs), model(s, snapshot, all); got != want {
			t.Fatalf("%+v snapshot %v:\n%s\nmodel:\n%s", s, snapshot, got, want)
		}
	}
}

// random draws configurations, each once.
func random(r *rand.Rand, n int) (all []Configuration) {
	seen := map[string]bool{}
	for range n {
		c := Configuration{Domain: fmt.Sprint("d", r.IntN(n)), Name: fmt.Sprint("c", r.IntN(1+r.IntN(4))),
			Template: []string{"t", "t", "u"}[r.IntN(3)], Overlay: []string{"", "", "{}"}[r.IntN(3)]}
		if r.IntN(3) == 0 {
			c.Bytes = harvest.AtMost(r.Int64N(3))
		}
		c.Expected = []int64{0, 1, r.Int64N(20), r.Int64N(500), r.Int64N(2000)}[r.IntN(5)]
		if id := c.Domain + "/" + c.Name; !seen[id] {
			seen[id] = true
			all = append(all, c)
		}
	}
	return all
}

// broken says which condition a job does not keep.
func broken(s Settings, snapshot bool, job *Job) string {
	domains := map[string]bool{}
	first, total, least, most := job.Configurations[0], int64(0), int64(math.MaxInt64), int64(0)
	for _, c := range job.Configurations {
		switch {
		case domains[c.Domain]:
			return "(1) domain twice"
		case c.Template != first.Template:
			return "(3) template"
		case c.Overlay != first.Overlay:
			return "(4) overlay"
		case c.Bytes != first.Bytes:
			return "(5) byte limit"
		}
		domains[c.Domain] = true
		total, least, most = total+c.Expected, min(least, c.Expected), max(most, c.Expected)
	}
	n := int64(len(job.Configurations))
	fixed := s.Generator == FixedCount
	switch {
	case job.Expected != total:
		return "expected objects"
	case n > s.DomainConfigSubsetSize:
		return "capped"
	case snapshot && s.FixedDomainCountSnapshot > 0 && n > s.FixedDomainCountSnapshot:
		return "(2) snapshot"
	case !snapshot && fixed && s.FixedDomainCountFocused > 0 && n > s.FixedDomainCountFocused:
		return "(2) selective"
	case !fixed && n > 1 && total > s.MaxTotalSize:
		return "(6) total"
	case !fixed && max(most, 1) > s.MaxRelativeSizeDifference*max(least, 1) && most-least >= s.MinAbsoluteSizeDifference:
		return "(7) difference"
	}
	return ""
}

// model makes jobs of sorted configurations by trying: a configuration goes into the first open job with which the conditions
// hold; jobs that it does not fit into for another reason than its domain are closed, as is the first when too many
// configurations or jobs are open.
func model(s Settings, snapshot bool, all []Configuration) string {
	var open, done [][]Configuration
	shut := func(i int) {
		done = append(done, open[i])
		open = slices.Delete(slices.Clone(open), i, i+1)
	}
next:
	for _, c := range all {
		for len(open) > 0 && (open[0][0].Template != c.Template || open[0][0].Overlay != c.Overlay || open[0][0].Bytes != c.Bytes) {
			shut(0)
		}
		held := 0
		for _, job := range open {
			held += len(job)
		}
		for len(open) == mostOpen || held >= int(s.DomainConfigSubsetSize) {
			held -= len(open[0])
			shut(0)
		}
		for i := 0; i < len(open); {
			with := &Job{Configurations: append(slices.Clone(open[i]), c)}
			for _, one := range with.Configurations {
				with.Expected += one.Expected
			}
			switch why := broken(s, snapshot, with); {
			case why == "":
				open[i] = with.Configurations
				continue next
			case strings.HasPrefix(why, "(1)"):
				i++
			default:
				shut(i)
			}
		}
		open = append(open, []Configuration{c})
	}
	for len(open) > 0 {
		shut(0)
	}
	var jobs []*Job
	for _, list := range done {
		jobs = append(jobs, &Job{Configurations: list})
	}
	return shown(jobs)
}

// Keys hold the whole configuration, and sort as configurations do.
func TestKeysSortAsConfigurations(t *testing.T) {
	r := seed.Rand(t)
	text := func() string {
		b := make([]byte, r.IntN(4))
		for i := range b {
			b[i] = []byte{0, 1, 2, 'a', 255}[r.IntN(5)]
		}
		return string(b)
	}
	draw := func() Configuration {
		c := Configuration{Domain: text(), Name: text(), Template: text(), Overlay: text(), Expected: r.Int64N(3)}
		c.Bytes = []harvest.Limit{{}, harvest.AtMost(0), harvest.AtMost(1), harvest.AtMost(math.MaxInt64)}[r.IntN(4)]
		return c
	}
	for range 5000 {
		a, b := draw(), draw()
		x, y := a.AppendKey(nil), b.AppendKey(nil)
		if got, want := bytes.Compare(x, y), Compare(a, b); got != want {
			t.Fatalf("%+v and %+v: keys compare as %d, want %d", a, b, got, want)
		}
		if read, err := ParseKey(x); err != nil || read != a {
			t.Fatalf("%+v was read as %+v (%v)", a, read, err)
		}
		if _, err := ParseKey(x[:r.IntN(len(x))]); !errors.Is(err, ErrKey) {
			t.Fatalf("part of a key: %v", err)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add(Configuration{Domain: "example.org", Name: "defaultconfig", Template: "default@1", Expected: 2500}.AppendKey(nil))
	f.Fuzz(func(t *testing.T, key []byte) {
		if c, err := ParseKey(key); err == nil && !bytes.Equal(c.AppendKey(nil), key) {
			t.Errorf("%x was read as %+v", key, c)
		}
	})
}

func TestSettings(t *testing.T) {
	want := Settings{Generator: Default, DomainConfigSubsetSize: 10_000, FixedDomainCountSnapshot: 10_000, MaxDomainSize: 5000,
		MaxTotalSize: 8_000_000, MaxRelativeSizeDifference: 100, MinAbsoluteSizeDifference: 2000, ErrorFactorPrevResult: 10,
		ErrorFactorBestGuess: 2, ExpectedAverageBytesPerObject: 38_000, MaxWaitingPerChannel: 100}
	if got, err := ParseSettings([]byte(`{}`)); err != nil || got != want || got != DefaultSettings() {
		t.Errorf("%+v, %v", got, err)
	}
	for _, setting := range Reference() {
		if setting.Help == "" || setting.Name == "" {
			t.Errorf("%+v has no help", setting)
		}
	}
	for text, place := range map[string]string{`{"generator":"other"}`: "generator", `{"max_total_size":0}`: "max_total_size",
		`{"max_totalsize":1}`: `did you mean "max_total_size"`, `{"error_factor_best_guess":0}`: "error_factor_best_guess",
		`{"fixed_domain_count_focused":-1}`: "fixed_domain_count_focused"} {
		if _, err := ParseSettings([]byte(text)); !errors.Is(err, harvest.ErrInvalid) || !strings.Contains(err.Error(), place) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// BenchmarkBuilder makes jobs of a million configurations.
func BenchmarkBuilder(b *testing.B) {
	all := make([]Configuration, 1_000_000)
	for i := range all {
		all[i] = Configuration{Domain: fmt.Sprintf("domain-%07d.example", i), Name: "defaultconfig", Template: "default@1",
			Bytes: harvest.AtMost(1e9), Expected: 26_000 - int64(i)/40}
	}
	for b.Loop() {
		builder := NewBuilder(DefaultSettings(), true)
		for _, c := range all {
			if _, err := builder.Add(c); err != nil {
				b.Fatal(err)
			}
		}
		builder.End()
	}
}
