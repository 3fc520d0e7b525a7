package revisit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// StateBytes and ARStateBytes are how long the written forms of a URI's state are.
const (
	StateBytes   = 40
	ARStateBytes = 32
)

// ErrState reports bytes that are no state.
var ErrState = errors.New("not the state of a URI")

// Append writes the state in its fixed form: numbers with the lowest byte first, in the order of the fields.
func (s State) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(s.Alpha))
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(s.Beta))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Last))
	for _, n := range []uint32{s.Found, s.Hinted, s.Visits, s.Versions, math.Float32bits(s.Links)} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return append(b, s.streak, s.trust, s.since, byte(s.flags))
}

// ParseState reads what Append wrote. Numbers that no state has are refused, with ErrState.
func ParseState(b []byte) (State, error) {
	if len(b) != StateBytes {
		return State{}, fmt.Errorf("%w: %d bytes, want %d", ErrState, len(b), StateBytes)
	}
	at := func(i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }
	s := State{Belief: Belief{math.Float32frombits(at(0)), math.Float32frombits(at(4))},
		Last: int64(binary.LittleEndian.Uint64(b[8:])), Found: at(16), Hinted: at(20), Visits: at(24), Versions: at(28),
		Links: math.Float32frombits(at(32)), streak: b[36], trust: b[37], since: b[38], flags: flags(b[39])}
	level := s.trust & 15
	switch {
	case !s.Belief.sound():
		return State{}, fmt.Errorf("%w: a belief of %g and %g", ErrState, s.Alpha, s.Beta)
	case !(s.Links >= 0 && s.Links <= mostLinks):
		return State{}, fmt.Errorf("%w: %g new links a day", ErrState, s.Links)
	case s.Kind() > Sitemap || level >= levels && level != distrusted || s.importance() < -5 || s.importance() > 5:
		return State{}, fmt.Errorf("%w: marks %x", ErrState, b[36:])
	}
	return s, nil
}

// sound reports whether the belief is inside its bounds.
func (b Belief) sound() bool {
	return b.Alpha >= float32(minAlpha) && b.Alpha <= maxAlpha && b.Beta >= float32(minBeta) && b.Beta <= maxBeta
}

// Append writes the state in its fixed form: numbers with the lowest byte first, in the order of the fields.
func (s ARState) Append(b []byte) []byte {
	for _, n := range []int64{s.Wait, s.Due, s.Last} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	b = binary.LittleEndian.AppendUint32(b, s.Visits)
	return binary.LittleEndian.AppendUint32(b, s.Versions)
}

// ParseARState reads what Append wrote. A wait that no state has is refused, with ErrState.
func ParseARState(b []byte) (ARState, error) {
	if len(b) != ARStateBytes {
		return ARState{}, fmt.Errorf("%w: %d bytes, want %d", ErrState, len(b), ARStateBytes)
	}
	at := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[i:])) }
	s := ARState{Wait: at(0), Due: at(8), Last: at(16), Visits: binary.LittleEndian.Uint32(b[24:]),
		Versions: binary.LittleEndian.Uint32(b[28:])}
	if s.Wait < 0 || s.Wait > longest*msPerDay {
		return ARState{}, fmt.Errorf("%w: a wait of %d ms", ErrState, s.Wait)
	}
	return s, nil
}

// Memory is what a crawl has learnt of all its URIs together. With the states of the URIs, and what it has learnt of
// hosts, it is all that a policy has to be given to go on as it was.
type Memory struct {
	Price    int           `json:"price"` // natural logarithm, in fiftieths
	Capture  float64       `json:"capture"`
	Trim     float64       `json:"trim"`
	Firsts   float64       `json:"firsts"`
	Bytes    float64       `json:"bytes"`
	Events   [bins]float64 `json:"events"` // of the profile, as are the next two
	Exposure [bins]float64 `json:"exposure"`
	Rates    [bins]float64 `json:"rates"`
	Learnt   bool          `json:"learnt"`
}

// Memory returns what was learnt.
func (a *Adaptive) Memory() Memory {
	p := &a.profile
	return Memory{a.price, a.capture, a.trim, a.firsts, a.bytes, p.events, p.exposure, p.rates, p.ready}
}

// Remember goes on with what was learnt before. What cannot have been learnt is refused, and nothing is changed.
func (a *Adaptive) Remember(m Memory) error {
	inside := func(of, low, high float64) bool { return of >= low && of <= high }
	ok := m.Price >= lowest && m.Price <= highest && inside(m.Capture, 1e-9, 1e9) && inside(m.Trim, -0.3, 0.5) &&
		inside(m.Firsts, 0, 1e15) && inside(m.Bytes, 0, 1e12)
	for bin := range bins {
		ok = ok && inside(m.Events[bin], 0, 1e15) && inside(m.Exposure[bin], 0, 1e15) && inside(m.Rates[bin], 0, 1e9)
	}
	if !ok {
		return errors.New("what a crawl has learnt of its pages is out of bounds")
	}
	a.price, a.capture, a.trim, a.firsts, a.bytes = m.Price, m.Capture, m.Trim, m.Firsts, m.Bytes
	a.profile = Profile{m.Events, m.Exposure, m.Rates, m.Learnt}
	clear(a.waits)
	return nil
}

// HintMemory is what a crawl has learnt of the feeds and sitemaps of a host.
type HintMemory struct {
	Right     float32 `json:"right,omitempty"`
	Wrong     float32 `json:"wrong,omitempty"`
	Announced float32 `json:"announced,omitempty"`
	Silent    float32 `json:"silent,omitempty"`
	Asked     float32 `json:"asked,omitempty"`
	Granted   float32 `json:"granted,omitempty"`
}

// Memory returns what was learnt.
func (h *Hints) Memory() HintMemory {
	return HintMemory{h.right, h.wrong, h.announced, h.silent, h.asked, h.granted}
}

// Remember goes on with what was learnt before. What cannot have been learnt is refused, and nothing is changed.
func (h *Hints) Remember(m HintMemory) error {
	for _, n := range []float32{m.Right, m.Wrong, m.Announced, m.Silent, m.Asked, m.Granted} {
		if !(n >= 0 && n <= 1000) {
			return fmt.Errorf("what a crawl has learnt of a host's feeds is out of bounds: %g", n)
		}
	}
	h.right, h.wrong, h.announced, h.silent = m.Right, m.Wrong, m.Announced, m.Silent
	h.asked, h.granted = m.Asked, m.Granted
	return nil
}

// Admit counts a URI that was visited before, as when a crawl is opened again, in the place where it belongs.
func (a *Adaptive) Admit(h *Host, at Place) { a.count(h, at.Class, 1) }
