package raft

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// nobody is a carrier to nodes that are gone: nothing answers until the caller gives up.
type nobody struct{}

func (nobody) Dial(ctx context.Context, _ catalog.NodeID) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestClosingTheLayerEndsADial(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLayer("a", nobody{})
		began := time.Now()
		dialled := make(chan error)
		go func() {
			_, err := l.Dial("b", time.Minute)
			dialled <- err
		}()
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-dialled; !errors.Is(err, context.Canceled) || time.Since(began) > 0 {
			t.Errorf("the dial ended after %v: %v", time.Since(began), err)
		}
		if _, err := l.Dial("b", time.Minute); !errors.Is(err, context.Canceled) {
			t.Errorf("a dial on a closed layer: %v", err)
		}
	})
}
