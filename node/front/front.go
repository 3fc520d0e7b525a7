// Package front is the door of a node's two TCP ports, the API's and the readers'. It accepts connections, with HTTPS
// where that is needed, determines whom a request is from, and protects callers from others who ask too much or never
// end. It does not know what the ports serve.
package front

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"holdfast/node/config"
)

// Config holds the settings of the ports.
type Config struct {
	API, Access string // addresses to listen at
	Secure      config.Secure
	Log         *slog.Logger
}

// Front is the two ports. They take connections from Listen on, and serve them once they are told what.
type Front struct {
	API, Access *Port
}

// Port is one of them.
type Port struct {
	listener net.Listener
	cfg      Config
	pair     *certificate
	limit    int
}

// Listen opens the ports. Each is closed when its Serve has returned.
func Listen(ctx context.Context, cfg Config) (Front, error) {
	pair, err := loadCertificate(cfg.Secure, cfg.Log)
	if err != nil {
		return Front{}, err
	}
	a, err := listenTCP(ctx, cfg.API)
	if err != nil {
		return Front{}, fmt.Errorf("listen for the API: %w", err)
	}
	b, err := listenTCP(ctx, cfg.Access)
	if err != nil {
		return Front{}, errors.Join(fmt.Errorf("listen for readers: %w", err), a.Close())
	}
	limit := connectionLimit()
	return Front{API: &Port{a, cfg, pair, limit}, Access: &Port{b, cfg, pair, limit}}, nil
}

// Addr returns the address at which the port listens.
func (p *Port) Addr() net.Addr { return p.listener.Addr() }

// Serve answers requests with h until ctx ends; requests under way then have a few seconds.
func (p *Port) Serve(ctx context.Context, h http.Handler) error {
	bounded := newConnections(p.listener, p.limit, connectionsOfOne, p.cfg.Secure.Trusts)
	h = forwarded(p.cfg.Secure, newCallers(p.cfg.Secure, bounded.crowded).bound(h))
	return serve(ctx, listenSecurely(p.cfg.Secure, bounded, p.pair, p.cfg.Log), h, usualPatience())
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
