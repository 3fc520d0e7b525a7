package frontier

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"holdfast/internal/seed"
)

// modelURI is a URI as the plain model of the queue rules has it.
type modelURI struct {
	URI
	turn   int // order within its priority
	moved  bool
	ready  time.Time // not before
	flying bool
	handle *URI
}

// modelQueue is a queue of the model.
type modelQueue struct {
	uris            map[string]*modelURI
	frozen, retired bool
	spent           int64
	total           int64
	rests           []time.Time
	wake            time.Time
	paced           bool
	valence         int
}

func (q *modelQueue) flying() (n int) {
	for _, u := range q.uris {
		if u.flying {
			n++
		}
	}
	return n
}

// stopped reports whether the queue gives nothing out, whatever the time.
func (q *modelQueue) stopped() bool {
	return q.frozen || q.ended()
}

func (q *modelQueue) ended() bool { return q.retired || q.total > 0 && q.spent >= q.total }

// slot reports whether a slot is free.
func (q *modelQueue) slot(now time.Time) bool {
	used := q.flying()
	for _, r := range q.rests {
		if r.After(now) {
			used++
		}
	}
	valence := q.valence
	if !q.paced {
		valence = 1
	}
	return used < valence && !q.wake.After(now)
}

// first is what the queue has to give next, of those that may come now.
func (q *modelQueue) first(now time.Time) *modelURI {
	var best *modelURI
	for _, u := range q.uris {
		if u.flying || u.ready.After(now) {
			continue
		}
		if best == nil || u.Priority < best.Priority || u.Priority == best.Priority && u.turn < best.turn {
			best = u
		}
	}
	return best
}

// model is the rules without a database, and a frontier beside it.
type model struct {
	t        *testing.T
	rnd      *rand.Rand
	f        *Frontier
	cfg      Config
	now      time.Time
	queues   map[string]*modelQueue
	finished map[string]bool
	turn     int
	flying   []*modelURI
	made     int
}

func (m *model) queue() (string, *modelQueue) {
	name := fmt.Sprintf("h%d", m.rnd.IntN(6))
	return name, m.queues[name]
}

// some returns a URI of the queue, or nil. The same seed picks the same one: a map has no order.
func (m *model) some(q *modelQueue) *modelURI {
	if len(q.uris) == 0 {
		return nil
	}
	urls := slices.Sorted(maps.Keys(q.uris))
	return q.uris[urls[m.rnd.IntN(len(urls))]]
}

func (m *model) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// add adds a new URI, or a known one.
func (m *model) add() {
	name, q := m.queue()
	n := m.made
	if n > 0 && m.rnd.IntN(4) == 0 {
		n = m.rnd.IntN(n)
	}
	u := uri(name, n)
	u.Priority, u.Cost = byte(1+n%3), int64(n%3)
	isNew, err := m.f.Add(u)
	m.must(err)
	if known := q.uris[u.URL] != nil || m.finished[u.URL]; isNew == known {
		m.t.Fatalf("%s is new: %v, known: %v", u.URL, isNew, known)
	}
	if isNew {
		m.made = max(m.made, n+1)
		m.turn++
		q.uris[u.URL] = &modelURI{URI: u, turn: m.turn}
	}
}

// next takes a URI and checks that it may come.
func (m *model) next() {
	u, err := m.f.next(m.now)
	live := false
	for name, q := range m.queues {
		live = live || len(q.uris) > 0 && (!q.ended() || q.frozen) || q.flying() > 0
		if u == nil && !q.stopped() && q.slot(m.now) && q.first(m.now) != nil && int(m.f.index.active) < m.cfg.MaxActive &&
			q.valence == 1 {
			m.t.Fatalf("nothing came, but %s has %s; %+v", name, q.first(m.now).URL, m.f.queues[name])
		}
	}
	if errors.Is(err, ErrEmpty) != !live {
		m.t.Fatalf("error %v, URIs are left: %v", err, live)
	}
	if u == nil {
		return
	}
	q := m.queues[u.Queue]
	got := q.uris[u.URL]
	want := q.first(m.now)
	switch {
	case got == nil:
		m.t.Fatalf("%s came, which is not queued", u.URL)
	case got.flying:
		m.t.Fatalf("%s came twice", u.URL)
	case q.stopped():
		m.t.Fatalf("%s came from a stopped queue %+v", u.URL, q)
	case !q.slot(m.now):
		m.t.Fatalf("%s came while its queue rests: %+v", u.URL, q)
	case got != want && !got.moved:
		m.t.Fatalf("%s came before %s", u.URL, want.URL)
	case u.Tries != got.Tries:
		m.t.Fatalf("%s has %d tries, want %d", u.URL, u.Tries, got.Tries)
	}
	got.flying, got.handle = true, u
	m.flying = append(m.flying, got)
}

