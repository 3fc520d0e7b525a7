package raft

import (
	"fmt"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// handover gives the leadership away. After a failure it pauses before the next attempt, so that the replication has
// finished what the failed attempt asked of it. Otherwise Raft, if it loses the leadership in between, believes for
// ever that it is handing over, and as leader refuses every command (hashicorp/raft issue 696).
type handover struct {
	pause  time.Duration
	mu     sync.Mutex
	failed time.Time
}

// try calls do, which hands the leadership over, unless it failed a short time ago.
func (h *handover) try(do func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if since := time.Since(h.failed); since < h.pause {
		return fmt.Errorf("the last attempt failed %v ago; the next one follows %v after that",
			since.Round(time.Millisecond), h.pause)
	}
	if err := do(); err != nil {
		h.failed = time.Now()
		return err
	}
	return nil
}

// resign hands the leadership to whichever voter is furthest.
func (h *handover) resign(r *hraft.Raft) error {
	return h.try(func() error { return r.LeadershipTransfer().Error() })
}
