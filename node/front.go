package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"holdfast/api"
)

// front is the node's two TCP ports: the API's, and the readers', which is an origin of its own.
type front struct {
	apiAddr, accessAddr net.Addr
	api, access         func(context.Context) error
}

func (n *Node) listen(ctx context.Context) (front, error) {
	handler, err := n.replayHandler()
	if err != nil {
		return front{}, err
	}
	pair, err := loadCertificate(n.cfg.Secure, n.log)
	if err != nil {
		return front{}, err
	}
	a, err := listenTCP(ctx, n.cfg.Listen.API)
	if err != nil {
		return front{}, fmt.Errorf("listen for the API: %w", err)
	}
	b, err := listenTCP(ctx, n.cfg.Listen.Access)
	if err != nil {
		return front{}, errors.Join(fmt.Errorf("listen for readers: %w", err), a.Close())
	}
	n.cfg.Listen.API, n.cfg.Listen.Access = a.Addr().String(), b.Addr().String()
	limit := connectionLimit()
	port := func(l net.Listener, h func() http.Handler) func(context.Context) error {
		return func(ctx context.Context) error {
			bounded := newConnections(l, limit, connectionsOfOne, n.cfg.Secure.Trusts)
			h := forwarded(n.cfg.Secure, newCallers(n.cfg.Secure, bounded.crowded).bound(h()))
			return serve(ctx, listenSecurely(n.cfg.Secure, bounded, pair, n.log), h, usualPatience())
		}
	}
	return front{
		apiAddr: a.Addr(), accessAddr: b.Addr(),
		api:    port(a, func() http.Handler { return api.New(n.backend(), n.log) }),
		access: port(b, func() http.Handler { return handler }),
	}, nil
}

// stopLimit is how long requests under way may take when the node stops.
const stopLimit = 5 * time.Second

// serve answers HTTP until ctx ends; requests under way then have a few seconds.
func serve(ctx context.Context, l net.Listener, h http.Handler, p patience) error {
	s := &http.Server{Handler: p.patient(h), ReadHeaderTimeout: p.head, IdleTimeout: p.idle, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	err := s.Shutdown(limit)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.Close()
	}
	<-ended
	return err
}
