package simulate

import (
	"math"
	"math/rand/v2"
	"sort"

	"holdfast/revisit"
)

// epoch is the start of a world, in milliseconds since 1970: Monday, 1 January 2024.
const epoch = 1_704_067_200_000

func millis(t float64) int64 { return epoch + int64(t*86_400_000) }

// Score is what a policy reached in a world.
type Score struct {
	Freshness    float64 // share of pages whose newest archived version is current, over time
	Completeness float64 // share of distinct versions captured
	Found        float64 // share of the fetches that found a change
	Delay        float64 // hours from a version to its capture
	NewPage      float64 // hours from a new page to its first capture
	Used         float64 // share of the budget
	Tickers      float64 // share of the fetches that went to pages that differ at each visit
	Proven       float64 // share of the fetches that went to those that adaptive had proven to
	Articles     float64 // share of the fetches that went to articles
	Hints        float64 // share of the fetches that a feed or a sitemap caused
}

// policy decides what is fetched. Times are in days.
type policy interface {
	// found reports a URI that is new to the crawl.
	found(id int, t float64)
	// next returns what goes at a time, of the hosts that are free, if anything does.
	next(t float64, free func(host int) bool) (id int, ok bool)
	// visited tells what a fetch found.
	visited(id int, t float64, seen visit)
	// hint reports a newer date for a known URI.
	hint(id int, date, t float64)
	// hour is called each hour.
	hour(t float64)
}

// visit is what a fetch found.
type visit struct {
	first       bool
	bytes, text bool    // whether the bytes differ, and whether the normalised text does
	similarity  float64 // of the text to the one before
	modified    float64 // in days; negative for none
	links       int
	hints       int
}

// course is a crawl of a world.
type course struct {
	*rand.Rand
	world  *World
	policy policy
	items  []progress
	free   [hostCount]float64
	score  tally
}

// progress is what the crawl has of an item.
type progress struct {
	known, visited bool
	version        int     // the last that was seen
	freshTo        float64 // up to where it was counted as fresh
	listed         int     // of a hub: how many of its articles were seen; of a feed: of its entries
	listedAt       float64 // of a sitemap: when it was read
}

type tally struct {
	fetches, changed, tickers, proven, articles, hinted float64
	slots, went                                         float64
	fresh                                               float64
	captured, delays                                    float64
	seen                                                map[int]float64
}

// current is the number of an item's version at a time.
func (it *item) current(t float64) int {
	return sort.Search(len(it.changes), func(i int) bool { return it.changes[i] > t })
}

// steady is a budget that stays what it is.
func steady(budget float64) func(float64) float64 { return func(float64) float64 { return budget } }

// run crawls the world with a budget of requests a day at each time; with none, the crawl sleeps for an hour.
func run(w *World, p policy, budgetAt func(t float64) float64, seed uint64) Score {
	c := &course{Rand: rand.New(rand.NewPCG(seed, 41)), world: w, policy: p, items: make([]progress, len(w.items))}
	c.score.seen = map[int]float64{}
	for id := range w.start {
		c.items[id].known = true
		p.found(id, 0)
	}
	var bucket revisit.Bucket
	for t, hour := 0.0, 0; t < length; {
		budget := budgetAt(t)
		if budget <= 0 {
			t += 1.0 / 24
			hour = int(t*24) + 1
			continue
		}
		for ; float64(hour) <= t*24; hour++ {
			p.hour(float64(hour) / 24)
		}
		c.slot(&bucket, t, budget)
		t += 1 / budget
	}
	return c.finish()
}

// slot lets requests go that the budget has at a time.
func (c *course) slot(bucket *revisit.Bucket, t, budget float64) {
	if t >= scoredFrom {
		c.score.slots++
	}
	for bucket.Wait(millis(t), budget) == 0 {
		id, ok := c.policy.next(t, func(host int) bool { return c.free[host] <= t })
		if !ok {
			break
		}
		bucket.Take(millis(t), budget)
		if a, ok := c.policy.(*adaptive); ok && t >= scoredFrom {
			c.score.hinted += float64(btoi(a.uris[id].state.Called()))
			c.score.proven += float64(btoi(a.uris[id].state.Ticker()))
		}
		c.fetch(id, t)
	}
}

// fetch visits an item.
func (c *course) fetch(id int, t float64) {
	it, at := &c.world.items[id], &c.items[id]
	seconds := 0.15 * math.Exp(0.6*c.NormFloat64())
	switch it.form {
	case image:
		seconds *= 2
	case sitemap:
		seconds = 0.8
	}
	c.free[it.host] = t + (seconds+math.Min(math.Max(5*seconds, 2), 5))/86400
	seen := c.look(id, t)
	scored := t >= scoredFrom
	if scored {
		c.score.fetches++
		c.score.went++
		c.score.tickers += float64(btoi(it.noise))
		c.score.articles += float64(btoi(it.form == article))
	}
	if version := it.current(t); !at.visited || version != at.version {
		if scored {
			c.score.changed++
		}
		c.capture(id, t, version)
		at.version = version
	}
	at.visited = true
	c.freshen(id, t)
	c.policy.visited(id, t, seen)
}

