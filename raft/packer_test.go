package raft

import (
	"math/rand/v2"
	"slices"
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

// TestPackerKeepsThoseTogetherThatComeAgain answers several commands at once, of callers that come again at once, later, or not
// at all: those that come again go together, and nobody waits long for the others.
func TestPackerKeepsThoseTogetherThatComeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var packer packer
		s := &sent{at: make(map[*parcel]time.Time)}
		come := func(n int) (last *parcel) {
			for range n {
				last = &parcel{}
				packer.submit([]*parcel{last}, s.send)
				synctest.Wait()
			}
			return last
		}
		expect := func(sizes ...int) {
			t.Helper()
			synctest.Wait()
			var got []int
			for _, g := range s.groups {
				got = append(got, len(g))
			}
			if !slices.Equal(got, sizes) {
				t.Fatalf("groups of %d commands went, not of %d", got, sizes)
			}
		}
		come(8)
		packer.left(1, s.send)
		expect(1, 7)
		come(1) // the first comes again
		packer.left(7, s.send)
		expect(1, 7)
		come(7)
		expect(1, 7, 8) // all go, and none waited for the time
		packer.left(8, s.send)
		began := time.Now()
		late := come(3)
		time.Sleep(linger)
		expect(1, 7, 8, 3)
		if waited := s.at[late].Sub(began); waited != linger {
			t.Errorf("a command waited %v for callers that do not come again, not %v", waited, linger)
		}
		packer.left(3, s.send)
		time.Sleep(linger)
		come(1)
		expect(1, 7, 8, 3, 1) // nobody is expected any longer
		packer.left(1, s.send)
		if packer.inside != 0 || packer.next != nil {
			t.Errorf("%d inside, %v waits", packer.inside, packer.next)
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
