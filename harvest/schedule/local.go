package schedule

import "time"

const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
)

// moment is a time that dates are counted from: the instant in Unix seconds, and what a clock in the zone shows.
type moment struct {
	at     int64
	day    int64 // since 1 January 1970
	minute int   // of the day
}

// momentOf returns the first whole minute at or after an instant.
func momentOf(t time.Time, zone *time.Location) moment {
	at := t.Unix()
	if t.Nanosecond() > 0 {
		at++
	}
	at = -floor(-at, minute) * minute
	wall := wallOf(at, zone)
	return moment{at: at, day: floor(wall, day), minute: int(modulo(wall, day) / minute)}
}

// wallOf is what a clock in the zone shows at an instant, in seconds since 1 January 1970 by that clock.
func wallOf(at int64, zone *time.Location) int64 {
	_, offset := time.Unix(at, 0).In(zone).Zone()
	return at + int64(offset)
}

// instant returns when a clock in the zone shows a time of a day. A time that is skipped counts as the end of the gap;
// of a time that comes twice, the first counts.
func instant(onDay int64, atMinute int, zone *time.Location) int64 {
	wall := onDay*day + int64(atMinute)*minute
	// Of the two offsets around a change, Date takes either one.
	t := time.Date(1970, 1, 1+int(onDay), 0, atMinute, 0, 0, zone)
	_, offset := t.Zone()
	begin, end := t.ZoneBounds()
	at := t.Unix()
	switch shown := at + int64(offset); {
	case shown > wall:
		return begin.Unix()
	case shown < wall:
		return end.Unix()
	case begin.IsZero():
		return at
	}
	_, before := begin.Add(-time.Second).Zone()
	if earlier := at - int64(before-offset); before > offset && earlier < begin.Unix() {
		return earlier
	}
	return at
}

// monthOf returns the month of a day, counted from January of the year 0, and the day of that month.
func monthOf(onDay int64) (month int64, of int) {
	y, m, d := time.Unix(onDay*day, 0).UTC().Date()
	return int64(y)*12 + int64(m) - 1, d
}

// dayOf returns the day of a month; if the month is shorter, its last day.
func dayOf(month int64, of int) int64 {
	first := firstOf(month)
	return min(first+int64(of)-1, firstOf(month+1)-1)
}

func firstOf(month int64) int64 {
	return time.Date(int(floor(month, 12)), time.Month(modulo(month, 12)+1), 1, 0, 0, 0, 0, time.UTC).Unix() / day
}

// weekdayOf returns the weekday of a day, Monday being 0.
func weekdayOf(onDay int64) int { return int(modulo(onDay+3, 7)) } // 1 January 1970 was a Thursday

// floor divides, rounding down.
func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// modulo is what floor leaves.
func modulo(a, b int64) int64 { return a - floor(a, b)*b }
