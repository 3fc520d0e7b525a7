package words

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// format is how a language writes numbers, sizes, dates and times.
type format struct {
	Decimal    string   `toml:"decimal"`     // before the fraction
	Group      string   `toml:"group"`       // between thousands
	GroupLeast int      `toml:"group-least"` // digits that must stand before the first group
	Units      []string `toml:"units"`       // of bytes, thousands of them, …
	Size       string   `toml:"size"`        // {number} {unit}
	Months     []string `toml:"months"`
	Weekdays   []string `toml:"weekdays"` // Monday first
	Letters    []string `toml:"letters"`  // heads of a calendar's columns, Monday first
	Date       string   `toml:"date"`     // {day} {month} {year}
	First      string   `toml:"first"`    // how the first day of a month is written, if not as the others
	Clock      string   `toml:"clock"`    // {hour} {minute}
	Seconds    string   `toml:"seconds"`  // {hour} {minute} {second}
	Moment     string   `toml:"moment"`   // {date} {clock}
	Recent     string   `toml:"recent"`   // {clock} {ago}
}

// patterns are the fields with parameters, and which these are.
func (f *format) patterns() []struct {
	name, text string
	params     []string
} {
	return []struct {
		name, text string
		params     []string
	}{
		{"size", f.Size, []string{"number", "unit"}},
		{"date", f.Date, []string{"day", "month", "year"}},
		{"clock", f.Clock, []string{"hour", "minute"}},
		{"seconds", f.Seconds, []string{"hour", "minute", "second"}},
		{"moment", f.Moment, []string{"clock", "date"}},
		{"recent", f.Recent, []string{"ago", "clock"}},
	}
}

// check returns what is wrong with what is given.
func (f *format) check() error {
	for _, p := range f.patterns() {
		parts, err := split(p.text)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if p.text != "" && !slices.Equal(names(parts), p.params) {
			return fmt.Errorf("%s has the parameters %v, want %v", p.name, names(parts), p.params)
		}
	}
	for _, l := range []struct {
		name string
		have []string
		want int
	}{{"months", f.Months, 12}, {"weekdays", f.Weekdays, 7}, {"letters", f.Letters, 7}, {"units", f.Units, 6}} {
		if len(l.have) != 0 && len(l.have) != l.want {
			return fmt.Errorf("%s: %d of them, want %d", l.name, len(l.have), l.want)
		}
	}
	if f.GroupLeast < 0 {
		return errors.New("group-least: want 1 or more")
	}
	return nil
}

// under returns the format with what over gives laid over it.
func (f format) under(over format) format {
	for _, field := range []struct{ to, from *string }{{&f.Decimal, &over.Decimal}, {&f.Group, &over.Group},
		{&f.Size, &over.Size}, {&f.Date, &over.Date}, {&f.First, &over.First}, {&f.Clock, &over.Clock},
		{&f.Seconds, &over.Seconds}, {&f.Moment, &over.Moment}, {&f.Recent, &over.Recent}} {
		if *field.from != "" {
			*field.to = *field.from
		}
	}
	for _, field := range []struct{ to, from *[]string }{{&f.Units, &over.Units}, {&f.Months, &over.Months},
		{&f.Weekdays, &over.Weekdays}, {&f.Letters, &over.Letters}} {
		if len(*field.from) > 0 {
			*field.to = *field.from
		}
	}
	if over.GroupLeast > 0 {
		f.GroupLeast = over.GroupLeast
	}
	return f
}

// lacks returns the names of the fields that are not given. first may be left out.
func (f *format) lacks() []string {
	var lacks []string
	for _, field := range []struct {
		name  string
		given bool
	}{{"decimal", f.Decimal != ""}, {"group", f.Group != ""}, {"group-least", f.GroupLeast > 0},
		{"units", len(f.Units) > 0}, {"size", f.Size != ""}, {"months", len(f.Months) > 0},
		{"weekdays", len(f.Weekdays) > 0}, {"letters", len(f.Letters) > 0}, {"date", f.Date != ""},
		{"clock", f.Clock != ""}, {"seconds", f.Seconds != ""}, {"moment", f.Moment != ""},
		{"recent", f.Recent != ""}} {
		if !field.given {
			lacks = append(lacks, "format: "+field.name)
		}
	}
	return lacks
}

