package raft

import (
	"testing"
	"testing/synctest"
	"time"

	hraft "github.com/hashicorp/raft"
)

func TestLimbo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limbo{wait: 2 * time.Second}
		for i, step := range []struct {
			after    time.Duration
			in, want bool
		}{
			{0, true, false}, {1900 * time.Millisecond, true, false}, {50 * time.Millisecond, false, false},
			{time.Second, true, false}, {2 * time.Second, true, true}, {time.Second, true, false}, {time.Second, true, true},
		} {
			<-time.After(step.after)
			if got := l.lasts(step.in); got != step.want {
				t.Errorf("step %d: %v", i, got)
			}
		}
	})
}

// A node that holds on to a leader while it stands for election, as after a handover that failed, keeps the others from
// electing one.
func TestCandidateThatKnowsALeader(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b, _ := three(t, c)
	c.propose(b, addKind, tinyAdd{Key: "x", N: 1})
	c.kill("b")
	c.kill("c")
	c.eventually("a finds no leader", func() bool { return a.Status().Role == Candidacy && a.Status().Leader == "" })

	way := newLayer("b", port{hub: c.hub, self: "b"})
	trans := newTransport(way, quick(), quiet())
	defer func() {
		if err := trans.Close(); err != nil {
			t.Error(err)
		}
		if err := way.Close(); err != nil {
			t.Error(err)
		}
	}()
	header := hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, ID: []byte("b"), Addr: []byte("b")}
	c.eventually("a stands for election and has a leader", func() bool {
		if err := trans.TimeoutNow("a", "a", &hraft.TimeoutNowRequest{RPCHeader: header}, &hraft.TimeoutNowResponse{}); err != nil {
			t.Fatal(err)
		}
		beat := hraft.AppendEntriesRequest{RPCHeader: header, Term: a.Status().Term}
		if err := trans.AppendEntries("a", "a", &beat, &hraft.AppendEntriesResponse{}); err != nil {
			t.Fatal(err)
		}
		s := a.Status()
		return s.Role == Candidacy && s.Leader == "b"
	})
	c.eventually("a forgets the leader", func() bool { return a.Status().Leader == "" })
	d := c.start("c")
	c.propose(d, addKind, tinyAdd{Key: "x", N: 1})
}
