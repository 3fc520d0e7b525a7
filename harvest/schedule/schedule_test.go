package schedule

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/harvest"
	"holdfast/internal/seed"
)

func compiled(t testing.TB, text string) *Plan {
	t.Helper()
	s, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Compile(s, zones())
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

// Each row shows the dates of a schedule in local time, with the offset from UTC.
func TestDates(t *testing.T) {
	tests := []struct {
		name, schedule, start string
		want                  []string
	}{
		{"hourly at any minute",
			`{"unit":"hour","zone":"Europe/Copenhagen"}`, "2026-01-31T10:17:33Z",
			[]string{"2026-01-31 11:18 +01", "2026-01-31 12:18 +01"}},
		{"hourly at a fixed minute",
			`{"unit":"hour","minute":5}`, "2026-01-31T10:17:33Z",
			[]string{"2026-01-31 11:05 +00", "2026-01-31 12:05 +00"}},
		{"hours are elapsed time over a gap",
			`{"unit":"hour","every":6,"from":"2026-03-28T20:00","zone":"Europe/Copenhagen"}`, "2026-01-01T00:00:00Z",
			[]string{"2026-03-28 20:00 +01", "2026-03-29 03:00 +02", "2026-03-29 09:00 +02"}},
		{"hours are elapsed time over a double hour",
			`{"unit":"hour","from":"2026-10-25T01:30","zone":"Europe/Copenhagen"}`, "2026-01-01T00:00:00Z",
			[]string{"2026-10-25 01:30 +02", "2026-10-25 02:30 +02", "2026-10-25 02:30 +01", "2026-10-25 03:30 +01"}},
		{"days are local time, and a time in the gap is its end",
			`{"unit":"day","at":"02:30","zone":"Europe/Copenhagen"}`, "2026-03-28T00:00:00Z",
			[]string{"2026-03-28 02:30 +01", "2026-03-29 03:00 +02", "2026-03-30 02:30 +02"}},
		{"of a time that comes twice the first counts",
			`{"unit":"day","at":"02:30","zone":"Europe/Copenhagen"}`, "2026-10-24T00:00:00Z",
			[]string{"2026-10-24 02:30 +02", "2026-10-25 02:30 +02", "2026-10-26 02:30 +01"}},
		{"a gap at midnight",
			`{"unit":"day","at":"00:00","zone":"America/Sao_Paulo"}`, "2018-11-03T12:00:00Z",
			[]string{"2018-11-04 01:00 -02", "2018-11-05 00:00 -02"}},
		{"a gap of half an hour",
			`{"unit":"day","at":"02:15","zone":"Australia/Lord_Howe"}`, "2026-10-02T16:00:00Z",
			[]string{"2026-10-04 02:30 +11", "2026-10-05 02:15 +11"}},
		{"a day that a zone skipped",
			`{"unit":"day","at":"10:00","zone":"Pacific/Apia"}`, "2011-12-29T12:00:00Z",
			[]string{"2011-12-29 10:00 -10", "2011-12-31 00:00 +14", "2011-12-31 10:00 +14"}},
		{"the last day of shorter months, without drift",
			`{"unit":"month","from":"2027-12-31T10:00"}`, "2026-01-01T00:00:00Z",
			[]string{"2027-12-31 10:00 +00", "2028-01-31 10:00 +00", "2028-02-29 10:00 +00", "2028-03-31 10:00 +00",
				"2028-04-30 10:00 +00"}},
		{"the 29th of February",
			`{"unit":"month","every":12,"from":"2024-02-29"}`, "2024-01-01T00:00:00Z",
			[]string{"2024-02-29 00:00 +00", "2025-02-28 00:00 +00", "2026-02-28 00:00 +00", "2027-02-28 00:00 +00",
				"2028-02-29 00:00 +00"}},
		{"a fixed day of the month",
			`{"unit":"month","day":30,"at":"22:00"}`, "2026-01-31T00:00:00Z",
			[]string{"2026-02-28 22:00 +00", "2026-03-30 22:00 +00"}},
		{"every second Monday",
			`{"unit":"week","every":2,"weekday":"mon","at":"22:00","from":"2026-01-01"}`, "2026-01-31T00:00:00Z",
			[]string{"2026-02-02 22:00 +00", "2026-02-16 22:00 +00"}},
		{"once", `{"unit":"once","from":"2026-03-29T02:30","zone":"Europe/Copenhagen"}`, "2026-01-01T00:00:00Z",
			[]string{"2026-03-29 03:00 +02"}},
		{"until a date, with its whole day",
			`{"unit":"day","at":"23:59","until":"2026-01-03"}`, "2026-01-02T00:00:00Z",
			[]string{"2026-01-02 23:59 +00", "2026-01-03 23:59 +00"}},
		{"until a minute, which is included",
			`{"unit":"hour","from":"2026-01-02","until":"2026-01-02T01:00"}`, "2026-01-01T00:00:00Z",
			[]string{"2026-01-02 00:00 +00", "2026-01-02 01:00 +00"}},
		{"three times from the activation on",
			`{"unit":"day","from":"2026-01-02","times":3}`, "2026-01-10T00:30:00Z",
			[]string{"2026-01-11 00:00 +00", "2026-01-12 00:00 +00", "2026-01-13 00:00 +00"}},
		{"a campaign takes the place of the frequency and reverts",
			`{"unit":"month","from":"2026-01-15","campaigns":[
				{"unit":"week","weekday":"sun","at":"08:00","from":"2026-02-10","until":"2026-02-25"}]}`, "2026-01-01T00:00:00Z",
			[]string{"2026-01-15 00:00 +00", "2026-02-15 08:00 +00", "2026-02-22 08:00 +00", "2026-03-15 00:00 +00"}},
		{"one campaign follows on another, and the limit counts their dates",
			`{"unit":"day","from":"2026-01-01","times":6,"campaigns":[
				{"unit":"hour","every":12,"from":"2026-01-02","until":"2026-01-02"},
				{"unit":"day","at":"09:00","from":"2026-01-03","until":"2026-01-04"}]}`, "2026-01-01T00:00:00Z",
			[]string{"2026-01-01 00:00 +00", "2026-01-02 00:00 +00", "2026-01-02 12:00 +00", "2026-01-03 09:00 +00",
				"2026-01-04 09:00 +00", "2026-01-05 00:00 +00"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan, start := compiled(t, tt.schedule), at(t, tt.start)
			var got []string
			after := time.Time{}
			for range len(tt.want) + 1 {
				next, there := plan.Next(start, after)
				if !there {
					break
				}
				got = append(got, next.In(plan.zone).Format("2006-01-02 15:04 -07"))
				after = next
			}
			whole := plan.times > 0 || plan.end < endOfTime || plan.base.unit == Once
			if !whole {
				got = got[:len(tt.want)]
			}
			if strings.Join(got, ", ") != strings.Join(tt.want, ", ") {
				t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), strings.Join(tt.want, ", "))
			}
			if first, err := plan.First(start); err != nil || first.In(plan.zone).Format("2006-01-02 15:04 -07") != tt.want[0] {
				t.Errorf("first date %s, %v", first, err)
			}
		})
	}
}