// fill puts values into a pattern; names and values alternate. What stands in a value is no parameter.
func fill(pattern string, values ...string) string {
	var b strings.Builder
	for {
		plain, rest, _ := strings.Cut(pattern, "{")
		b.WriteString(plain)
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return b.String()
		}
		for i := 0; i+1 < len(values); i += 2 {
			if values[i] == name {
				b.WriteString(values[i+1])
			}
		}
		pattern = after
	}
}

// Number writes a whole number: 41 832.
func (l *Language) Number(n int64) string {
	digits, sign := strconv.FormatInt(n, 10), ""
	if n < 0 {
		digits, sign = digits[1:], "−"
	}
	if len(digits) < 3+max(1, l.format.GroupLeast) {
		return sign + digits
	}
	var b strings.Builder
	b.WriteString(sign)
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteString(l.format.Group)
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}

// Tenths writes a number with one digit of a fraction: 41.2.
func (l *Language) Tenths(n float64) string {
	tenths := int64(math.Round(math.Abs(n) * 10))
	number := l.Number(tenths/10) + l.format.Decimal + strconv.FormatInt(tenths%10, 10)
	if n < 0 && tenths > 0 {
		return "−" + number
	}
	return number
}

// Size writes a number of bytes, with one digit of a fraction beyond the first thousand: 3.1 GB.
func (l *Language) Size(n int64) string {
	unit, whole, tenth := 0, n, int64(-1)
	for size := int64(1000); unit+1 < len(l.format.Units) && whole > 999; size *= 1000 {
		unit++
		whole, tenth = n/size, n%size/(size/10)
		if n%size%(size/10) >= size/20 { // rounded
			if tenth++; tenth == 10 {
				whole, tenth = whole+1, 0
			}
		}
	}
	number := l.Number(whole)
	if tenth >= 0 {
		number += l.format.Decimal + strconv.FormatInt(tenth, 10)
	}
	return fill(l.format.Size, "number", number, "unit", l.format.Units[unit])
}

// Month returns the name of a month.
func (l *Language) Month(m time.Month) string { return l.format.Months[m-1] }

// Weekday is a column of a calendar.
type Weekday struct{ Name, Letter string }

// Weekdays returns the days of a week, Monday first.
func (l *Language) Weekdays() []Weekday {
	days := make([]Weekday, 7)
	for i := range days {
		days[i] = Weekday{l.format.Weekdays[i], l.format.Letters[i]}
	}
	return days
}

// Date writes a day, in the time's own zone: 23 November 2026.
func (l *Language) Date(t time.Time) string {
	day := strconv.Itoa(t.Day())
	if t.Day() == 1 && l.format.First != "" {
		day = l.format.First
	}
	return fill(l.format.Date, "day", day, "month", l.Month(t.Month()), "year", fmt.Sprintf("%04d", t.Year()))
}

// Clock writes the time of day: 02:14.
func (l *Language) Clock(t time.Time) string {
	return fill(l.format.Clock, "hour", t.Format("15"), "minute", t.Format("04"))
}

// Seconds writes the time of day with seconds: 02:14:05.
func (l *Language) Seconds(t time.Time) string {
	return fill(l.format.Seconds, "hour", t.Format("15"), "minute", t.Format("04"), "second", t.Format("05"))
}

// Moment writes day and time of day, with seconds.
func (l *Language) Moment(t time.Time) string {
	return fill(l.format.Moment, "date", l.Date(t), "clock", l.Seconds(t))
}

// Minute writes day and time of day, without seconds.
func (l *Language) Minute(t time.Time) string {
	return fill(l.format.Moment, "date", l.Date(t), "clock", l.Clock(t))
}

// Recent writes a time as seen from now: "02:14, 6 h ago"; from the day before on, with the date.
func (l *Language) Recent(t, now time.Time) string {
	ago, clock := now.Sub(t), l.Clock(t)
	const day = 24 * time.Hour
	if ago < 0 || ago >= 31*day {
		return l.Moment(t)
	}
	key, n := "ago.days", int64(ago/day)
	switch {
	case ago < time.Minute:
		key, n = "ago.seconds", int64(ago/time.Second)
	case ago < time.Hour:
		key, n = "ago.minutes", int64(ago/time.Minute)
	case ago < day:
		key, n = "ago.hours", int64(ago/time.Hour)
	default:
		clock = l.Minute(t)
	}
	return fill(l.format.Recent, "clock", clock, "ago", l.Text(key, countName, n))
}
