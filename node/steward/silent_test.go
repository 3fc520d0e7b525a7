package steward

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/notices"
	"holdfast/internal/kv/memory"
)

// pair is an agreed state of a replica with two nodes, of which one has all shards. Assignments are counted, and change
// nothing.
type pair struct {
	state    memory.Tx
	index    uint64
	assigned map[catalog.NodeID]int
}

func (p *pair) View(see func(catalog.View) error) error { return see(catalog.NewView(&p.state)) }

func (p *pair) IsLeader() bool { return true }

func (p *pair) Leading() <-chan bool { return nil }

func (p *pair) Propose(_ context.Context, kind catalog.Kind, body any, _ string) (catalog.Result, error) {
	if kind == catalog.AssignShards {
		a := body.(catalog.Assignment)
		p.assigned[a.Node] += len(a.Shards)
	}
	return catalog.Result{}, nil
}

func (p *pair) do(t *testing.T, kind catalog.Kind, body any) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	p.index++
	data, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, At: catalog.At(time.Now()), Actor: "test", Body: raw})
	if err != nil {
		t.Fatal(err)
	}
	res, err := catalog.Apply(&p.state, p.index, data)
	if err != nil || res.Refusal != nil {
		t.Fatalf("%s: %v, %v", kind, res.Refusal, err)
	}
}

func (p *pair) member(name string) catalog.Member {
	key := sha256.Sum256([]byte(name))
	return catalog.Member{ID: catalog.Fingerprint(key[:]), Name: name, Key: key[:], Replica: "north", Level: notices.Level}
}

func newPair(t *testing.T) (p *pair, first, second catalog.NodeID) {
	t.Helper()
	p = &pair{assigned: map[catalog.NodeID]int{}}
	one, two := p.member("north-1"), p.member("north-2")
	p.do(t, catalog.Found, catalog.Founding{Cluster: catalog.Cluster{ID: "c", Name: "C", Epoch: 1, Level: 1},
		Replicas:    []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive, Place: "Northtown"}},
		Collections: []catalog.Collection{{Name: "web"}}, Member: one})
	for at := 0; at < catalog.Shards; at += 512 {
		a := catalog.Assignment{Replica: "north", Node: one.ID}
		for i := range 512 {
			a.Shards = append(a.Shards, catalog.Shard(at+i))
		}
		p.do(t, catalog.AssignShards, a)
	}
	secret := sha256.Sum256([]byte("s"))
	p.do(t, catalog.CreateToken, catalog.JoinToken{ID: "j", SecretHash: secret, Replica: "north",
		Expires: catalog.At(time.Now().Add(time.Hour))})
	p.do(t, catalog.JoinMember, catalog.Joining{Token: "j", Secret: []byte("s"), Member: two})
	p.do(t, catalog.RaiseLevel, catalog.LevelChange{Level: notices.Level})
	return p, one.ID, two.ID
}

// TestWhenShardsAreMadeAgain lets a node be away, and come and go, while the leader's clock jumps, and others hear the
// node or not.
func TestWhenShardsAreMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, first, second := newPair(t)
		ahead, unsure := time.Duration(0), false
		alive := map[catalog.NodeID]int64{second: 1000}
		contacts := map[catalog.NodeID]time.Duration{first: 24 * time.Hour, second: 0}
		s := New(Config{Self: second, Agreement: p, Log: slog.New(slog.DiscardHandler), RebuildAfter: 24 * time.Hour,
			Contacts: func() map[catalog.NodeID]time.Duration { return contacts },
			Alive:    func() map[catalog.NodeID]int64 { return alive },
			Now:      func() time.Time { return time.Now().Add(ahead) }, Unsure: func() bool { return unsure }})
		rounds := func(what string, long time.Duration, want bool) {
			t.Helper()
			clear(p.assigned)
			for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(time.Minute) {
				if err := s.placeShards(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := p.assigned[second] > 0; got != want || p.assigned[first] > 0 {
				t.Errorf("%s: made again is %t, want %t; %v", what, got, want, p.assigned)
			}
		}
		p.do(t, notices.Report, notices.Reporting{Node: second, Raised: []notices.Raising{
			{Of: notices.Of{Kind: "node-away", Subject: "north-1"}, Severity: "bad"}}})
		rounds("away for an hour", time.Hour, false)
		ahead = 25 * time.Hour
		rounds("the leader's clock jumps a day", trustAfter-time.Minute, false)
		unsure = true
		rounds("and the others notice", time.Hour, false)
		ahead, unsure = 0, false
		rounds("the clock is right again", time.Hour, false)
		time.Sleep(20 * time.Hour)
		rounds("the rest of the day", 2*time.Hour, true)
		contacts[first] = 0
		rounds("it answers the leader, though nobody hears its gossip", time.Hour, false)
		contacts[first] = time.Hour
		rounds("quiet again, not yet for long", quietFor-time.Minute, false)
		rounds("and for long", 2*time.Minute, true)
		for range 3 {
			contacts[first] = 0
			rounds("it comes", time.Minute, false)
			contacts[first] = 2 * time.Minute
			rounds("and goes", quietFor-time.Minute, false)
		}
		s.steady, s.quiet = steadiness{}, nil
		rounds("a new leader", trustAfter-time.Minute, false)
		rounds("that has led for a while", 2*time.Minute, true)
		s.cfg.RebuildAfter = 0
		rounds("never", time.Hour, false)
	})
}