// end ends a URI in flight in one of the ways there are.
func (m *model) end() {
	if len(m.flying) == 0 {
		return
	}
	i := m.rnd.IntN(len(m.flying))
	u := m.flying[i]
	m.flying = append(m.flying[:i], m.flying[i+1:]...)
	q := m.queues[u.Queue]
	u.flying = false
	wait := time.Duration(m.rnd.IntN(3)) * time.Second
	rest := func() {
		if wait > 0 {
			q.rests = append(q.rests, m.now.Add(wait))
			q.paced = true
		}
	}
	switch m.rnd.IntN(6) {
	case 0:
		delay, whole := time.Duration(m.rnd.IntN(20))*time.Second, m.rnd.IntN(2) == 0
		m.f.Retry(u.handle, delay, wait, whole)
		u.Tries++
		u.moved = true
		u.ready = time.Time{}
		if whole {
			if at := m.now.Add(delay); at.After(q.wake) {
				q.wake = at
			}
		} else {
			u.ready = m.now.Add(delay)
		}
		q.spent += u.Cost
		rest()
	case 1:
		m.f.Return(u.handle, 0)
		u.moved = true
	default:
		_, err := m.f.Finish(u.handle, Outcome{Status: 200, Wait: wait, Fetched: true}, nil)
		m.must(err)
		q.paced = true
		q.spent += u.Cost
		delete(q.uris, u.URL)
		m.finished[u.URL] = true
		rest()
	}
}

// steer does what an operator may do.
func (m *model) steer() {
	name, q := m.queue()
	filter := QueueFilter{Name: name}
	ctx := m.t.Context()
	var err error
	u := m.some(q)
	switch m.rnd.IntN(9) {
	case 0:
		_, err = m.f.Freeze(ctx, filter)
		q.frozen = true
	case 1, 2:
		_, err = m.f.Unfreeze(ctx, filter)
		q.frozen = false
	case 3:
		_, err = m.f.Retire(ctx, filter)
		q.retired = true
	case 4:
		_, err = m.f.Unretire(ctx, filter)
		q.retired = false
	case 5:
		q.total = q.spent + int64(m.rnd.IntN(20))
		_, err = m.f.Rebudget(ctx, filter, Budgets{Total: &q.total})
	case 6:
		if u == nil {
			return
		}
		err = m.f.Promote(u.URL)
		if !u.flying {
			m.turn++
			u.Priority, u.turn, u.ready, u.moved = min(u.Priority, High), m.turn, time.Time{}, true
		}
	case 7:
		if u == nil {
			return
		}
		if _, err = m.f.Forget(u.URL); u.flying && errors.Is(err, ErrInFlight) {
			return
		}
		delete(q.uris, u.URL)
	case 8:
		if u == nil {
			return
		}
		if err = m.f.Never(u.URL, -5001, nil); u.flying && errors.Is(err, ErrInFlight) {
			return
		}
		delete(q.uris, u.URL)
		m.finished[u.URL] = true
	}
	m.must(err)
}

// reopen closes and opens the frontier: what is in flight is queued again, rests are as they were.
func (m *model) reopen() {
	for _, u := range m.flying {
		m.f.Return(u.handle, 0)
		u.flying, u.moved = false, true
	}
	m.flying = nil
	commit(m.t, m.f)
	m.must(m.f.Close())
	var err error
	m.f, err = Open(m.cfg)
	m.must(err)
	verify(m.t, m.f)
	for _, q := range m.queues {
		q.paced = false
	}
}

// The frontier keeps the rules of a plain model: order, slots and their rests, budgets, states, live operations.
func TestAgainstModel(t *testing.T) {
	t.Parallel()
	first, many := seed.Of(t), uint64(100)
	if testing.Short() {
		many = 6
	}
	for n := first; n != first+many; n++ {
		for _, active := range []int{2, 6} {
			t.Run(fmt.Sprint("seed ", n, ", ", active, " active"), func(t *testing.T) {
				t.Parallel()
				runModel(t, active, n)
			})
		}
	}
}

// Seeds for which waiting queues were left alone, as ones that were not ready any more were counted.
func TestWaitingQueuesAreNotHeldUp(t *testing.T) {
	t.Parallel()
	for _, n := range []uint64{636, 701} {
		t.Run(fmt.Sprint("seed ", n), func(t *testing.T) { runModel(t, 2, n) })
	}
}

// FuzzAgainstModel compares the frontier with its model for random seeds.
func FuzzAgainstModel(f *testing.F) {
	f.Add(uint64(1), false)
	f.Fuzz(func(t *testing.T, n uint64, many bool) {
		active := 2
		if many {
			active = 6
		}
		runModel(t, active, n)
	})
}

// runModel repeats a seed's run exactly.
func runModel(t *testing.T, active int, n uint64) {
	rnd := rand.New(rand.NewPCG(n, 3))
	m := &model{t: t, rnd: rnd, now: time.UnixMilli(1_800_000_000_000), queues: map[string]*modelQueue{}, finished: map[string]bool{}}
	for i := range 6 {
		m.queues[fmt.Sprintf("h%d", i)] = &modelQueue{uris: map[string]*modelURI{}, valence: 1 + i%3}
	}
	m.cfg = Config{Dir: t.TempDir(), MaxActive: active, Now: func() time.Time { return m.now }, Policy: func(queue string, _ func() string) Policy {
		return Policy{SessionBudget: 5, Precedence: int(queue[1]) % 2, Valence: m.queues[queue].valence}
	}}
	var err error
	m.f, err = Open(m.cfg)
	m.must(err)
	for range 600 {
		switch n := rnd.IntN(100); {
		case n < 30:
			m.add()
		case n < 60:
			m.next()
		case n < 85:
			m.end()
		case n < 92:
			m.now = m.now.Add(time.Duration(rnd.IntN(3000)) * time.Millisecond)
		case n < 93:
			m.now = m.now.Add(5 * time.Minute)
		case n < 99:
			m.steer()
		default:
			m.reopen()
		}
		commit(t, m.f)
	}
	m.reopen()
	m.must(m.f.Close())
}
