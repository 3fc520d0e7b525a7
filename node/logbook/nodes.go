package logbook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/wire"
)

// The kinds of calls by which nodes ask each other about their logs. They are on the wire and keep their meaning.
const (
	LinesCall = "log.lines"
	RaiseCall = "log.level"
)

// askLimit is how long another node may take to answer.
const askLimit = 5 * time.Second

// Books are the logs of all nodes, for the API.
type Books struct {
	Self catalog.NodeID
	Name func(catalog.NodeID) string // of a member
	Own  *Book
	Ask  wire.Caller // asks other nodes in the name of who asks
}

// RaiseRequest is the request of a RaiseCall.
type RaiseRequest struct {
	Level   string  `json:"level"`
	Seconds float64 `json:"seconds"`
}

// codeInvalid is what a node answers to a request that it cannot carry out as it is.
const codeInvalid = "invalid"

// Lines returns lines of a member's log.
func (b Books) Lines(ctx context.Context, node catalog.NodeID, q api.LogQuery) (api.NodeLog, error) {
	if node == b.Self {
		out, err := b.ServeLines(ctx, node, q)
		return out, explained(err, "")
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	out, err := wire.Ask[api.NodeLog](ctx, b.Ask, node, LinesCall, q)
	if err != nil {
		return api.NodeLog{}, explained(err, "read the log of "+b.Name(node))
	}
	return out, nil
}

// Raise makes a member keep more lines for a time.
func (b Books) Raise(ctx context.Context, node catalog.NodeID, level string, length time.Duration,
	actor string) (api.LogLevel, error) {
	r := RaiseRequest{Level: level, Seconds: length.Seconds()}
	if node == b.Self {
		out, err := b.ServeRaise(ctx, node, actor, r)
		return out, explained(err, "")
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	out, err := wire.Ask[api.LogLevel](ctx, b.Ask, node, RaiseCall, r)
	if err != nil {
		return api.LogLevel{}, explained(err, "change the log level of "+b.Name(node))
	}
	return out, nil
}

// explained is an error as the API has it: what is wrong with the request, or what could not be done with another node.
func explained(err error, doing string) error {
	var refusal *catalog.Refusal
	switch {
	case err == nil, errors.As(err, &refusal):
		return err
	case wire.ReasonOf(err) == codeInvalid:
		return fmt.Errorf("%w: %s", api.ErrInvalid, wire.MessageOf(err))
	case doing == "":
		return err
	}
	return fmt.Errorf("%w: %s: %w", api.ErrUnavailable, doing, err)
}

// mostLines is how many lines one answer has at most.
const mostLines = 1000

// ServeLines answers another node with lines of the log here.
func (b Books) ServeLines(_ context.Context, _ catalog.NodeID, q api.LogQuery) (api.NodeLog, error) {
	found, err := b.Own.ring.find(Query{Level: q.Level, Text: q.Text, Room: q.Room, Since: q.Since, After: q.After,
		Limit: min(max(q.Limit, 1), mostLines)})
	if err != nil {
		return api.NodeLog{}, &wire.Refusal{Code: codeInvalid, Message: err.Error()}
	}
	out := api.NodeLog{Node: string(b.Self), Name: b.Name(b.Self), Items: make([]api.LogLine, len(found.Lines)),
		Next: found.Next, Missed: found.Missed, Restarted: found.Restarted, Level: b.level()}
	for i, l := range found.Lines {
		out.Items[i] = api.LogLine{Time: l.Time.UTC(), Level: l.Level, Message: l.Message}
		for _, a := range l.Attributes {
			out.Items[i].Attributes = append(out.Items[i].Attributes, api.LogAttribute(a))
		}
	}
	return out, nil
}

// ServeRaise carries out the wish of another node, or of this one's API, to log more for a time.
func (b Books) ServeRaise(_ context.Context, from catalog.NodeID, by string, r RaiseRequest) (api.LogLevel, error) {
	if by == "" { // in a cluster where requests carry no name
		by = b.Name(from)
	}
	to := levelOf(r.Level)
	if name(to) != r.Level {
		return api.LogLevel{}, &wire.Refusal{Code: codeInvalid, Message: fmt.Sprintf("level %q is none", r.Level)}
	}
	if r.Seconds < 0 || r.Seconds > MaxRaise.Seconds() {
		return api.LogLevel{}, &wire.Refusal{Code: codeInvalid, Message: fmt.Sprintf("want at most %v", MaxRaise)}
	}
	err := b.Own.Raise(to, time.Duration(r.Seconds*float64(time.Second)), by)
	if err != nil {
		return api.LogLevel{}, &wire.Refusal{Code: codeInvalid, Message: err.Error()}
	}
	return b.level(), nil
}

func (b Books) level() api.LogLevel {
	usual, raised := b.Own.Level()
	out := api.LogLevel{Now: name(usual), Usual: name(usual)}
	if raised != nil {
		out.Now, out.Until, out.By = name(raised.Level), raised.Until.UTC(), raised.By
	}
	return out
}
