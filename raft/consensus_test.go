package raft

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// Who looks for a leader gives up after the quorum time, when the caller's own time is over, or when the node ends.
func TestNobodyWaitsForALeaderForEver(t *testing.T) {
	t.Parallel()
	gone := errors.New("the caller has gone")
	for name, tt := range map[string]struct {
		limit time.Duration // of the caller; 0: none
		stop  time.Duration // when the node ends; 0: it does not
		want  error
		after time.Duration
	}{
		"no leader":           {want: ErrNoQuorum, after: 5 * time.Second},
		"the caller is gone":  {limit: 2 * time.Second, want: gone, after: 2 * time.Second},
		"the node ends first": {limit: 4 * time.Second, stop: 3 * time.Second, want: ErrStopped, after: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newConsensus(5 * time.Second)
				ctx := t.Context()
				if tt.limit > 0 {
					limited, cancel := context.WithTimeoutCause(ctx, tt.limit, gone)
					defer cancel()
					ctx = limited
				}
				if tt.stop > 0 {
					time.AfterFunc(tt.stop, c.stop)
				}
				began := time.Now()
				err := c.withLeader(ctx, func(context.Context, catalog.NodeID) error {
					t.Error("there is no leader, and one is asked")
					return nil
				})
				if took := time.Since(began); !errors.Is(err, tt.want) || took != tt.after {
					t.Errorf("%v after %v, want %v after %v", err, took, tt.want, tt.after)
				}
			})
		})
	}
}

// The trail is as many entries as fill its size, and none while the log is being cut.
func TestTrail(t *testing.T) {
	t.Parallel()
	mean := uint64(512)
	trail := &trail{mib: 2, mean: func() uint64 { return mean }, raft: newConsensus(time.Second), log: quiet()}
	if got := trail.entries(); got != 4096 {
		t.Errorf("%d entries of 512 bytes in 2 MiB", got)
	}
	done := trail.cut()
	if got := trail.entries(); got != 0 {
		t.Errorf("%d entries stay while the log is being cut", got)
	}
	done()
	if mean = 4 << 20; trail.entries() != 1 {
		t.Errorf("%d entries of 4 MiB in 2 MiB", trail.entries())
	}
}
