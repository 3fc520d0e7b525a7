package schedule

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/harvest"
)

// ErrNever reports a schedule that has no date from now on. It comes with harvest.ErrInvalid.
var ErrNever = errors.New("the schedule never comes due")

// Plan is a schedule that was checked. It is never changed, and safe for concurrent use.
//
// Its methods take the start: when the harvest was activated. Dates before it do not count, and it is the beginning if
// the schedule names none. All dates are whole minutes; a start in between counts as the next minute.
type Plan struct {
	zone      *time.Location
	base      frequency
	from      moment
	fixed     bool  // the schedule says from when
	end       int64 // the first instant that is too late
	times     int64 // 0: no limit
	campaigns []campaign
}

// campaign is the dates of a period, which does not overlap with another one.
type campaign struct {
	series
	begin, end int64 // the end is not in it
	given      Campaign
	place      string
}

// dates is a plan for one harvest.
type dates struct {
	*Plan
	series series
	start  int64
}

func (p *Plan) dates(start time.Time) dates {
	m := momentOf(start, p.zone)
	d := dates{Plan: p, start: m.at}
	if p.fixed {
		m = p.from
	}
	d.series = p.base.from(m, p.zone)
	return d
}

// First returns the first date of a harvest. The error, if there is none, is ErrNever.
func (p *Plan) First(start time.Time) (time.Time, error) {
	at, there := p.Next(start, time.Time{})
	if there {
		return at, nil
	}
	why := ""
	if p.end < endOfTime {
		why = ": it ended at " + p.shown(p.end)
	}
	return at, fmt.Errorf("%w: %w after %s%s", harvest.ErrInvalid, ErrNever, p.shown(start.Unix()), why)
}

// Next returns the first date after an instant, in UTC, and whether there is one.
func (p *Plan) Next(start, after time.Time) (time.Time, bool) {
	d := p.dates(start)
	t := min(max(after.Unix(), d.start-1), endOfTime)
	if p.times > 0 && d.count(t) >= p.times {
		return time.Time{}, false
	}
	next := d.next(t)
	if next >= p.end {
		return time.Time{}, false
	}
	return time.Unix(next, 0).UTC(), true
}

// Count returns how many dates there are from the start until an instant, which is included. It takes no longer for
// many dates than for few.
func (p *Plan) Count(start, until time.Time) int64 {
	d := p.dates(start)
	n := d.count(until.Unix())
	if p.times > 0 {
		return min(n, p.times)
	}
	return n
}

// Due is what follows when a date has come.
type Due struct {
	Skipped int64     // how many further dates were missed until now, for which there is no run
	Next    time.Time // the first date after now
	Ended   bool      // there is none
}

// Due tells what follows a date that has come, and maybe others after it, while nobody looked: one run is made for all.
func (p *Plan) Due(start, date, now time.Time) (due Due) {
	due.Skipped = max(0, p.Count(start, now)-p.Count(start, date))
	next, there := p.Next(start, now)
	due.Next, due.Ended = next, !there
	return due
}

// next returns the first date after an instant, whatever the schedule's end.
func (d *dates) next(t int64) int64 {
	_, best := d.series.after(t)
	for {
		i, found := slices.BinarySearchFunc(d.campaigns, best, func(c campaign, at int64) int {
			switch {
			case c.end <= at:
				return -1
			case c.begin > at:
				return 1
			}
			return 0
		})
		if !found {
			break
		}
		_, best = d.series.after(d.campaigns[i].end - 1)
	}
	for i := range d.campaigns {
		c := &d.campaigns[i]
		if c.end <= t+1 {
			continue
		}
		if _, at := c.after(max(t, c.begin-1)); at < c.end && at < best {
			best = at
		}
	}
	return best
}

// count returns how many dates there are until an instant, which is included.
func (d *dates) count(t int64) int64 {
	t = min(t, d.end-1)
	if t < d.start {
		return 0
	}
	return d.until(t) - d.until(d.start-1)
}

// until counts dates from the first one of the series on.
func (d *dates) until(t int64) int64 {
	n, _ := d.series.after(t)
	for i := range d.campaigns {
		c := &d.campaigns[i]
		if t < c.begin {
			continue
		}
		last := min(t, c.end-1)
		own, _ := c.after(last)
		instead, _ := d.series.after(last)
		before, _ := d.series.after(c.begin - 1)
		n += own - (instead - before)
	}
	return n
}
