package raft

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// sent is how long each parcel of a test waited before it was sent.
type sent struct {
	mu     sync.Mutex
	groups [][]*parcel
	at     map[*parcel]time.Time
}

func (s *sent) send(parcels []*parcel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups = append(s.groups, parcels)
	for _, p := range parcels {
		s.at[p] = time.Now()
	}
}

// TestPacker lets one command go at once, those that come meanwhile together after it, and none wait long.
func TestPacker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var packer packer
		s := &sent{at: make(map[*parcel]time.Time)}
		began := time.Now()
		come := func() *parcel {
			p := &parcel{}
			packer.submit([]*parcel{p}, s.send)
			synctest.Wait()
			return p
		}
		come()
		if len(s.groups) != 1 {
			t.Error("a lone command waits")
		}
		first, second := come(), come()
		if len(s.groups) != 1 {
			t.Error("a command goes beside another")
		}
		packer.left(1, s.send) // the first is answered: the two go
		synctest.Wait()
		if len(s.groups) != 2 || len(s.groups[1]) != 2 || s.at[first] != began || s.at[second] != began {
			t.Errorf("%d groups; two commands went at %v and %v", len(s.groups), s.at[first], s.at[second])
		}
		packer.left(1, s.send)
		third := come() // one of the two is still under way
		time.Sleep(gather)
		synctest.Wait()
		if waited := s.at[third].Sub(began); waited != gather {
			t.Errorf("a command waited %v for another's answer, not %v", waited, gather)
		}
		packer.left(1, s.send)
		packer.left(1, s.send)
		come()
		packer.left(1, s.send)
		if packer.inside != 0 || packer.next != nil || len(s.groups) != 4 {
			t.Errorf("%d commands are left inside, %d groups went", packer.inside, len(s.groups))
		}
	})
}

// TestPackerWithOneThatStays lets one command stay under way for a minute, as with a node that does not answer, while many
// others come at any time: none waits longer than for a group.
func TestPackerWithOneThatStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var packer packer
		s := &sent{at: make(map[*parcel]time.Time)}
		var all sync.WaitGroup
		packer.submit([]*parcel{{}}, s.send)
		random := rand.New(rand.NewPCG(1, 2))
		for range 1000 {
			comes := time.Duration(random.Int64N(int64(time.Minute)))
			stays := gather + time.Duration(random.Int64N(int64(20*time.Millisecond)))
			all.Go(func() {
				<-time.After(comes)
				began, p := time.Now(), &parcel{}
				packer.submit([]*parcel{p}, s.send)
				<-time.After(stays)
				s.mu.Lock()
				at, went := s.at[p]
				s.mu.Unlock()
				if !went || at.Sub(began) > gather {
					t.Errorf("a command waited %v (it went: %t)", at.Sub(began), went)
				}
				packer.left(1, s.send)
			})
		}
		all.Wait()
		if packer.inside != 1 || packer.next != nil {
			t.Errorf("%d inside, %v waits", packer.inside, packer.next)
		}
	})
}
