package schedule

import "time"

// frequency is a Frequency that was checked.
type frequency struct {
	unit    Unit
	every   int64
	minute  int // -1: not fixed
	at      int // minute of the day; -1: not fixed
	weekday int // Monday is 0; -1: not fixed
	day     int // of the month; 0: not fixed
}

// series is the dates of a frequency, in order and counted from 0. The date after the same number of units is known
// without those between. Two dates are the same instant only where a zone skipped a whole day.
type series struct {
	zone  *time.Location
	unit  Unit
	step  int64 // seconds, days or months
	first int64 // of minutes, hours and once: the first date
	day   int64 // of days and weeks: the day of the first date
	month int64 // of months: the month of the first date
	of    int   // the day of the month
	at    int   // minute of the day
}

// from begins the dates of a frequency at the first one that is not before start.
func (f frequency) from(start moment, zone *time.Location) series {
	s := series{zone: zone, unit: f.unit, step: f.every, first: start.at, day: start.day, at: start.minute}
	if f.at >= 0 {
		s.at = f.at
	}
	switch f.unit {
	case Minutes:
		s.step *= minute
	case Hours:
		s.step *= hour
		s.first = f.fixedMinute(start.at, zone)
	case Days:
		for instant(s.day, s.at, zone) < start.at {
			s.day++
		}
	case Weeks:
		s.step *= 7
		if f.weekday >= 0 {
			s.day += modulo(int64(f.weekday-weekdayOf(s.day)), 7)
		}
		for instant(s.day, s.at, zone) < start.at {
			s.day += 7
		}
	case Months:
		s.month, s.of = monthOf(start.day)
		if f.day > 0 {
			s.of = f.day
		}
		for instant(dayOf(s.month, s.of), s.at, zone) < start.at {
			s.month++
		}
	}
	return s
}

// fixedMinute is the first instant at or after another at which clocks show the frequency's minute, if it has one.
func (f frequency) fixedMinute(at int64, zone *time.Location) int64 {
	for f.minute >= 0 {
		missing := modulo(int64(f.minute)-modulo(wallOf(at, zone), hour)/minute, 60)
		if missing == 0 {
			break
		}
		next := at + missing*minute
		if modulo(wallOf(next, zone), hour)/minute == int64(f.minute) {
			_, change := time.Unix(at, 0).In(zone).ZoneBounds()
			if change.IsZero() || change.Unix() > next {
				return next
			}
		}
		at += minute // the clocks change by part of an hour
	}
	return at
}

// date is the date of that number.
func (s *series) date(n int64) int64 {
	switch s.unit {
	case Days, Weeks:
		return instant(s.day+n*s.step, s.at, s.zone)
	case Months:
		return instant(dayOf(s.month+n*s.step, s.of), s.at, s.zone)
	}
	return s.first + n*s.step
}

// after returns the number of the first date after an instant, which is also how many dates there are until then, and
// that date; it is never where there is none.
func (s *series) after(t int64) (n, date int64) {
	switch s.unit {
	case Once:
		if t < s.first {
			return 0, s.first
		}
		return 1, never
	case Minutes, Hours:
		if t >= s.first {
			n = (t-s.first)/s.step + 1
		}
		return n, s.date(n)
	case Days, Weeks:
		n = (floor(wallOf(t, s.zone), day)-s.day)/s.step - 1
	case Months:
		month, _ := monthOf(floor(wallOf(t, s.zone), day))
		n = (month-s.month)/s.step - 1
	}
	n = max(n, 0) // at most two too small
	for date = s.date(n); date <= t; date = s.date(n) {
		n++
	}
	return n, date
}