// Of dates that were missed, one is run and the others are counted; that takes no longer for millions of them.
func TestMissedDatesAreCounted(t *testing.T) {
	tests := []struct {
		name, schedule   string
		start, date, now string
		skipped          int64
		next             string // "": ended
	}{
		{"in time", `{"unit":"day","at":"10:00"}`, "2026-01-01T00:00:00Z", "2026-01-05T10:00:00Z", "2026-01-05T10:00:30Z", 0,
			"2026-01-06T10:00:00Z"},
		{"the next has come too", `{"unit":"day","at":"10:00"}`, "2026-01-01T00:00:00Z", "2026-01-05T10:00:00Z", "2026-01-06T10:00:00Z", 1,
			"2026-01-07T10:00:00Z"},
		{"a year of minutes", `{"unit":"minute"}`, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", 365 * 24 * 60,
			"2027-01-01T00:01:00Z"},
		{"it ended meanwhile", `{"unit":"day","at":"10:00","times":3}`, "2026-01-01T00:00:00Z", "2026-01-02T10:00:00Z", "2027-01-01T00:00:00Z", 1, ""},
		{"over a campaign", `{"unit":"day","at":"10:00","campaigns":[{"unit":"hour","from":"2026-01-10","until":"2026-01-10"}]}`,
			"2026-01-01T00:00:00Z", "2026-01-08T10:00:00Z", "2026-01-11T12:00:00Z", 1 + 24 + 1, "2026-01-12T10:00:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			due := compiled(t, tt.schedule).Due(at(t, tt.start), at(t, tt.date), at(t, tt.now))
			next := ""
			if !due.Ended {
				next = due.Next.Format(time.RFC3339)
			}
			if due.Skipped != tt.skipped || next != tt.next {
				t.Errorf("skipped %d, next %s", due.Skipped, next)
			}
		})
	}
}

