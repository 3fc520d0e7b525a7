package harvest

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// window is a Window, ready for use.
type window struct {
	days        []string
	zone        *time.Location
	from, until int // minutes of the day; both 0: all day
}

// compile makes a window ready; wrong makes the error about one of its fields.
func (w Window) compile(wrong func(what, given, allowed string) error) (out window, err error) {
	out = window{days: w.Days, zone: time.UTC}
	if w.Zone != "" {
		if out.zone, err = time.LoadLocation(w.Zone); err != nil {
			return out, wrong("zone", strconv.Quote(w.Zone), "an IANA time zone, as Europe/Copenhagen")
		}
	}
	for _, d := range w.Days {
		if !slices.Contains([]string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}, d) {
			return out, wrong("days", strconv.Quote(d), "mon to sun")
		}
	}
	if (w.From == "") != (w.Until == "") {
		return out, wrong("from", strconv.Quote(w.From), "from and until, or neither")
	}
	for _, at := range []struct {
		name, text string
		into       *int
	}{{"from", w.From, &out.from}, {"until", w.Until, &out.until}} {
		if at.text == "" {
			continue
		}
		t, err := time.Parse("15:04", at.text)
		if err != nil {
			return out, wrong(at.name, strconv.Quote(at.text), "a time of day, as 22:00")
		}
		*at.into = t.Hour()*60 + t.Minute()
	}
	return out, nil
}

// timed reports whether the window is open at some times only.
func (w *window) timed() bool { return len(w.days) > 0 || w.from != w.until }

// open reports whether the window is open at a time.
func (w *window) open(now time.Time) bool {
	if !w.timed() {
		return true
	}
	now = now.In(w.zone)
	minute := now.Hour()*60 + now.Minute()
	if w.from > w.until && minute < w.until {
		now = now.AddDate(0, 0, -1) // the night belongs to the day on which it began
	}
	if len(w.days) > 0 && !slices.Contains(w.days, strings.ToLower(now.Weekday().String()[:3])) {
		return false
	}
	switch {
	case w.from < w.until:
		return minute >= w.from && minute < w.until
	case w.from > w.until:
		return minute >= w.from || minute < w.until
	}
	return true
}

// Windows are the times at which a job crawls. They do not change.
type Windows struct{ all []window }

// NewWindows makes the setting windows ready.
func NewWindows(given []Window) (Windows, error) {
	var out Windows
	for i, one := range given {
		w, err := one.compile(func(what, given, allowed string) error {
			return invalid("windows["+strconv.Itoa(i)+"]: "+what, given, allowed)
		})
		if err != nil {
			return Windows{}, err
		}
		out.all = append(out.all, w)
	}
	return out, nil
}

// Open reports whether one of the windows is open at a time, or there are none.
func (w Windows) Open(now time.Time) bool {
	return len(w.all) == 0 || slices.ContainsFunc(w.all, func(one window) bool { return one.open(now) })
}
