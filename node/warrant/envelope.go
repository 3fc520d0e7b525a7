package warrant

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"holdfast/catalog"
	"holdfast/node/wire"
)

// envelope is a request with the token of who asks.
type envelope struct {
	Warrant string          `json:"warrant"`
	About   json.RawMessage `json:"about"`
}

// open takes a request out of its envelope. A program of level 1 sends none.
func open(request []byte) envelope {
	var e envelope
	object := bytes.HasPrefix(bytes.TrimSpace(request), []byte("{"))
	if object && json.Unmarshal(request, &e) == nil && len(e.About) > 0 {
		return e
	}
	return envelope{About: request}
}

// Seal puts a request into an envelope with a token.
func Seal(token string, request []byte) ([]byte, error) {
	return json.Marshal(envelope{token, request})
}

// Caller returns a caller that sends each request with the token of who asks.
func (w Warrants) Caller(plain wire.Caller) wire.Caller { return bearer{w, plain} }

type bearer struct {
	warrants Warrants
	plain    wire.Caller
}

// Call sends the request with the token of who asks.
func (b bearer) Call(ctx context.Context, to catalog.NodeID, kind string, request []byte) ([]byte, error) {
	token, err := b.warrants.Of(ctx)
	if err != nil {
		return nil, err
	}
	if token == "" {
		return b.plain.Call(ctx, to, kind, request)
	}
	if request, err = Seal(token, request); err != nil {
		return nil, fmt.Errorf("encode the %s request: %w", kind, err)
	}
	answer, err := b.plain.Call(ctx, to, kind, request)
	return answer, forbidden(err)
}

// forbidden turns another node's refusal into one that says so.
func forbidden(err error) error {
	if wire.ReasonOf(err) == CodeForbidden {
		return &catalog.Refusal{Code: catalog.Denied, Message: wire.MessageOf(err)}
	}
	return err
}

// Answer makes a handler of requests that not everybody may make: need says what a request asks for. handle is told who
// asks, empty in a cluster of level 1.
func Answer[Request, Reply any](w Warrants, kind string, need func(Request) Deed,
	handle func(ctx context.Context, from catalog.NodeID, by string, r Request) (Reply, error)) wire.Handler {
	return func(ctx context.Context, from catalog.NodeID, request []byte) ([]byte, error) {
		e := open(request)
		var r Request
		if err := json.Unmarshal(e.About, &r); err != nil {
			return nil, fmt.Errorf("read a %s request: %w", kind, err)
		}
		by, err := w.Check(from, e.Warrant, need(r))
		if err != nil {
			return nil, err
		}
		a, err := handle(ctx, from, by, r)
		if err != nil {
			return nil, err
		}
		return json.Marshal(a)
	}
}

// Whoever hands a request on to a handler that does not ask who it is from.
func Whoever[Request, Reply any](handle func(context.Context, catalog.NodeID, Request) (Reply, error)) func(
	context.Context, catalog.NodeID, string, Request) (Reply, error) {
	return func(ctx context.Context, from catalog.NodeID, _ string, r Request) (Reply, error) {
		return handle(ctx, from, r)
	}
}
