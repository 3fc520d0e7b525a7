package raft

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// pipes carries streams straight into another node's layer.
type pipes map[catalog.NodeID]*layer

func (p pipes) Dial(_ context.Context, to catalog.NodeID) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p[to].hand("", theirs)
	return ours, nil
}

// refusing returns the transport to a node that refuses every append, and a function that ends both.
func refusing(t *testing.T) (hraft.Transport, func()) {
	to := pipes{}
	to["a"], to["b"] = newLayer("a", to), newLayer("b", to)
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
		trans, end := refusing(t)
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
		trans, end := refusing(t)
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
