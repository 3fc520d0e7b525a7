package peer

import (
	"errors"
	"fmt"
	"sync"
	"testing"
)

// TestAFailureIsToldWhileTheMemberChanges says that a member cannot be reached while its addresses change. The race
// detector looks.
func TestAFailureIsToldWhileTheMemberChanges(t *testing.T) {
	t.Parallel()
	a, b := newTestNode(t, Config{}), newTestNode(t, Config{})
	acquaint(1, a, b)
	a.Peer.mu.Lock()
	r := a.remotes[b.ID()]
	a.Peer.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() {
		for i := range 100 {
			m := b.member()
			m.Addresses = append(m.Addresses, fmt.Sprintf("127.0.0.1:%d", i+1))
			a.SetMembers(1, []Member{a.member(), m})
		}
	})
	both.Go(func() {
		for range 100 {
			keeper{a.Peer, r, Control}.noteFailure(t.Context(), 1, errors.New("nobody answers"))
		}
	})
	both.Wait()
}
