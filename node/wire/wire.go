// Package wire carries requests between nodes for the rooms inside node: a room defines its requests and answers, as
// JSON, and is told who calls. wire knows no kind of request.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"

	"holdfast/catalog"
)

// MaxMessage is the most bytes that a request may have.
const MaxMessage = 8 << 20

// Caller sends a request to another node and returns its answer.
type Caller interface {
	Call(ctx context.Context, to catalog.NodeID, kind string, request []byte) ([]byte, error)
}

// Carrier is a Caller that also opens streams.
type Carrier interface {
	Caller
	Open(ctx context.Context, to catalog.NodeID, kind string) (net.Conn, error)
}

// Ask sends one request to another node and reads its answer, both as JSON.
func Ask[Answer any](ctx context.Context, c Caller, to catalog.NodeID, kind string, request any) (Answer, error) {
	var answer Answer
	data, err := json.Marshal(request)
	if err != nil {
		return answer, fmt.Errorf("encode the %s request: %w", kind, err)
	}
	reply, err := c.Call(ctx, to, kind, data)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(reply, &answer); err != nil {
		return answer, fmt.Errorf("read the %s answer of %s: %w", kind, to, err)
	}
	return answer, nil
}

// Handler answers a request of another node.
type Handler func(ctx context.Context, from catalog.NodeID, request []byte) ([]byte, error)

// Answer makes a Handler of a function that takes the request and gives the answer.
func Answer[Request, Reply any](kind string,
	handle func(ctx context.Context, from catalog.NodeID, r Request) (Reply, error)) Handler {
	return func(ctx context.Context, from catalog.NodeID, request []byte) ([]byte, error) {
		var r Request
		if err := json.Unmarshal(request, &r); err != nil {
			return nil, fmt.Errorf("read a %s request: %w", kind, err)
		}
		a, err := handle(ctx, from, r)
		if err != nil {
			return nil, err
		}
		return json.Marshal(a)
	}
}

// Refusal is the answer of a node that does not carry out a request, with a code that tells programs why.
type Refusal struct{ Code, Message string }

func (r *Refusal) Error() string { return r.Message }

// Reason returns the code.
func (r *Refusal) Reason() string { return r.Code }

// Reasoned is an error that tells programs why by a code. Every carrier brings it over as it is.
type Reasoned interface {
	error
	Reason() string
}

// ReasonOf returns the code of a refusal, here or of another node, or nothing.
func ReasonOf(err error) string {
	if r := Reasoned(nil); errors.As(err, &r) {
		return r.Reason()
	}
	return ""
}

// MessageOf returns what a refusal says, or what the error does.
func MessageOf(err error) string {
	if r := Reasoned(nil); errors.As(err, &r) {
		return r.Error()
	}
	return err.Error()
}

// Reply is the answer of one of several that were asked, or the reason why there is none.
type Reply[To, Answer any] struct {
	To     To
	Answer Answer
	Err    error
}

// Gather asks all at once, and returns their replies in the same order when the last of them has answered. How long
// that may take is up to ask.
func Gather[To, Answer any](all []To, ask func(To) (Answer, error)) []Reply[To, Answer] {
	out := make([]Reply[To, Answer], len(all))
	var under sync.WaitGroup
	for i, to := range all {
		under.Go(func() {
			out[i].To = to
			out[i].Answer, out[i].Err = ask(to)
		})
	}
	under.Wait()
	return out
}

// AskAll asks the members at once, this node itself by own, and returns their replies in their order.
func AskAll[Answer any](ctx context.Context, c Caller, self catalog.NodeID, members []catalog.Member, kind string,
	request any, own func(context.Context) (Answer, error)) []Reply[catalog.Member, Answer] {
	return Gather(members, func(m catalog.Member) (Answer, error) {
		if m.ID == self {
			return own(ctx)
		}
		return Ask[Answer](ctx, c, m.ID, kind, request)
	})
}