// look is what the fetch shows, links and hints among it.
func (c *course) look(id int, t float64) visit {
	it, at := &c.world.items[id], &c.items[id]
	version := it.current(t)
	real := at.visited && version != at.version
	seen := visit{first: !at.visited, bytes: real, text: real, modified: -1, similarity: 0.2 + 0.78*c.Float64()}
	if it.noise && at.visited {
		seen.bytes, seen.text = true, real || !it.removable
		if !real {
			seen.similarity = 0.98 + 0.019*c.Float64()
		}
	}
	switch it.stamp {
	case rightStamp:
		if seen.modified = it.born; version > 0 {
			seen.modified = it.changes[version-1]
		}
		if seen.modified <= 0 { // before the world began
			seen.modified = -1
		}
	case nowStamp:
		seen.modified = t
	}
	switch it.form {
	case hub:
		for ; at.listed < len(it.lists) && c.world.items[it.lists[at.listed]].born <= t; at.listed++ {
			seen.links += c.find(it.lists[at.listed], t)
		}
	case feed:
		now := sort.Search(len(it.entries), func(i int) bool { return it.entries[i].at > t })
		for i := max(at.listed, now-20); i < now; i++ {
			c.entry(&seen, it.entries[i].item, it.entries[i].at, t)
		}
		at.listed = now
	case sitemap:
		made := math.Floor(t/it.remade) * it.remade
		for _, of := range it.covers {
			if !c.items[of].visited {
				continue
			}
			if it.says == nowStamp {
				c.entry(&seen, of, made, t)
			} else if n := sort.SearchFloat64s(c.world.items[of].announced, made); n > 0 {
				if date := c.world.items[of].announced[n-1]; date > at.listedAt {
					c.entry(&seen, of, date, t)
				}
			}
		}
		at.listedAt = made
	}
	return seen
}

// find tells the policy of an item, unless it is known.
func (c *course) find(id int, t float64) int {
	if c.items[id].known {
		return 0
	}
	c.items[id].known = true
	c.policy.found(id, t)
	return 1
}

func (c *course) entry(seen *visit, id int, date, t float64) {
	if c.find(id, t) == 1 {
		seen.links++
	} else if c.items[id].visited {
		seen.hints++
		c.policy.hint(id, date, t)
	}
}

func (it *item) counts() bool { return it.form != feed && it.form != sitemap }

// capture counts a version that is archived for the first time.
func (c *course) capture(id int, t float64, version int) {
	it := &c.world.items[id]
	if !c.items[id].visited && it.form == article && it.born >= scoredFrom {
		c.score.seen[id] = t - it.born
	}
	made := it.born
	if version > 0 {
		made = it.changes[version-1]
	}
	if it.counts() && made >= scoredFrom {
		c.score.captured++
		c.score.delays += t - made
	}
}

// freshen counts the time from now on in which the archive is up to date.
func (c *course) freshen(id int, t float64) {
	it, at := &c.world.items[id], &c.items[id]
	end := length
	if version := it.current(t); version < len(it.changes) {
		end = it.changes[version]
	}
	from := math.Max(math.Max(t, at.freshTo), scoredFrom)
	if it.counts() && end > from {
		c.score.fresh += end - from
	}
	at.freshTo = math.Max(at.freshTo, end)
}

func (c *course) finish() Score {
	s := &c.score
	there, versions, born, waited := 0.0, 0.0, 0.0, 0.0
	for id := range c.world.items {
		it := &c.world.items[id]
		if !it.counts() {
			continue
		}
		there += length - math.Max(it.born, scoredFrom)
		versions += float64(len(it.changes) - sort.SearchFloat64s(it.changes, scoredFrom))
		if it.born < scoredFrom {
			continue
		}
		versions++
		if it.born < length-2 {
			born++
			if delay, ok := s.seen[id]; ok {
				waited += delay
			} else {
				waited += length - it.born
			}
		}
	}
	return Score{Freshness: s.fresh / there, Completeness: s.captured / versions, Found: s.changed / s.fetches,
		Delay: 24 * s.delays / math.Max(s.captured, 1), NewPage: 24 * waited / math.Max(born, 1),
		Used: s.went / s.slots, Tickers: s.tickers / s.fetches, Proven: s.proven / s.fetches,
		Articles: s.articles / s.fetches, Hints: s.hinted / s.fetches}
}
