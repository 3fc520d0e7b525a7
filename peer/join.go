package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/quic-go/quic-go"
)

// Answers to a join on which a program acts. They cross the wire: errors.Is finds them in what Join returns, if the
// handler at the other node returned them.
var (
	ErrTokenUnknown = &RemoteError{Code: CodeTokenUnknown, Message: "unknown join token"}
	ErrTokenExpired = &RemoteError{Code: CodeTokenExpired, Message: "join token has expired"}
	ErrTokenUsed    = &RemoteError{Code: CodeTokenUsed, Message: "join token was used by another machine"}
)

// Join asks the members named in the token to take this machine in. It tries one after
// the other until one of them has an answer about the token; the same request may so
// reach the cluster more than once. It needs no port of its own to be open.
func Join(ctx context.Context, token Token, id Identity, request []byte) ([]byte, error) {
	if err := token.Check(); err != nil {
		return nil, err
	}
	if len(request) > maxJoinRequest {
		return nil, fmt.Errorf("join: request of %d bytes: %w", len(request), ErrTooLarge)
	}
	if time.Now().After(token.Expires) {
		return nil, fmt.Errorf("join: %w", ErrTokenExpired)
	}
	v, err := newVisitor(id)
	if err != nil {
		return nil, err
	}
	defer v.close()
	var errs []error
	for _, at := range token.Addresses {
		reply, err := v.join(ctx, at, token.Cluster, request)
		if err == nil {
			return reply, nil
		}
		errs = append(errs, fmt.Errorf("join at %s: %w", at.Address, err))
		if final(err) || ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// final reports whether no other member would answer a join differently.
func final(err error) bool {
	var remote *RemoteError
	if errors.As(err, &remote) && remote.Code == CodeJoinRefused {
		return true
	}
	return errors.Is(err, ErrTokenUnknown) || errors.Is(err, ErrTokenExpired) || errors.Is(err, ErrTokenUsed)
}

// visitor dials as a machine that keeps no connections: from a port of its own.
type visitor struct {
	udp *net.UDPConn
	dialer
}

func newVisitor(id Identity) (*visitor, error) {
	cert, err := id.certificate()
	if err != nil {
		return nil, err
	}
	udp, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, fmt.Errorf("bind a port: %w", err)
	}
	return &visitor{udp: udp, dialer: dialer{
		transport: &quic.Transport{Conn: udp},
		cert:      cert,
		config: &quic.Config{
			HandshakeIdleTimeout:  handshakeTime,
			MaxIncomingStreams:    -1,
			MaxIncomingUniStreams: -1,
			EnableDatagrams:       true,
		},
	}}, nil
}

func (v *visitor) close() {
	_ = v.transport.Close() // an ephemeral port: nothing to save
	_ = v.udp.Close()
}

func (v *visitor) join(ctx context.Context, at TokenAddress, cluster string, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, visitTime)
	defer cancel()
	conn, err := v.dial(ctx, target{address: at.Address, id: at.Fingerprint})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer closeConn(conn, Welcome, "")
	h := hello{version: protocolVersion, class: joinClass, cluster: cluster}
	meta, _, _, err := introduce(ctx, conn, h, at.Fingerprint)
	if err != nil {
		return nil, err
	}
	unhook := context.AfterFunc(ctx, func() { closeConn(conn, Unwanted, "given up") })
	defer unhook()
	if err := writeFrame(meta, request); err != nil {
		return nil, translate(err)
	}
	reply, err := readReply(meta, maxJoinReply)
	if remote := (*RemoteError)(nil); err != nil && !errors.As(err, &remote) {
		return nil, refusedBy(at.Fingerprint, err)
	}
	return reply, err
}
