// Package simulate crawls worlds that do not exist, in virtual time, with the policies of revisit and with oracles, and
// scores what each of them would have archived.
package simulate

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Kind is a kind of world.
type Kind string

const (
	// Mixed is the population that the policy was made for.
	Mixed Kind = "mixed"
	// Kept is Mixed with articles that keep their rate.
	Kept Kind = "kept"
	// Poisson has no hubs, feeds, sitemaps and office hours, and all its pages change by chance alone.
	Poisson Kind = "poisson"
)

const (
	hostCount  = 40
	startPages = 2000
	length     = 45.0 // days
	scoredFrom = 15.0
)

// form is what an item is.
type form uint8

const (
	page form = iota
	image
	hub
	article
	feed
	sitemap
)

// how a page answers with Last-Modified.
type stamp uint8

const (
	noStamp stamp = iota
	rightStamp
	nowStamp
)

// item is a URI of a world.
type item struct {
	form    form
	host    int
	born    float64
	changes []float64 // times, ascending
	stamp   stamp
	// rate at an age, for oracles: base, and what decays with the age
	rate, extra, decay float64

	noise     bool      // its bytes differ at each visit
	removable bool      // and a normalised text does not
	lists     []int     // of a hub: articles in the order of their births
	announced []float64 // of a page: what its sitemap says, ascending
	entries   []entry   // of a feed, by time
	covers    []int     // of a sitemap: its pages
	remade    float64   // of a sitemap: days between two versions
	says      stamp     // of a sitemap: nowStamp, if it says that all changed now
}

type entry struct {
	at   float64
	item int
}

// World is a set of sites, with all their changes.
type World struct {
	items []item
	start int // how many are known at the start
}

// maker draws a world.
type maker struct {
	*rand.Rand
	kind   Kind
	items  []item
	office [hostCount]bool
}

// between draws log-uniformly.
func (m *maker) between(low, high float64) float64 {
	return low * math.Exp(m.Float64()*math.Log(high/low))
}

// Make draws the world of a seed. The same seed makes the same world.
func Make(kind Kind, seed uint64) *World {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 14)), kind: kind}
	for host := range hostCount {
		m.office[host] = kind != Poisson && host%5 < 2
	}
	for host, pages := range m.sizes() {
		for range pages {
			m.page(host)
		}
	}
	news := make([][]int, hostCount)
	if kind != Poisson {
		for host := range hostCount {
			news[host] = m.hubs(host)
		}
	}
	w := &World{}
	if kind != Poisson {
		m.feedsAndSitemaps(news)
	}
	// what is known at the start comes first, so that nothing else has to know what is
	order := make([]int, 0, len(m.items))
	for i := range m.items {
		if m.items[i].born <= 0 {
			order = append(order, i)
		}
	}
	w.start = len(order)
	for i := range m.items {
		if m.items[i].born > 0 {
			order = append(order, i)
		}
	}
	place := make([]int, len(order))
	for to, from := range order {
		place[from] = to
	}
	w.items = make([]item, len(order))
	for from, it := range m.items {
		it.lists, it.covers = moved(it.lists, place), moved(it.covers, place)
		for i := range it.entries {
			it.entries[i].item = place[it.entries[i].item]
		}
		w.items[place[from]] = it
	}
	return w
}

func moved(list, place []int) []int {
	for i := range list {
		list[i] = place[list[i]]
	}
	return list
}

// sizes draws how many pages each host has.
func (m *maker) sizes() []int {
	draws, sum := make([]float64, hostCount), 0.0
	for i := range draws {
		draws[i] = math.Exp(1.1 * m.NormFloat64())
		sum += draws[i]
	}
	sizes, left, largest := make([]int, hostCount), startPages, 0
	for i, d := range draws {
		sizes[i] = max(int(d/sum*startPages), 5)
		left -= sizes[i]
		if sizes[i] > sizes[largest] {
			largest = i
		}
	}
	sizes[largest] += left
	return sizes
}

// poisson draws times with a rate.
func (m *maker) poisson(from, rate float64) (times []float64) {
	if rate <= 0 {
		return nil
	}
	for t := from + m.ExpFloat64()/rate; t < length; t += m.ExpFloat64() / rate {
		times = append(times, t)
	}
	return times
}

// bursts draws times of which each brings three quarters of another one, soon after it.
func (m *maker) bursts(rate, decay float64) (times []float64) {
	todo := m.poisson(-2, rate/4)
	for len(todo) > 0 {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if t >= 0 {
			times = append(times, t)
		}
		for limit, p := math.Exp(-0.75), m.Float64(); p > limit; p *= m.Float64() {
			if child := t + m.ExpFloat64()*decay; child < length {
				todo = append(todo, child)
			}
		}
	}
	slices.Sort(times)
	return times
}

const officeShare = 50.0 / 168

// atWork reports whether a time is within office hours; day 0 is a Monday.
func atWork(t float64) bool {
	day := math.Floor(t)
	hour := (t - day) * 24
	return math.Mod(day, 7) < 5 && hour >= 8 && hour < 18
}

func thinned(times []float64) []float64 {
	return slices.DeleteFunc(times, func(t float64) bool { return !atWork(t) })
}

// often is by how much more often a page of a host has to change, before its changes are thinned to office hours.
func (m *maker) often(host int) float64 {
	if m.office[host] {
		return 1 / officeShare
	}
	return 1
}

// add finishes a page of a host: office hours, which keep its mean rate, and which date it answers with.
func (m *maker) add(it item, thin bool) int {
	if thin && m.office[it.host] {
		it.changes = thinned(it.changes)
	}
	switch p := m.Float64(); {
	case it.noise || it.form == feed || it.form == sitemap:
	case p < 0.55:
		it.stamp = rightStamp
	case p < 0.65:
		it.stamp = nowStamp
	}
	m.items = append(m.items, it)
	return len(m.items) - 1
}

