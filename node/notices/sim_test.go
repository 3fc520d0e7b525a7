package notices

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	agreed "holdfast/catalog/notices"
	"holdfast/internal/kv/memory"
	"holdfast/internal/seed"
)

var (
	errNoQuorum = errors.New("no quorum")
	errLost     = errors.New("the answer was lost")
)

// trial is a cluster of three nodes in memory, with receivers, in a bubble of time.
type trial struct {
	t   *testing.T
	rnd *rand.Rand

	agreed  sync.Mutex // of tx and index
	tx      memory.Tx
	index   uint64
	mu      sync.Mutex // of all below; taken while agreed is held, never the other way
	leader  int
	quorum  bool
	stops   bool // nodes stop at random steps
	refuses bool // the receivers accept nothing
	lies    bool // they accept, and say that they do not
	seen    map[string][]alert.Alert
	sent    []delivery
	beats   int
	nodes   [3]*simulated
	running sync.WaitGroup
	ends    bool
}

// delivery is what a receiver has accepted.
type delivery struct {
	address, id, what string
	at                time.Time
	alone             bool
}

// simulated is one of the nodes; it stops and starts again.
type simulated struct {
	*trial
	number int
	name   string
	id     catalog.NodeID
	cancel context.CancelFunc
}

func newTrial(t *testing.T, random uint64) *trial {
	t.Helper()
	tr := &trial{t: t, rnd: rand.New(rand.NewPCG(random, 1)), quorum: true, seen: map[string][]alert.Alert{}}
	key := func(name string) []byte { sum := sha256.Sum256([]byte(name)); return sum[:] }
	for i, name := range []string{"north-1", "south-1", "third-1"} {
		m := catalog.Member{ID: catalog.Fingerprint(key(name)), Name: name, Key: key(name), Replica: "all", Level: agreed.Level}
		if i == 0 {
			tr.does(catalog.Found, catalog.Founding{Cluster: catalog.Cluster{ID: "c", Name: "C", Epoch: 1, Level: 1}, Member: m,
				Collections: []catalog.Collection{{Name: "web"}}, Replicas: []catalog.Replica{{Name: "all", Kind: catalog.Bitarchive, Place: "here"}}})
		} else {
			tr.does(catalog.CreateToken, catalog.JoinToken{ID: name, SecretHash: sha256.Sum256([]byte("s")), Replica: "all", Expires: catalog.At(time.Now().Add(time.Hour))})
			tr.does(catalog.JoinMember, catalog.Joining{Token: name, Secret: []byte("s"), Member: m})
		}
		tr.nodes[i] = &simulated{trial: tr, number: i, name: name, id: m.ID}
	}
	tr.does(catalog.RaiseLevel, catalog.LevelChange{Level: agreed.Level})
	return tr
}

// apply carries out a command as the leader would.
func (tr *trial) apply(kind catalog.Kind, body any, node catalog.NodeID) (catalog.Result, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return catalog.Result{}, err
	}
	tr.agreed.Lock()
	defer tr.agreed.Unlock()
	tr.index++
	data, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, At: catalog.At(time.Now()), Actor: "test", Node: node, Boot: 1, Seq: tr.index, Body: raw})
	if err != nil {
		return catalog.Result{}, err
	}
	return catalog.Apply(&tr.tx, tr.index, data)
}

func (tr *trial) does(kind catalog.Kind, body any) {
	tr.t.Helper()
	if r, err := tr.apply(kind, body, ""); err != nil || r.Refusal != nil {
		tr.t.Fatalf("%s: %v %v", kind, r.Refusal, err)
	}
}

func (tr *trial) View(see func(catalog.View) error) error {
	tr.agreed.Lock()
	defer tr.agreed.Unlock()
	return see(catalog.NewView(&tr.tx))
}

func (tr *trial) set(change func()) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	change()
}

// chance draws whether something happens once in n times.
func (tr *trial) chance(n int) bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.stops && tr.rnd.IntN(n) == 0
}

// stop ends the node, now.
func (s *simulated) stop() {
	tr := s.trial
	tr.mu.Lock()
	cancel := s.cancel
	if tr.leader == s.number {
		tr.leader = (s.number + 1) % len(tr.nodes)
	}
	tr.mu.Unlock()
	cancel()
}

