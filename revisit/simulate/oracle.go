package simulate

import (
	"container/heap"
	"math"
	"sort"
)

// oracle knows each page's rate at each moment, learns of births at once, and plans with the price rule.
type oracle struct {
	quiet
	timetable
	fresh  float64 // weight of freshness; the rest is that of captures
	budget float64
	price  float64
	weight float64 // of a capture
	last   []float64
	born   []int // articles that are not born yet, by birth
	known  []bool
	firsts float64   // first visits in this hour
	slopes []float64 // of places, ascending
}

func newOracle(w *World, fresh, budget float64) *oracle {
	o := &oracle{timetable: timetable{world: w}, fresh: fresh, budget: budget, price: 1,
		last: make([]float64, len(w.items)), known: make([]bool, len(w.items))}
	for i := range places {
		o.slopes = append(o.slopes, slope(place(i)))
	}
	for id := range w.items {
		if o.last[id] = -1; w.items[id].born > 0 {
			o.born = append(o.born, id)
		}
	}
	sort.Slice(o.born, func(i, j int) bool { return w.items[o.born[i]].born < w.items[o.born[j]].born })
	return o
}

func (o *oracle) found(id int, t float64) {
	if o.known[id] || !o.world.items[id].counts() {
		return
	}
	o.known[id] = true
	o.put(id, t, t)
}

func (o *oracle) visited(id int, t float64, v visit) {
	if v.first {
		o.firsts++
	}
	o.last[id] = t
	o.put(id, t, t+o.wait(id, t, o.price))
}

func (o *oracle) next(t float64, free func(int) bool) (int, bool) {
	for len(o.born) > 0 && o.world.items[o.born[0]].born <= t {
		o.found(o.born[0], t)
		o.born = o.born[1:]
	}
	return o.take(t, free, true)
}

// rateAt is the true rate of an item.
func (it *item) rateAt(t float64) float64 {
	if it.decay == 0 {
		return it.rate
	}
	return it.rate + it.extra*math.Exp(-(t-it.born)/it.decay)
}

// settled reports whether the rate has come to its end, but for a fiftieth.
func (it *item) settled(t float64) bool { return it.decay == 0 || it.rateAt(t) < 1.02*it.rate }

const most = 28.0 // days

// wait is how long an item waits that was visited at a time.
func (o *oracle) wait(id int, t, price float64) float64 {
	it := &o.world.items[id]
	if it.settled(t) {
		return o.waitAt(it.rate, price)
	}
	low, high := 1.0/1440, most
	for range 15 {
		wait := math.Sqrt(low * high)
		from := (t - it.born) / it.decay
		sum := it.rate*wait + it.extra*it.decay*math.Exp(-from)*-math.Expm1(-wait/it.decay)
		if o.value(sum/wait)*slope(sum) >= price {
			high = wait
		} else {
			low = wait
		}
	}
	return low
}

func (o *oracle) value(rate float64) float64 { return o.fresh/rate + (1-o.fresh)*o.weight }

// places are how many times of a mean lifetime the oracle looks at, from a millionth to 60.
const places = 2000

func place(i int) float64 { return 1e-6 * math.Exp(float64(i)/places*math.Log(60e6)) }

// slope is 1-(1+x)exp(-x).
func slope(x float64) float64 { return -math.Expm1(-x) - x*math.Exp(-x) }

func (o *oracle) waitAt(rate, price float64) float64 {
	if rate <= 0 {
		return most
	}
	y := price / o.value(rate)
	if y >= 1 {
		return most
	}
	return math.Min(math.Max(place(sort.SearchFloat64s(o.slopes, y))/rate, 1.0/1440), most)
}

// grid is how many rates a factor of e is divided into when the price is made; rates lie between exp(-10) and exp(10).
const grid = 20

// hour makes the price again, of the rates at the time, and the times of all that wait.
func (o *oracle) hour(t float64) {
	var counts [20*grid + 1]float64 // how many URIs have which rate; the first of them none
	n, sum := 0.0, 0.0
	for id := range o.world.items {
		if !o.known[id] {
			continue
		}
		rate, at := o.world.items[id].rateAt(t), 0
		if rate > 0 {
			at = min(max(int(math.Round((math.Log(rate)+10)*grid)), 1), len(counts)-1)
		}
		counts[at]++
		n++
		sum += rate
	}
	if n == 0 {
		return
	}
	o.weight = 1 / math.Min(sum/n, o.budget/n)
	want := math.Max(o.budget-24*o.firsts, o.budget/20)
	o.firsts = 0
	low, high := 1e-9, 1e6
	for range 40 {
		price := math.Sqrt(low * high)
		asked := counts[0] / most
		for i, count := range counts[1:] {
			if count > 0 {
				asked += count / o.waitAt(math.Exp(float64(i+1)/grid-10), price)
			}
		}
		if asked > want {
			low = price
		} else {
			high = price
		}
	}
	o.price = math.Sqrt(low * high)
	for h := range o.hosts {
		q := o.hosts[h]
		for i := range q {
			if last := o.last[q[i].id]; last >= 0 {
				q[i].due = last + o.wait(q[i].id, last, o.price)
			}
		}
		heap.Init(&o.hosts[h])
	}
}
