package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// part is one thing that runs as long as the node does.
type part struct {
	name string
	run  func(context.Context) error
}

// runParts starts the parts in their order and returns when the context ends or one of them does. They are then
// stopped in the reverse order, each one wholly before the next; the first error that is not the context's is returned.
func runParts(ctx context.Context, log *slog.Logger, started func(), parts ...part) error {
	type ended struct {
		name string
		err  error
	}
	type running struct {
		cancel context.CancelFunc
		done   chan struct{}
	}
	ends := make(chan ended, len(parts))
	var up []running
	for _, p := range parts {
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		r := running{cancel: cancel, done: make(chan struct{})}
		go func() {
			defer close(r.done)
			err := p.run(own)
			if own.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
				err = nil
			} else if err == nil {
				err = errors.New("ended by itself")
			}
			ends <- ended{p.name, err}
		}()
		up = append(up, r)
	}
	started()
	var first error
	select {
	case <-ctx.Done():
	case e := <-ends:
		first = fmt.Errorf("%s: %w", e.name, e.err)
		log.Error("a part of the node ended", "part", e.name, "error", e.err)
	}
	for i := len(up) - 1; i >= 0; i-- {
		up[i].cancel()
		<-up[i].done
		log.Debug("part stopped", "part", parts[i].name)
	}
	for range len(ends) {
		if e := <-ends; e.err != nil && first == nil {
			first = fmt.Errorf("%s: %w", e.name, e.err)
		}
	}
	return first
}
