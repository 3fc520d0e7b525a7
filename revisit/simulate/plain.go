package simulate

import (
	"holdfast/revisit"
)

// quiet is the part of a policy that heeds neither hints nor hours.
type quiet struct{}

func (quiet) hint(int, float64, float64) {}
func (quiet) hour(float64)               {}

// uniform visits each URI as often as each other one.
type uniform struct {
	quiet
	timetable
}

func (u *uniform) found(id int, t float64)            { u.put(id, t, t) }
func (u *uniform) visited(id int, t float64, _ visit) { u.put(id, t, t) }
func (u *uniform) next(t float64, free func(int) bool) (int, bool) {
	return u.take(t, free, false)
}

func contentType(s form) string {
	switch s {
	case image:
		return "image/png"
	case feed, sitemap:
		return "application/xml"
	}
	return "text/html"
}

// fixed is the policy fixed.
type fixed struct {
	quiet
	timetable
	policy *revisit.Fixed
}

func (f *fixed) found(id int, t float64) { f.put(id, t, t) }
func (f *fixed) visited(id int, t float64, _ visit) {
	f.put(id, t, t+float64(f.policy.Wait(contentType(f.world.items[id].form)))/86_400_000)
}
func (f *fixed) next(t float64, free func(int) bool) (int, bool) { return f.take(t, free, false) }

// thesis is heritrix-ar.
type thesis struct {
	quiet
	timetable
	policy *revisit.AR
	states []revisit.ARState
}

func (p *thesis) found(id int, t float64) {
	p.states[id] = p.policy.New(millis(t))
	p.put(id, t, t)
}

func (p *thesis) visited(id int, t float64, v visit) {
	change := revisit.Unchanged
	if v.bytes || v.first {
		change = revisit.Changed
	}
	s := &p.states[id]
	*s = p.policy.Visited(*s, revisit.ARVisit{Began: millis(t), Ended: millis(t),
		ContentType: contentType(p.world.items[id].form), Change: change})
	p.put(id, t, float64(s.Due-epoch)/86_400_000)
}

func (p *thesis) next(t float64, free func(int) bool) (int, bool) { return p.take(t, free, false) }