// run starts the node again and again until the trial ends.
func (s *simulated) run() {
	for {
		ctx, cancel := context.WithCancel(context.Background())
		s.set(func() { s.cancel = cancel })
		n := New(Config{Self: s.id, Name: s.name, Agreement: s, Now: time.Now, Zones: time.LoadLocation, Post: s, Log: slog.New(slog.DiscardHandler),
			Secrets: Secrets{Self: s.id, View: s.View}, Alive: func(catalog.NodeID) bool { return true },
			Heartbeat: func(context.Context) error { s.set(func() { s.beats++ }); return nil },
			Quorum:    func() (is bool) { s.set(func() { is = s.quorum }); return is },
			Seen: func(context.Context) (out []alert.Alert, err error) {
				s.set(func() { out = slices.Concat(s.seen[""], alert.At(s.name, s.seen[s.name])) })
				return out, nil
			}})
		if err := n.Run(ctx, nil); !errors.Is(err, context.Canceled) {
			s.t.Errorf("%s ended: %v", s.name, err)
		}
		cancel()
		var pause time.Duration
		ends := false
		s.set(func() { ends, pause = s.ends, time.Duration(s.rnd.IntN(300))*time.Second })
		if ends {
			return
		}
		time.Sleep(pause)
	}
}

func (tr *trial) start() {
	for _, s := range tr.nodes {
		tr.running.Go(s.run)
	}
}

func (tr *trial) end() {
	tr.set(func() { tr.ends, tr.stops = true, false })
	for ended := false; !ended; {
		for _, s := range tr.nodes {
			s.stop()
		}
		done := make(chan struct{})
		go func() { tr.running.Wait(); close(done) }()
		select {
		case <-done:
			ended = true
		case <-time.After(10 * time.Minute):
		}
	}
}

// Propose is where nodes stop: before a command, or after it, so that they do not learn its answer.
func (s *simulated) Propose(ctx context.Context, kind catalog.Kind, body any, _ string) (catalog.Result, error) {
	time.Sleep(5 * time.Millisecond)
	has := false
	s.set(func() { has = s.quorum })
	if err := ctx.Err(); err != nil || !has {
		return catalog.Result{}, errors.Join(err, errNoQuorum)
	}
	if s.chance(8) {
		s.stop()
		return catalog.Result{}, context.Canceled
	}
	result, err := s.apply(kind, body, s.id)
	switch {
	case err != nil:
		s.t.Errorf("%s: %v", kind, err)
	case s.chance(8):
		s.stop()
		return catalog.Result{}, context.Canceled
	case s.chance(8):
		return catalog.Result{}, errLost
	}
	return result, err
}

func (s *simulated) Linear(context.Context) error { return nil }

func (s *simulated) IsLeader() (is bool) {
	s.set(func() { is = s.leader == s.number })
	return is
}

func (s *simulated) Can(*agreed.Address) bool { return true }

// Deliver is the receiver.
func (s *simulated) Deliver(ctx context.Context, l *Letter) error {
	time.Sleep(50 * time.Millisecond)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.chance(8) {
		s.stop()
		return ctx.Err()
	}
	accepts, says := false, true
	s.set(func() {
		if accepts, says = !s.refuses, !s.lies; !accepts {
			return
		}
		d := delivery{address: l.To.Name, id: l.Message.ID, at: time.Now(), alone: l.Message.Alone}
		for _, it := range l.Message.News {
			d.what += map[bool]string{true: "+", false: "-"}[it.Cleared.IsZero()] + string(it.Alert.Kind) + " " + it.Alert.Subject
		}
		s.sent = append(s.sent, d)
	})
	if s.chance(8) { // it has arrived, and nobody knows
		s.stop()
		return ctx.Err()
	}
	if !accepts || !says {
		return errors.New("not now")
	}
	return nil
}

func (tr *trial) address(name string) {
	tr.t.Helper()
	tr.does(agreed.Create, agreed.Setting{Address: agreed.Address{Name: name, Way: agreed.Standard, Language: "en", When: agreed.AtOnce, Cleared: true}})
}

// see lets a node, or all when it is empty, see an alert, or see it no more.
func (tr *trial) see(node string, a alert.Alert, is bool) {
	tr.set(func() {
		a.Since = time.Now()
		tr.seen[node] = slices.DeleteFunc(tr.seen[node], func(b alert.Alert) bool { return b.Key() == a.Key() })
		if is {
			tr.seen[node] = append(tr.seen[node], a)
		}
	})
}

// received are the ids under which an address got something, with how often.
func (tr *trial) received(address, what string) map[string]int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	out := map[string]int{}
	for _, d := range tr.sent {
		if d.address == address && d.what == what {
			out[d.id]++
		}
	}
	return out
}

// within runs a trial in a bubble of time.
func within(t *testing.T, random uint64, do func(*trial)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(t, random)
		tr.start()
		do(tr)
		tr.end()
	})
}

func job(i int) alert.Alert { return alert.New(alert.JobHeld, fmt.Sprint(i), "reason", "x") }

