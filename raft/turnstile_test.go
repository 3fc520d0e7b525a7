package raft

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurnstile lets one command go at once, those that come meanwhile together after it, and none wait long.
func TestTurnstile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var stile turnstile
		var all sync.WaitGroup
		began := time.Now()
		waited := make([]time.Duration, 3)
		pass := func(i int) {
			all.Go(func() {
				stile.enter()
				waited[i] = time.Since(began)
			})
			synctest.Wait()
		}
		stile.enter()
		if time.Since(began) != 0 {
			t.Error("a lone command waited")
		}
		pass(0)
		pass(1)
		stile.leave() // the first is answered: the two go
		all.Wait()
		if waited[0] != 0 || waited[1] != 0 {
			t.Errorf("two commands went %v after the first was answered", waited[:2])
		}
		stile.leave()
		pass(2) // one of the two is still under way
		all.Wait()
		if waited[2] != gather {
			t.Errorf("a command waited %v for another's answer, not %v", waited[2], gather)
		}
		stile.leave()
		stile.leave()
		stile.enter()
		stile.leave()
		if stile.inside != 0 || stile.next != nil {
			t.Errorf("%d commands are left inside", stile.inside)
		}
	})
}
