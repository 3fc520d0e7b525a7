// Package schedule says when a harvest repeats: every N minutes, hours, days, weeks or months, or once, in a time
// zone, from a date until another, with other frequencies for some periods (campaigns).
//
// It is pure: the time and the time zones are arguments.
package schedule

import (
	"encoding/json"

	"holdfast/harvest"
)

// Unit is what a frequency counts.
type Unit string

// The units. Minutes and hours are elapsed time; days and longer units are local time.
const (
	Once    Unit = "once"
	Minutes Unit = "minute"
	Hours   Unit = "hour"
	Days    Unit = "day"
	Weeks   Unit = "week"
	Months  Unit = "month"
)

// Frequency says how often. What it does not fix (the minute, the time of day, the day) is that of the date from which
// is counted.
type Frequency struct {
	Every   int    `json:"every,omitempty"`   // number of units between two dates; 0 means 1
	Unit    Unit   `json:"unit"`              // once, minute, hour, day, week or month
	Minute  *int   `json:"minute,omitempty"`  // hours: the minute of the hour at which the first date is, 0 to 59
	At      string `json:"at,omitempty"`      // days, weeks, months: time of day, as 22:00
	Weekday string `json:"weekday,omitempty"` // weeks: mon to sun
	Day     int    `json:"day,omitempty"`     // months: day of the month, 1 to 31; the last day of shorter months
}

// Schedule says on which dates a harvest runs. Dates are counted from the first one: the first date of the frequency at
// or after From, or, without From, after the harvest was activated.
type Schedule struct {
	Frequency
	From      string     `json:"from,omitempty"`      // local date or time, as 2026-01-31 or 2026-01-31T22:00
	Until     string     `json:"until,omitempty"`     // as From; a date counts with its whole day
	Times     int64      `json:"times,omitempty"`     // how many dates there are from the activation on; 0: no limit
	Zone      string     `json:"zone,omitempty"`      // IANA time zone, as Europe/Copenhagen; default UTC
	Campaigns []Campaign `json:"campaigns,omitempty"` // other frequencies for some periods
}

// Campaign is another frequency for a period. In the period, the dates of the schedule's own frequency do not count;
// after it they continue as if there had been no campaign.
type Campaign struct {
	Name string `json:"name,omitempty"`
	Frequency
	From  string `json:"from"`  // as in Schedule
	Until string `json:"until"` // as in Schedule
}

// Parse reads a schedule from JSON; unknown keys are refused. Compile checks what it says.
func Parse(data []byte) (s Schedule, err error) {
	return s, s.UnmarshalJSON(data)
}

// UnmarshalJSON reads a schedule; unknown keys are refused.
func (s *Schedule) UnmarshalJSON(data []byte) error {
	type plain Schedule
	var p plain
	if err := harvest.DecodeStrict(data, "schedule", &p); err != nil {
		return err
	}
	*s = Schedule(p)
	return nil
}

var _ json.Unmarshaler = (*Schedule)(nil)

// Named is a schedule that has a name.
type Named struct {
	Name     string
	Schedule Schedule
}

// Standard are the schedules that come with the system: hourly, daily, weekly and monthly, at the minute, the time and
// the day at which a harvest is activated.
func Standard() []Named {
	return []Named{
		{"hourly", Schedule{Frequency: Frequency{Every: 1, Unit: Hours}}},
		{"daily", Schedule{Frequency: Frequency{Every: 1, Unit: Days}}},
		{"weekly", Schedule{Frequency: Frequency{Every: 1, Unit: Weeks}}},
		{"monthly", Schedule{Frequency: Frequency{Every: 1, Unit: Months}}},
	}
}