// Whatever node stops at whatever step, the leader too, nothing is lost, and what arrives twice has the same id.
func TestNothingIsLost(t *testing.T) {
	seeds := 3
	if !testing.Short() {
		seeds = 50
	}
	first := seed.Of(t)
	for i := range seeds {
		within(t, uint64(first)+uint64(i), func(tr *trial) {
			tr.set(func() { tr.stops = true })
			tr.address("a")
			tr.address("b")
			nodes := []string{"", "north-1", "south-1", "third-1"}
			for k := range 12 {
				tr.see(nodes[k%4], job(k), true)
				time.Sleep(7 * time.Minute)
				if k >= 4 {
					tr.see(nodes[(k-4)%4], job(k-4), false)
				}
			}
			time.Sleep(2 * time.Hour)
			tr.set(func() { tr.stops = false })
			time.Sleep(2 * time.Hour)
			twice := 0
			for _, address := range []string{"a", "b"} {
				for k := range 12 {
					for _, sign := range []string{"+", "-"} {
						got := tr.received(address, sign+"job-held "+fmt.Sprint(k))
						if want := sign == "+" || k < 8; (len(got) == 1) != want || len(got) > 1 {
							t.Errorf("seed %d: %s got %sjob %d under the ids %v", uint64(first)+uint64(i), address, sign, k, got)
						}
						for _, n := range got {
							twice += n - 1
						}
					}
				}
			}
			if twice > 60 {
				t.Errorf("%d notices came again", twice)
			}
		})
	}
}

func sum(of map[string]int) (n int) {
	for _, m := range of {
		n += m
	}
	return n
}

// Without a quorum each node reports what it sees, under ids that are the same; when it is back, nobody tells it again.
func TestWithoutAQuorum(t *testing.T) {
	within(t, 1, func(tr *trial) {
		tr.address("a")
		tr.see("south-1", job(1), true)
		time.Sleep(10 * time.Minute)
		for round := 1; round <= 2; round++ {
			tr.set(func() { tr.quorum = false })
			tr.see("", alert.New(alert.NoQuorum, ""), true)
			tr.see("north-1", job(10+round), true)
			time.Sleep(3 * time.Hour)
			quorums := tr.received("a", "+no-quorum ")
			if len(quorums) != round || sum(quorums) != 3*round {
				t.Errorf("round %d: %v", round, quorums)
			}
			if got := tr.received("a", "+job-held "+fmt.Sprint(10+round)); len(got) != 1 || sum(got) != 1 {
				t.Errorf("round %d: %v", round, got)
			}
			tr.set(func() { tr.quorum = true })
			tr.see("", alert.New(alert.NoQuorum, ""), false)
			time.Sleep(3 * time.Hour)
			if got := tr.received("a", "+no-quorum "); sum(got) != 3*round {
				t.Errorf("round %d, after it: %v", round, got)
			}
			if got := tr.received("a", "-no-quorum "); len(got) != round || sum(got) != round {
				t.Errorf("round %d: that it was over came as %v", round, got)
			}
			if got := tr.received("a", "+job-held "+fmt.Sprint(10+round)); sum(got) != 1 {
				t.Errorf("round %d, after it: %v", round, got)
			}
		}
		if got := tr.received("a", "+job-held 1"); sum(got) != 1 {
			t.Errorf("what was told before: %v", got)
		}
	})
}

// The heartbeat is requested each minute while nothing bad is known, by the leader alone; not when a node reports
// something bad, not without a quorum.
func TestHeartbeats(t *testing.T) {
	within(t, 1, func(tr *trial) {
		beats := func(during time.Duration) (n int) {
			tr.set(func() { n = tr.beats })
			time.Sleep(during)
			tr.set(func() { n = tr.beats - n })
			return n
		}
		time.Sleep(10 * time.Minute)
		if n := beats(time.Hour); n < 58 || n > 61 {
			t.Errorf("%d in an hour", n)
		}
		tr.see("third-1", alert.New(alert.StrayFiles, "", "files", "1"), true) // it waits for somebody
		time.Sleep(3 * time.Minute)
		if n := beats(time.Hour); n < 58 {
			t.Errorf("%d in an hour while something waits", n)
		}
		tr.see("third-1", alert.New(alert.DiskLow, "/", "bytes", "1"), true)
		time.Sleep(3 * time.Minute)
		if n := beats(time.Hour); n != 0 {
			t.Errorf("%d in an hour while a disk is full", n)
		}
		tr.does(agreed.Acknowledge, agreed.Acknowledging{Of: agreed.Of{Kind: "disk-low", Node: "third-1", Subject: "/"}, Note: "x",
			Until: catalog.At(time.Now().Add(24 * time.Hour))})
		if n := beats(time.Hour); n != 0 {
			t.Errorf("%d in an hour while a disk is full, and somebody knows", n)
		}
		tr.see("third-1", alert.New(alert.DiskLow, "/"), false)
		time.Sleep(5 * time.Minute)
		if n := beats(time.Hour); n < 58 {
			t.Errorf("%d in an hour afterwards", n)
		}
		tr.set(func() { tr.quorum = false })
		if n := beats(time.Hour); n > 1 {
			t.Errorf("%d in an hour without a quorum", n)
		}
	})
}
