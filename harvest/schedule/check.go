package schedule

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/harvest"
)

// Zones finds a time zone by its IANA name, as time.LoadLocation does, which reads files where they are not in memory.
type Zones func(name string) (*time.Location, error)

// Limits of what a schedule may say.
const (
	maxEvery     = 10_000
	maxTimes     = 1_000_000_000
	maxCampaigns = 100
)

const (
	never = math.MaxInt64
	// endOfTime is the end of the year 9999: later times have no form in JSON.
	endOfTime = 253402300800 - 2*day
)

// weekdays in order, Monday first.
func weekdays() []string { return []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"} }

// Compile checks a schedule and prepares it. The error names the field, what it says and what it may say, and wraps
// harvest.ErrInvalid. A schedule that says when it begins and has no date at all is refused; of one that does not,
// First tells.
func Compile(s Schedule, zones Zones) (*Plan, error) {
	p := &Plan{zone: time.UTC, end: endOfTime, times: s.Times}
	var err error
	if s.Zone != "" {
		if p.zone, err = zones(s.Zone); err != nil || s.Zone == "Local" {
			return nil, harvest.Refused("zone", s.Zone, "an IANA time zone, as Europe/Copenhagen")
		}
	}
	if s.Times < 0 || s.Times > maxTimes {
		return nil, harvest.Refused("times", strconv.FormatInt(s.Times, 10), fmt.Sprintf("0 to %d", maxTimes))
	}
	if p.base, err = s.Frequency.compile(""); err != nil {
		return nil, err
	}
	if s.From != "" {
		if p.from, _, err = p.read("from", s.From); err != nil {
			return nil, err
		}
		p.fixed = true
	}
	if s.Until != "" {
		if _, p.end, err = p.read("until", s.Until); err != nil {
			return nil, err
		}
		if p.fixed && p.end <= p.from.at {
			return nil, harvest.Refused("until", s.Until, "a date that is not before from ("+s.From+")")
		}
	}
	if err := p.compileCampaigns(s); err != nil {
		return nil, err
	}
	if p.fixed {
		if _, there := p.Next(time.Unix(p.from.at, 0), time.Unix(p.from.at-1, 0)); !there {
			return nil, fmt.Errorf("%w: from: %w: there is no date from %s until %s",
				harvest.ErrInvalid, ErrNever, s.From, s.Until)
		}
	}
	return p, nil
}

func (p *Plan) compileCampaigns(s Schedule) error {
	if len(s.Campaigns) > maxCampaigns {
		return harvest.Refused("campaigns", strconv.Itoa(len(s.Campaigns)), fmt.Sprintf("at most %d", maxCampaigns))
	}
	for i, given := range s.Campaigns {
		c, err := p.compileCampaign(given, fmt.Sprintf("campaigns[%d].", i))
		if err != nil {
			return err
		}
		p.campaigns = append(p.campaigns, c)
	}
	slices.SortStableFunc(p.campaigns, func(a, b campaign) int { return cmp.Compare(a.begin, b.begin) })
	for i := 1; i < len(p.campaigns); i++ {
		if a, b := p.campaigns[i-1], p.campaigns[i]; b.begin < a.end {
			return harvest.Refused(b.place+"from", b.given.From,
				"a time after the end of the campaign before it ("+a.given.Until+")")
		}
	}
	return nil
}

func (p *Plan) compileCampaign(given Campaign, place string) (c campaign, err error) {
	c.given, c.place = given, place
	f, err := given.Frequency.compile(place)
	if err != nil {
		return c, err
	}
	from, _, err := p.read(place+"from", given.From)
	if err != nil {
		return c, err
	}
	if _, c.end, err = p.read(place+"until", given.Until); err != nil {
		return c, err
	}
	c.begin, c.series = from.at, f.from(from, p.zone)
	switch _, first := c.series.after(c.begin - 1); {
	case c.end <= c.begin:
		return c, harvest.Refused(place+"until", given.Until, "a date that is not before from ("+given.From+")")
	case p.fixed && c.begin < p.from.at:
		return c, harvest.Refused(place+"from", given.From, "a time that is not before the beginning of the schedule")
	case c.end > p.end:
		return c, harvest.Refused(place+"until", given.Until, "a time that is not after the end of the schedule")
	case first >= c.end:
		return c, harvest.Refused(place+"until", given.Until,
			"a period with a date of the campaign in it; the first is "+p.shown(first))
	}
	return c, nil
}

// read reads a local date or time: the moment, and the end of what it names, a day or a minute.
func (p *Plan) read(place, text string) (m moment, end int64, err error) {
	form := "2006-01-02T15:04"
	if !strings.Contains(text, "T") {
		form = "2006-01-02"
	}
	t, err := time.Parse(form, text)
	if err != nil || t.Year() < 1990 || t.Year() > 9998 {
		return m, 0, harvest.Refused(place, text,
			"a date, as 2026-01-31, or a time, as 2026-01-31T22:00, from 1990 on")
	}
	m = moment{day: t.Unix() / day, minute: t.Hour()*60 + t.Minute()}
	m.at = instant(m.day, m.minute, p.zone)
	if form == "2006-01-02" {
		return m, instant(m.day+1, 0, p.zone), nil
	}
	return m, m.at + minute, nil
}

// shown is an instant as a schedule writes it.
func (p *Plan) shown(at int64) string {
	return time.Unix(at, 0).In(p.zone).Format("2006-01-02T15:04")
}

// compile checks a frequency; the place is where it stands, with a dot.
func (f Frequency) compile(place string) (c frequency, err error) {
	c = frequency{unit: f.Unit, every: int64(f.Every), minute: -1, at: -1, weekday: -1}
	if c.every == 0 {
		c.every = 1
	}
	units := []Unit{Once, Minutes, Hours, Days, Weeks, Months}
	if !slices.Contains(units, f.Unit) {
		return c, harvest.Refused(place+"unit", string(f.Unit), "once, minute, hour, day, week or month")
	}
	if f.Every < 0 || f.Every > maxEvery || f.Unit == Once && f.Every > 1 {
		return c, harvest.Refused(place+"every", strconv.Itoa(f.Every),
			fmt.Sprintf("1 to %d, and only 1 with once", maxEvery))
	}
	if f.Minute != nil {
		if c.minute = *f.Minute; f.Unit != Hours || c.minute < 0 || c.minute > 59 {
			return c, harvest.Refused(place+"minute", strconv.Itoa(c.minute), "0 to 59, with the unit hour")
		}
	}
	if f.At != "" {
		t, err := time.Parse("15:04", f.At)
		if err != nil || !slices.Contains([]Unit{Days, Weeks, Months}, f.Unit) {
			return c, harvest.Refused(place+"at", f.At, "a time of day, as 22:00, with the units day, week and month")
		}
		c.at = t.Hour()*60 + t.Minute()
	}
	if f.Weekday != "" {
		if c.weekday = slices.Index(weekdays(), f.Weekday); f.Unit != Weeks || c.weekday < 0 {
			return c, harvest.Refused(place+"weekday", f.Weekday, "mon to sun, with the unit week")
		}
	}
	if c.day = f.Day; f.Day != 0 && (f.Unit != Months || f.Day < 1 || f.Day > 31) {
		return c, harvest.Refused(place+"day", strconv.Itoa(f.Day), "1 to 31, with the unit month")
	}
	return c, nil
}