// page draws one of the pages that are there at the start.
func (m *maker) page(host int) {
	it, often, thin := item{host: host}, m.often(host), true
	switch p := m.Float64(); {
	case p < 0.30:
		it.rate = 1 / (152.2 * math.Pow(m.ExpFloat64()+1e-3, 1/1.4))
		it.changes = m.poisson(0, it.rate*often)
	case p < 0.55:
		it.rate = m.between(1.0/30, 1)
		it.changes = m.poisson(0, it.rate*often)
	case p < 0.63:
		it.rate = m.between(1, 72)
		it.changes = m.poisson(0, it.rate*often)
	case p < 0.75:
		it.rate = m.between(1.0/20, 4)
		if decay := m.between(0.25, 6) / 24; m.kind == Poisson {
			it.changes = m.poisson(0, it.rate*often)
		} else {
			it.changes = m.bursts(it.rate*often, decay)
		}
	case p < 0.80:
		it.rate = m.between(1.0/7, 24)
		if it.changes = m.poisson(0, it.rate); m.kind != Poisson {
			it.changes, thin = thinned(m.poisson(0, it.rate/officeShare)), false
		}
	case p < 0.94:
		if m.Float64() < 0.6 {
			it.form = image
		}
	default:
		it.rate = m.between(1.0/30, 1)
		it.changes = m.poisson(0, it.rate*often)
		it.noise, it.removable = true, m.kind == Poisson || m.Float64() < 0.6
	}
	m.add(it, thin)
}

// hubs draws the hubs of a host and, if they show news, its articles, which it returns.
func (m *maker) hubs(host int) (articles []int) {
	second := host%2 == 0
	if host%4 != 3 {
		for range 1 + btoi(second) {
			rate := m.between(1.0/30, 1)
			m.add(item{form: hub, host: host, rate: rate, changes: m.poisson(0, rate*m.often(host))}, true)
		}
		return nil
	}
	second = host%8 == 3
	rate := m.between(0.4, 10)
	births := m.poisson(0, rate)
	for _, born := range births {
		it := item{form: article, host: host, born: born}
		if m.kind == Kept {
			it.rate = m.between(1.0/30, 1)
			it.changes = m.poisson(born, it.rate*m.often(host))
		} else {
			it.rate, it.extra, it.decay = 1.0/200, m.between(0.5, 6), m.between(0.5, 3)
			it.changes = slices.DeleteFunc(m.poisson(born, (it.rate+it.extra)*m.often(host)), func(t float64) bool {
				return m.Float64()*(it.rate+it.extra) > it.rate+it.extra*math.Exp(-(t-born)/it.decay)
			})
		}
		articles = append(articles, m.add(it, true))
	}
	m.add(item{form: hub, host: host, rate: rate, changes: births, lists: slices.Clone(articles)}, false)
	if second {
		of := item{form: hub, host: host, rate: rate / 2}
		for i, born := range births {
			if m.Float64() < 0.5 {
				of.changes, of.lists = append(of.changes, born), append(of.lists, articles[i])
			}
		}
		m.add(of, false)
	}
	return articles
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (m *maker) feedsAndSitemaps(news [][]int) {
	pages := make([][]int, hostCount)
	for i, it := range m.items {
		pages[it.host] = append(pages[it.host], i)
	}
	newsHosts := 0
	for host := range hostCount {
		if articles := news[host]; articles != nil {
			if newsHosts++; newsHosts%5 < 3 {
				m.feed(host, pages[host], articles)
			}
		}
		if host%10 < 3 {
			m.sitemap(host, pages[host], host%40 < 3)
		}
	}
}

func (m *maker) feed(host int, pages, articles []int) {
	it := item{form: feed, host: host}
	for _, a := range articles {
		it.entries = append(it.entries, entry{m.items[a].born, a})
		for _, t := range m.items[a].changes {
			if m.Float64() < 0.9 {
				it.entries = append(it.entries, entry{t, a})
			}
		}
	}
	for _, p := range pages {
		if m.items[p].form != hub {
			continue
		}
		for _, t := range m.items[p].changes {
			it.entries = append(it.entries, entry{t, p})
		}
	}
	slices.SortFunc(it.entries, func(a, b entry) int {
		if a.at != b.at {
			return int(math.Copysign(1, a.at-b.at))
		}
		return a.item - b.item
	})
	for _, e := range it.entries {
		if n := len(it.changes); n == 0 || it.changes[n-1] < e.at {
			it.changes = append(it.changes, e.at)
		}
	}
	m.add(it, false)
}

func (m *maker) sitemap(host int, pages []int, allNow bool) {
	it := item{form: sitemap, host: host, remade: m.between(3, 24) / 24}
	if allNow {
		it.says = nowStamp
	}
	share := 0.6 + 0.35*m.Float64()
	for _, p := range pages {
		of := &m.items[p]
		if of.form != page && of.form != image && of.form != article {
			continue
		}
		it.covers = append(it.covers, p)
		for _, t := range of.changes {
			if m.Float64() < share {
				of.announced = append(of.announced, t)
			}
		}
		for range of.announced {
			if m.Float64() < 0.15/0.85 {
				of.announced = append(of.announced, of.born+m.Float64()*(length-of.born))
			}
		}
		slices.Sort(of.announced)
	}
	for t := it.remade; t < length; t += it.remade {
		it.changes = append(it.changes, t)
	}
	m.add(it, false)
}
