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

// refusing returns the transport to a node that refuses every append, and a function that ends both.
func refusing(t *testing.T, rate int) (hraft.Transport, func()) {
	to := map[catalog.NodeID]*layer{}
	way := pipes{layers: to, rate: rate}
	to["a"], to["b"] = newLayer("a", way), newLayer("b", way)
	a, b := newTransport(to["a"], quick(), quiet()), newTransport(to["b"], quick(), quiet())
	done := make(chan struct{})
	go func() {
		for {
			select {
			case rpc := <-b.Consumer():
				rpc.Respond(&hraft.AppendEntriesResponse{Term: 1}, nil)
			case <-done:
				return
			}
		}
	}()
	return a, func() {
		close(done)
		if err := errors.Join(to["a"].Close(), to["b"].Close(), a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	}
}

// Raft ceases to take answers at the first refusal, while it goes on to send for a while.
func TestPipelineThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trans, end := refusing(t, 0)
		defer end()
		p, err := trans.AppendEntriesPipeline("b", "b")
		if err != nil {
			t.Fatal(err)
		}
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
	synctest.Test(t, func(t *testing.T) {
		trans, end := refusing(t, 0)
		defer end()
		p, err := trans.AppendEntriesPipeline("b", "b")
		if err != nil {
			t.Fatal(err)
		}
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
	for rate, arrives := range map[int]bool{30_000: true, 1000: false} {
		synctest.Test(t, func(t *testing.T) {
			trans, end := refusing(t, rate)
			defer end()
			large := &hraft.AppendEntriesRequest{Term: 1, Entries: []*hraft.Log{{Index: 1, Data: make([]byte, 2<<20)}, {Index: 2, Data: make([]byte, 300)}}}
			var answer hraft.AppendEntriesResponse
			began := time.Now()
			err := trans.AppendEntries("b", "b", large, &answer)
			if arrives != (err == nil && answer.Term == 1) {
				t.Errorf("at %d bytes a second: %v after %v", rate, err, time.Since(began))
			}
			p, err := trans.AppendEntriesPipeline("b", "b")
			if err != nil {
				t.Fatal(err)
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
	synctest.Test(t, func(t *testing.T) {
		to := map[catalog.NodeID]*layer{}
		to["a"], to["b"] = newLayer("a", pipes{layers: to}), newLayer("b", pipes{layers: to})
		a, b := newTransport(to["a"], quick(), quiet()), newTransport(to["b"], quick(), quiet())
		var trans hraft.Transport = b
		trans.SetHeartbeatHandler(func(hraft.RPC) { t.Error("a heartbeat is taken in beside the others") })
		answered := make(chan error)
		go func() {
			beat := hraft.AppendEntriesRequest{RPCHeader: hraft.RPCHeader{Addr: []byte("a")}, Term: 7}
			answered <- a.AppendEntries("b", "b", &beat, &hraft.AppendEntriesResponse{})
		}()
		synctest.Wait()
		select {
		case rpc := <-trans.Consumer():
			rpc.Respond(&hraft.AppendEntriesResponse{Term: 7}, nil)
		default:
			t.Fatal("a heartbeat does not wait for its turn")
		}
		if err := errors.Join(<-answered, to["a"].Close(), to["b"].Close(), a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	})
}