func TestRefusedSchedules(t *testing.T) {
	tests := []struct{ name, schedule, want string }{
		{"not JSON", `{"unit"`, "schedule"},
		{"unknown key", `{"unit":"day","ad":"10:00"}`, `unknown key "ad", did you mean "at"?`},
		{"unknown key in a campaign", `{"unit":"day","campaigns":[{"unti":"2026-01-01"}]}`, `schedule: campaigns[0]: unknown key "unti", did you mean`},
		{"no unit", `{"every":2}`, `unit: given ""`},
		{"unknown unit", `{"unit":"year"}`, `unit: given "year"`},
		{"negative", `{"unit":"day","every":-1}`, `every: given "-1"`},
		{"more than once", `{"unit":"once","every":2}`, `every: given "2"`},
		{"minute of a day", `{"unit":"day","minute":5}`, `minute: given "5"`},
		{"minute 60", `{"unit":"hour","minute":60}`, `minute: given "60"`},
		{"time of an hour", `{"unit":"hour","at":"10:00"}`, `at: given "10:00"`},
		{"time of day", `{"unit":"day","at":"25:00"}`, `at: given "25:00"`},
		{"weekday of a month", `{"unit":"month","weekday":"mon"}`, `weekday: given "mon"`},
		{"weekday", `{"unit":"week","weekday":"monday"}`, `weekday: given "monday"`},
		{"day 32", `{"unit":"month","day":32}`, `day: given "32"`},
		{"date", `{"unit":"day","from":"2026-02-30"}`, `from: given "2026-02-30"`},
		{"year", `{"unit":"day","from":"1889-02-03"}`, `from: given "1889-02-03"`},
		{"zone", `{"unit":"day","zone":"Europe/Kopenhagen"}`, `zone: given "Europe/Kopenhagen"`},
		{"local zone", `{"unit":"day","zone":"Local"}`, `zone: given "Local"`},
		{"times", `{"unit":"day","times":-2}`, `times: given "-2"`},
		{"ends before it begins", `{"unit":"day","from":"2026-02-03","until":"2026-02-02"}`, `until: given "2026-02-02"`},
		{"never comes due", `{"unit":"month","day":15,"from":"2026-02-20","until":"2026-03-10"}`, "never comes due"},
		{"empty period", `{"unit":"day","campaigns":[{"unit":"day","from":"2026-02-03","until":"2026-02-02"}]}`, `campaigns[0].until: given "2026-02-02"`},
		{"campaign without a date", `{"unit":"day","campaigns":[{"unit":"week","weekday":"sun","from":"2026-02-02","until":"2026-02-05"}]}`,
			"the first is 2026-02-08T00:00"},
		{"campaigns overlap", `{"unit":"day","campaigns":[{"unit":"day","from":"2026-02-02","until":"2026-02-05"},
			{"unit":"day","from":"2026-01-02","until":"2026-02-02"}]}`, `campaigns[0].from: given "2026-02-02"`},
		{"campaign before the schedule", `{"unit":"day","from":"2026-02-03","campaigns":[{"unit":"day","from":"2026-02-02","until":"2026-02-05"}]}`,
			"campaigns[0].from"},
		{"campaign after the schedule", `{"unit":"day","until":"2026-02-03","campaigns":[{"unit":"day","from":"2026-02-02","until":"2026-02-05"}]}`,
			"campaigns[0].until"},
		{"campaign's frequency", `{"unit":"day","campaigns":[{"unit":"day","minute":5,"from":"2026-02-02","until":"2026-02-05"}]}`,
			`campaigns[0].minute: given "5"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Parse([]byte(tt.schedule))
			if err == nil {
				_, err = Compile(s, zones())
			}
			if !errors.Is(err, harvest.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := compiled(t, `{"unit":"day","until":"2026-02-02"}`).First(at(t, "2026-02-03T00:00:00Z")); !errors.Is(err, ErrNever) ||
		!errors.Is(err, harvest.ErrInvalid) || !strings.Contains(err.Error(), "2026-02-03T00:00") {
		t.Errorf("a schedule that is over: %v", err)
	}
}

// What a schedule says is kept in JSON, and the standard schedules are valid.
func TestStandardSchedules(t *testing.T) {
	start := at(t, "2026-01-31T10:17:00Z")
	want := map[string]string{"hourly": "2026-01-31T11:17", "daily": "2026-02-01T10:17", "weekly": "2026-02-07T10:17", "monthly": "2026-02-28T10:17"}
	for _, named := range Standard() {
		text, err := json.Marshal(named.Schedule)
		if err != nil {
			t.Fatal(err)
		}
		plan := compiled(t, string(text))
		if next, there := plan.Next(start, start); !there || next.Format("2006-01-02T15:04") != want[named.Name] {
			t.Errorf("%s: %s, %v", named.Name, next, there)
		}
	}
}

// Every minute of the days on which the clocks change means one instant: what the clock shows, the first time it does,
// or the end of the gap.
func TestEachLocalTimeIsAnInstant(t *testing.T) {
	find := zones()
	for _, tt := range []struct{ zone, day string }{
		{"Europe/Copenhagen", "2026-03-29"}, {"Europe/Copenhagen", "2026-10-25"}, {"Europe/London", "2026-10-25"}, {"Europe/London", "2026-03-29"},
		{"America/Sao_Paulo", "2018-11-04"}, {"America/Sao_Paulo", "2018-02-17"}, {"Australia/Lord_Howe", "2026-04-05"},
		{"Australia/Lord_Howe", "2026-10-04"}, {"Pacific/Apia", "2011-12-30"}, {"Africa/Casablanca", "2026-02-15"}, {"Asia/Pyongyang", "2018-05-04"},
	} {
		zone, err := find(tt.zone)
		if err != nil {
			t.Fatal(err)
		}
		date := at(t, tt.day+"T00:00:00Z").Unix()
		first := map[int64]int64{} // by what the clock shows
		for u := date - 2*day; u < date+3*day; u += minute {
			if shown := wallOf(u, zone); first[shown] == 0 {
				first[shown] = u
			}
		}
		for m := range 24 * 60 {
			shown := date + int64(m)*minute
			for first[shown] == 0 {
				shown += minute
			}
			if got := instant(date/day, m, zone); got != first[shown] {
				t.Errorf("%s %s minute %d: %s, want %s", tt.zone, tt.day, m, time.Unix(got, 0).UTC(), time.Unix(first[shown], 0).UTC())
			}
		}
	}
}

// Next and Count agree with each other wherever they are asked.
func TestCountAgreesWithNext(t *testing.T) {
	r, find := seed.Rand(t), zones()
	all := table(t)
	for range 2000 {
		c := all[r.IntN(len(all))]
		plan, err := Compile(c.Schedule, find)
		if err != nil {
			continue
		}
		after := c.Start.Add(time.Duration(r.Int64N(int64(c.Horizon.Sub(c.Start)))))
		next, there := plan.Next(c.Start, after)
		if !there {
			if far := c.Horizon.AddDate(50, 0, 0); plan.Count(c.Start, far) != plan.Count(c.Start, after) {
				t.Errorf("%+v: no date after %s, but some are counted", c.Schedule, after)
			}
			continue
		}
		have := plan.Count(c.Start, after)
		if before := plan.Count(c.Start, next.Add(-time.Second)); before != have {
			t.Errorf("%+v: %d dates between %s and the next, %s", c.Schedule, before-have, after, next)
		}
		if with := plan.Count(c.Start, next); with != have+1 {
			t.Errorf("%+v: the next date after %s counts %d", c.Schedule, after, with-have)
		}
	}
}

// BenchmarkNext takes the next date of 10 000 schedules.
func BenchmarkNext(b *testing.B) {
	find := zones()
	var plans []*Plan
	var starts []time.Time
	for _, c := range table(b) {
		plan, err := Compile(c.Schedule, find)
		if err != nil {
			continue // it never comes due
		}
		plans, starts = append(plans, plan), append(starts, c.Start)
	}
	now := at(b, "2020-06-01T12:00:00Z")
	b.ReportAllocs()
	for b.Loop() {
		for i, plan := range plans {
			plan.Next(starts[i], now)
		}
	}
}

// BenchmarkCompile reads and checks 10 000 schedules.
func BenchmarkCompile(b *testing.B) {
	find := zones()
	all := table(b)
	for b.Loop() {
		for _, c := range all {
			if _, err := Compile(c.Schedule, find); err != nil && c.Count > 0 {
				b.Fatal(err)
			}
		}
	}
}
