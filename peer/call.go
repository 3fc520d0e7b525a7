package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// callTime is how long a request may take to arrive.
const callTime = time.Minute

const (
	maxErrorText = 4 << 10

	replyGood  byte = 0
	replyError byte = 1
)

// Call sends one request to a node and returns its one reply, on a control stream. An
// error of the handler there comes back as *RemoteError. When ctx ends, so does the
// handler's. A Call that fails with any other error may or may not have been carried out.
func (p *Peer) Call(ctx context.Context, to ID, kind string, request []byte) ([]byte, error) {
	if len(request) > MaxMessage {
		return nil, fmt.Errorf("call %q of node %s: request of %d bytes: %w", kind, to.Short(), len(request),
			ErrTooLarge)
	}
	s, err := p.open(ctx, to, kind)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	unhook := context.AfterFunc(ctx, func() { s.abort(streamClosed) })
	defer unhook()
	reply, err := exchange(s, request)
	var remote *RemoteError
	switch {
	case err == nil, errors.As(err, &remote):
		return reply, err
	case ctx.Err() != nil:
		err = ctx.Err()
	}
	return nil, fmt.Errorf("call %q of node %s: %w", kind, to.Short(), err)
}

func exchange(s *stream, request []byte) ([]byte, error) {
	if err := writeFrame(s, request); err != nil {
		return nil, err
	}
	if err := s.CloseWrite(); err != nil {
		return nil, err
	}
	return readReply(s, MaxMessage)
}

// HandleCall names the function that answers calls of a kind. Its ctx ends when the
// caller gives up.
func (p *Peer) HandleCall(kind string, h func(ctx context.Context, from ID, request []byte) ([]byte, error)) {
	p.Handle(kind, Control, func(ctx context.Context, from ID, c net.Conn) {
		defer c.Close()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if s, ok := c.(*stream); ok {
			unhook := context.AfterFunc(s.quic.Context(), cancel)
			defer unhook()
		}
		if err := answerCall(ctx, from, c, h); err != nil {
			p.log.Debug("call broke off", "node", from, "kind", kind, "reason", err.Error())
		}
	})
}

func answerCall(ctx context.Context, from ID, c net.Conn, h func(context.Context, ID, []byte) ([]byte, error)) error {
	if err := c.SetReadDeadline(time.Now().Add(callTime)); err != nil {
		return err
	}
	request, err := readFrame(c, MaxMessage)
	if err != nil {
		return err
	}
	reply, err := h(ctx, from, request)
	return writeReply(c, reply, err, MaxMessage)
}

// writeReply writes a reply of at most most bytes, or the error in its place: a byte that
// says which, then a frame.
func writeReply(w io.Writer, reply []byte, err error, most int) error {
	if err == nil && len(reply) > most {
		err = fmt.Errorf("reply of %d bytes: %w", len(reply), ErrTooLarge)
	}
	mark := replyGood
	if err != nil {
		mark, reply = replyError, encodeError(err)
	}
	if _, err := w.Write([]byte{mark}); err != nil {
		return err
	}
	return writeFrame(w, reply)
}

func encodeError(err error) []byte {
	code := CodeInternal
	if own := (*RemoteError)(nil); errors.As(err, &own) {
		code = own.Code
	}
	message := err.Error()
	message = strings.ToValidUTF8(message[:min(len(message), maxErrorText)], "")
	return append(appendText(nil, code), message...)
}

// readReply reads what writeReply wrote.
func readReply(r io.Reader, most int) ([]byte, error) {
	var mark [1]byte
	if _, err := io.ReadFull(r, mark[:]); err != nil {
		return nil, noEnd(err)
	}
	if mark[0] == replyGood {
		reply, err := readFrame(r, most)
		return reply, noEnd(err)
	}
	frame, err := readFrame(r, 1+maxTokenField+maxErrorText)
	if err != nil {
		return nil, noEnd(err)
	}
	f := fields{rest: frame}
	code := f.text()
	if f.short || mark[0] != replyError {
		return nil, errors.New("reply is malformed")
	}
	return nil, &RemoteError{Code: code, Message: string(f.rest)}
}

// noEnd makes an end of file in the middle of a message an error like any other.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
