package peer

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/quic-go/quic-go"
)

// Refusal says why a connection was refused or closed. The numbers are on the wire.
type Refusal byte

const (
	Welcome      Refusal = 0
	Stranger     Refusal = 1 // the key is not in the member list
	Removed      Refusal = 2 // the key was in the member list, and was taken out
	OtherCluster Refusal = 3 // hello names another cluster
	OlderEpoch   Refusal = 4 // dialler's epoch is older: the cluster was recovered without it
	NewerEpoch   Refusal = 5 // dialler's epoch is newer than that of the node it dialled
	OldProtocol  Refusal = 6 // no common version of the protocol
	Busy         Refusal = 7 // too many at once; try later
	Malformed    Refusal = 8 // not a hello that this version understands
	Stopping     Refusal = 9 // that node is stopping
	Replaced     Refusal = 10
	Settled      Refusal = 11 // two connections were one too many
	Unwanted     Refusal = 12 // dialled, then not needed
)

func (r Refusal) String() string {
	names := [...]string{"welcome", "stranger", "removed", "other cluster", "older epoch", "newer epoch",
		"old protocol", "busy", "malformed", "stopping", "replaced", "settled", "unwanted"}
	if int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("refusal %d", byte(r))
}

// RefusedError reports that the node By would not talk to us, and why in its own words.
type RefusedError struct {
	By      ID
	Refusal Refusal
	Reason  string
	Epoch   uint64 // epoch of the refusing node; 0 if it did not say
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("refused by node %s (%s): %s", e.By.Short(), e.Refusal, clip(e.Reason))
}

var (
	// ErrNotMember reports that the node asked for is not in the member list.
	ErrNotMember = errors.New("not a member")
	// ErrUnreachable reports that no connection to the node exists and none could be made.
	ErrUnreachable = errors.New("node is unreachable")
	// ErrDisconnected reports that the connection under a stream has ended.
	ErrDisconnected = errors.New("connection to node ended")
	// ErrUnknownKind reports that the node does not know the stream's kind.
	ErrUnknownKind = errors.New("unknown kind of stream")
	// ErrStopped reports that this Peer is not running.
	ErrStopped = errors.New("peer is stopped")
	// ErrTooLarge reports a request or reply over MaxMessage.
	ErrTooLarge = errors.New("message is too large")
)

// RemoteError is an error that the other side's handler returned. A handler may return
// one itself to choose its code; any other error arrives with CodeInternal.
type RemoteError struct {
	Code    string // for programs
	Message string // for people
}

// Codes that this package gives or counts. Handlers may use any others.
const (
	CodeInternal     = "internal"
	CodeTokenUnknown = "token-unknown"
	CodeTokenExpired = "token-expired"
	CodeTokenUsed    = "token-used"
	CodeJoinRefused  = "join-refused" // for another reason that every member would give
)

func (e *RemoteError) Error() string { return e.Message }

// Is makes errors.Is compare by code alone.
func (e *RemoteError) Is(target error) bool {
	other, ok := target.(*RemoteError)
	return ok && other.Code == e.Code
}

// Codes with which one stream is ended early.
const (
	streamClosed      quic.StreamErrorCode = 0
	streamUnknownKind quic.StreamErrorCode = 1
	streamMalformed   quic.StreamErrorCode = 2
)

// translate turns an error of a QUIC stream or connection into one of this package's or
// the net package's, so that nobody above need know QUIC. End of file and timeouts pass.
func translate(err error) error {
	var stream *quic.StreamError
	var deadline net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &stream):
		switch {
		case !stream.Remote:
			return net.ErrClosed
		case stream.ErrorCode == streamUnknownKind:
			return ErrUnknownKind
		}
		return fmt.Errorf("%w: other side closed the stream", ErrDisconnected)
	case errors.Is(err, quic.ErrStreamClosed):
		return net.ErrClosed
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	if ended := ending(err); ended != "" {
		return fmt.Errorf("%w: %s", ErrDisconnected, ended)
	}
	if errors.As(err, &deadline) {
		return err
	}
	return err
}

// ending says in words why a connection ended, or "" if err does not mean that.
func ending(err error) string {
	var app *quic.ApplicationError
	var transport *quic.TransportError
	var idle *quic.IdleTimeoutError
	var handshake *quic.HandshakeTimeoutError
	var reset *quic.StatelessResetError
	switch {
	case errors.As(err, &app):
		by := "here"
		if app.Remote {
			by = "by the other side"
		}
		if app.ErrorMessage == "" {
			return "closed " + by
		}
		return fmt.Sprintf("closed %s: %s", by, clip(app.ErrorMessage))
	case errors.As(err, &transport):
		return clip(transport.Error())
	case errors.As(err, &idle):
		return "nothing heard for too long"
	case errors.As(err, &handshake):
		return "no answer"
	case errors.As(err, &reset):
		return "the other side was restarted"
	case errors.Is(err, quic.ErrTransportClosed), errors.Is(err, quic.ErrServerClosed):
		return "this node is stopping"
	}
	return ""
}

// refusedBy turns the error of a connection that the other side closed with a refusal into a RefusedError.
func refusedBy(by ID, err error) error {
	var app *quic.ApplicationError
	if errors.As(err, &app) && app.Remote && app.ErrorCode > 0 && app.ErrorCode < 256 {
		return &RefusedError{By: by, Refusal: Refusal(app.ErrorCode), Reason: app.ErrorMessage}
	}
	return translate(err)
}

// closeConn ends a connection with a reason that the other side can read.
func closeConn(conn *quic.Conn, why Refusal, reason string) {
	// nothing is left to do if it was closed already
	_ = conn.CloseWithError(quic.ApplicationErrorCode(why), clip(reason))
}
