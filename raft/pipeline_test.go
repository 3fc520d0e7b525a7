package raft

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// pipes carries streams straight into another node's layer, at a rate.
type pipes struct {
	layers map[catalog.NodeID]*layer
	rate   int // bytes a second; 0: at once
}

func (p pipes) Dial(_ context.Context, to catalog.NodeID) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.layers[to].hand("", theirs)
	return slow{ours, p.rate}, nil
}

// slow is a stream that writes at a rate.
type slow struct {
	net.Conn
	rate int
}

func (s slow) Write(p []byte) (int, error) {
	if s.rate > 0 {
		<-time.After(time.Duration(len(p)) * time.Second / time.Duration(s.rate))
	}
	return s.Conn.Write(p)
}

// linked returns the transports of two nodes with a way of that rate between them, and a function that ends both.
func linked(t *testing.T, rate int) (a, b hraft.Transport, end func()) {
	to := map[catalog.NodeID]*layer{}
	way := pipes{layers: to, rate: rate}
	to["a"], to["b"] = newLayer("a", way), newLayer("b", way)
	first, second := newTransport(to["a"], quick(), quiet()), newTransport(to["b"], quick(), quiet())
	return first, second, func() {
		if err := errors.Join(to["a"].Close(), to["b"].Close(), first.Close(), second.Close()); err != nil {
			t.Error(err)
		}
	}
}

// refusing calls try with the transport and a pipeline to a node that refuses every append.
func refusing(t *testing.T, rate int, try func(*testing.T, hraft.Transport, hraft.AppendPipeline)) {
	synctest.Test(t, func(t *testing.T) {
		a, b, end := linked(t, rate)
		defer end()
		done := make(chan struct{})
		defer close(done)
		go refuse(b, done)
		p, err := a.AppendEntriesPipeline("b", "b")
		if err != nil {
			t.Fatal(err)
		}
		try(t, a, p)
	})
}

// refuse answers all requests with no, until done is closed.
func refuse(trans hraft.Transport, done <-chan struct{}) {
	for {
		select {
		case rpc := <-trans.Consumer():
			rpc.Respond(&hraft.AppendEntriesResponse{Term: 1}, nil)
		case <-done:
			return
		}
	}
}

// Raft ceases to take answers at the first refusal, while it goes on to send for a while.
func TestPipelineThatNobodyReads(t *testing.T) {
	t.Parallel()
	refusing(t, 0, func(t *testing.T, _ hraft.Transport, p hraft.AppendPipeline) {
		sent := make(chan error)
		go func() {
			var errs []error
			for range 20 {
				_, err := p.AppendEntries(&hraft.AppendEntriesRequest{Term: 1}, &hraft.AppendEntriesResponse{})
				errs = append(errs, err)
			}
			sent <- errors.Join(errs...)
		}()
		if first := <-p.Consumer(); first.Error() != nil || first.Response().Success {
			t.Errorf("got %+v, %v", first.Response(), first.Error())
		}
		if err := <-sent; err != nil {
			t.Errorf("the sender: %v", err)
		}
		for range 19 {
			<-p.Consumer()
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// What is under way when a pipeline is closed keeps nobody.
func TestPipelineClosedMeanwhile(t *testing.T) {
	t.Parallel()
	refusing(t, 0, func(t *testing.T, _ hraft.Transport, p hraft.AppendPipeline) {
		failed := make(chan error)
		go func() {
			for {
				if _, err := p.AppendEntries(&hraft.AppendEntriesRequest{Term: 1}, &hraft.AppendEntriesResponse{}); err != nil {
					failed <- err
					return
				}
			}
		}()
		<-p.Consumer()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := <-failed; err == nil {
			t.Error("a closed pipeline takes appends")
		}
	})
}

// A message that takes longer than a deadline arrives, as long as its pieces do not; a link that is as good as dead is given up.
func TestAppendOverASlowLink(t *testing.T) {
	t.Parallel()
	for rate, arrives := range map[int]bool{30_000: true, 1000: false} {
		refusing(t, rate, func(t *testing.T, trans hraft.Transport, p hraft.AppendPipeline) {
			large := &hraft.AppendEntriesRequest{Term: 1, Entries: []*hraft.Log{{Index: 1, Data: make([]byte, 2<<20)}, {Index: 2, Data: make([]byte, 300)}}}
			var answer hraft.AppendEntriesResponse
			began := time.Now()
			err := trans.AppendEntries("b", "b", large, &answer)
			if arrives != (err == nil && answer.Term == 1) {
				t.Errorf("at %d bytes a second: %v after %v", rate, err, time.Since(began))
			}
			if _, err := p.AppendEntries(large, &answer); arrives {
				err = errors.Join(err, (<-p.Consumer()).Error())
				if err != nil {
					t.Errorf("at %d bytes a second in the pipeline: %v", rate, err)
				}
			} else if err == nil {
				t.Errorf("at %d bytes a second in the pipeline: no error", rate)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Heartbeats come the way of all requests, which Raft's own goroutine takes one by one.
func TestHeartbeatsTakeTheirTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, end := linked(t, 0)
		defer end()
		b.SetHeartbeatHandler(func(hraft.RPC) { t.Error("a heartbeat is taken in beside the others") })
		answered := make(chan error)
		go func() {
			beat := hraft.AppendEntriesRequest{RPCHeader: hraft.RPCHeader{Addr: []byte("a")}, Term: 7}
			answered <- a.AppendEntries("b", "b", &beat, &hraft.AppendEntriesResponse{})
		}()
		synctest.Wait()
		select {
		case rpc := <-b.Consumer():
			rpc.Respond(&hraft.AppendEntriesResponse{Term: 7}, nil)
		default:
			t.Fatal("a heartbeat does not wait for its turn")
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
	})
}
