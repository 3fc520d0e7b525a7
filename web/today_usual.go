package web

import (
	"slices"
	"time"

	"holdfast/alert"
	"holdfast/api/wire"
)

// What is usual is told from the days before on which something came in, from three at least.
const (
	usualDays = 6
	leastDays = 3
)

// usualDay is what a day usually brings: the medians of days on which something came in.
type usualDay struct {
	Days    int   `json:"days"`
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
	Differs bool  `json:"differs"` // this day brought under half or over three times of one of them
}

// compare tells what the days before brought, if all jobs of these days were looked at. A day without jobs differs only
// if all days before had some: else it may be one on which nothing is due.
func (e *ended) compare(p wire.Page[wire.Job], since time.Time) {
	if p.Next != "" {
		return
	}
	var objects, bytes [usualDays]int64
	var some [usualDays]bool
	for _, j := range p.Items {
		if before := since.Sub(j.Ended); before > 0 && before <= usualDays*yesterday {
			day := (before - 1) / yesterday
			objects[day] += j.Stats.Objects
			bytes[day] += j.Stats.Bytes
			some[day] = true
		}
	}
	var allObjects, allBytes []int64
	for day, is := range some {
		if is {
			allObjects, allBytes = append(allObjects, objects[day]), append(allBytes, bytes[day])
		}
	}
	if len(allObjects) < leastDays {
		return
	}
	u := &usualDay{Days: len(allObjects), Objects: median(allObjects), Bytes: median(allBytes)}
	u.Differs = (e.Jobs > 0 || u.Days == usualDays) && (differs(e.Objects, u.Objects) || differs(e.Bytes, u.Bytes))
	e.Usual = u
}

func median(all []int64) int64 {
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// differs reports whether a figure is under half or over three times of the usual one.
func differs(is, usual int64) bool {
	return float64(is)*2 < float64(usual) || float64(is) > float64(usual)*3
}

// Unusual counts the runs of harvests that differ from what is usual, by the alerts about them.
func (p *todayPage) Unusual() (n int) {
	runs := map[string]bool{}
	if p.Alerts == nil {
		return 0
	}
	for _, a := range p.Alerts.Items {
		switch alert.Kind(a.Kind) {
		case alert.RunUnusual, alert.RunLimited, alert.RunSilent:
			runs[a.Subject] = true
		}
	}
	return len(runs)
}

// MoreUnusual reports whether there are more of them.
func (p *todayPage) MoreUnusual() bool {
	return p.Alerts != nil && slices.ContainsFunc(p.Alerts.Items, func(a wire.Alert) bool {
		return a.Kind == string(alert.MoreRunsUnusual)
	})
}
