package revisit

import "math"

// Class is a class of belief: URIs whose rates, shapes, importance and new links are within a factor of 1.65. All URIs
// of a host in one class have the same wait, whatever the price, so they are due in the order of their last visits: a
// plain queue keeps them.
type Class uint32

// What a class is made of: grades, moved so that none is under 0. A rate or links of 0 mean none.
const (
	rateBase, rateBits   = 21, 6
	alphaBase, alphaBits = 7, 4
	linksBase, linksBits = 13, 5
	importanceBase       = 8
)

// tariff is how long URIs of a class wait at a price.
type tariff struct {
	settings Settings
	capture  float64          // weight of a version
	waits    map[uint64]int64 // calculated waits, by class and price
}

// weigh sets the weight of a version, so that freshness and completeness weigh alike; rate is that of what can be
// captured a day, for a URI.
func (t *tariff) weigh(rate float64) {
	weight := (1 - t.settings.Freshness) / math.Min(math.Max(rate, 1e-6), 1e6)
	if weight = math.Exp(math.Round(math.Log(weight)*10) / 10); weight != t.capture {
		t.capture = weight
		clear(t.waits)
	}
}

// classOf is the class of a worth with a grade of importance.
func (t *tariff) classOf(w worth, importance int) Class {
	place := func(of float64, base, most int) Class {
		if !(of > 0) {
			return 0
		}
		return Class(min(max(grade(of)+base, 1), most))
	}
	c := Class(importance + importanceBase)
	c = c<<linksBits | place(w.links/t.settings.NewPage, linksBase, 1<<linksBits-1)
	c = c<<alphaBits | place(w.alpha, alphaBase, 1<<alphaBits-1)
	if w.beta > 0 {
		return c<<rateBits | place(w.alpha/w.beta, rateBase, 1<<rateBits-1)
	}
	return c << rateBits
}

func degree(place Class, base int) float64 {
	if place == 0 {
		return 0
	}
	return math.Exp(float64(int(place)-base) * step)
}

// Rate is the rate that stands for the class, in changes a day; 0 for a class of feeds or sitemaps.
func (c Class) Rate() float64 { return degree(c&(1<<rateBits-1), rateBase) }

func (c Class) alpha() float64 { return degree(c>>rateBits&(1<<alphaBits-1), alphaBase) }

// Links is how many new links a day stand for the class.
func (c Class) Links() float64 {
	return degree(c>>(rateBits+alphaBits)&(1<<linksBits-1), linksBase)
}

func (c Class) importance() int {
	return int(c>>(rateBits+alphaBits+linksBits)) - importanceBase
}

// plain is the class without its importance, which only moves its price.
func (c Class) plain() Class { return c & (1<<(rateBits+alphaBits+linksBits) - 1) }

// worth is what stands for the class.
func (t *tariff) worthOfClass(c Class) worth {
	w := t.weighed(c.alpha(), 0, c.Links())
	if rate := c.Rate(); rate > 0 {
		w = t.weighed(w.alpha, w.alpha/rate, c.Links())
	}
	return w
}

// weighed is a worth with the weights of the settings.
func (t *tariff) weighed(alpha, beta, links float64) worth {
	w := worth{alpha: alpha, beta: beta, fresh: t.settings.Freshness, links: links * t.settings.NewPage,
		closed: t.settings.Without.Averaging}
	if t.settings.Without.Links {
		w.links = 0
	}
	if beta > 0 {
		w.capture = t.capture * math.Min(1, t.settings.PerDay*beta/alpha)
	}
	return w
}

// fine is how many steps of price there are to a factor of e.
const fine = 50

// wait is how long URIs of a class wait at a price, in milliseconds.
func (t *tariff) wait(c Class, price int) int64 {
	price = min(max(price-int(step*fine)*c.importance(), lowest), highest)
	key := uint64(c.plain())<<16 | uint64(price-lowest)
	if wait, ok := t.waits[key]; ok {
		return wait
	}
	if len(t.waits) > 200_000 {
		clear(t.waits)
	}
	low, high := inDays(t.settings.MinWait), inDays(t.settings.MaxWait)
	wait := int64(solve(t.worthOfClass(c).at, math.Exp(float64(price)/fine), low, high) * msPerDay)
	t.waits[key] = wait
	return wait
}

// The bounds of the price, in steps.
const lowest, highest = -1500, 1500
