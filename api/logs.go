package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// What the nodes' logs answer with goes to the client as it is.
type (
	NodeLog      = wire.NodeLog
	LogLine      = wire.LogLine
	LogAttribute = wire.LogAttribute
	LogLevel     = wire.LogLevel
)

// LogQuery says which lines of a log are wanted; empty fields are ignored.
type LogQuery struct {
	Level string    `json:"level,omitempty"` // this one and those above it
	Text  string    `json:"text,omitempty"`  // that is in the line
	Room  string    `json:"room,omitempty"`  // part of the program that wrote it
	Since time.Time `json:"since,omitzero"`  // written then or later
	After string    `json:"after,omitempty"` // a cursor: the first lines after it; else the last lines
	Limit int       `json:"limit"`
}

// Logs are the logs of all nodes.
type Logs interface {
	// Lines returns lines of a member's log. ErrInvalid: the cursor is none.
	Lines(ctx context.Context, node catalog.NodeID, query LogQuery) (NodeLog, error)
	// Raise makes a member keep more lines for a time. ErrInvalid: that would be fewer than usual, or for too long.
	Raise(ctx context.Context, node catalog.NodeID, level string, length time.Duration, actor string) (LogLevel, error)
}

// logs are the operations on the nodes' logs.
type logs struct {
	*server
	nodes Logs
}

type logInput struct {
	ByName
	Level string    `query:"level" enum:"debug,info,warn,error" doc:"only lines of this level and above"`
	Text  string    `query:"text" maxLength:"200" doc:"only lines with this text in them, in capital letters or not; attributes stand in a line as name=value"`
	Room  string    `query:"room" maxLength:"100" doc:"only lines that this part of the program wrote"`
	Since time.Time `query:"since" doc:"only lines that were written then or later"`
	After string    `query:"after" maxLength:"100" doc:"cursor: the value of next from an earlier answer; without it, the last lines are returned"`
	Limit int       `query:"limit" default:"100" minimum:"1" maximum:"1000"`
}

type levelInput struct {
	ByName
	Body wire.LogLevelRequest
}

func (s logs) routes(api huma.API) {
	handle(s.server, api, route{act: catalog.LookAtNode,
		within: ofNode(s.server, func(in *logInput) string { return in.Name }), method: http.MethodGet,
		path: "/api/v1/nodes/{name}/log", id: "node-log", tag: "nodes",
		summary: "Show the last lines of a node's log"},
		func(ctx context.Context, in *logInput) (wire.NodeLog, error) {
			node, err := s.node(ctx, in.Name)
			if err != nil {
				return wire.NodeLog{}, err
			}
			return s.nodes.Lines(ctx, catalog.NodeID(node.ID), LogQuery{Level: in.Level, Text: in.Text, Room: in.Room,
				Since: in.Since, After: in.After, Limit: in.Limit})
		})
	handle(s.server, api, route{act: catalog.ChangeNode,
		within: ofNode(s.server, func(in *levelInput) string { return in.Name }), method: http.MethodPut,
		path: "/api/v1/nodes/{name}/log-level", id: "node-log-level", tag: "nodes",
		summary: "Make a node log more for a time"},
		func(ctx context.Context, in *levelInput) (wire.LogLevel, error) {
			node, err := s.node(ctx, in.Name)
			if err != nil {
				return wire.LogLevel{}, err
			}
			length, err := time.ParseDuration(in.Body.For)
			if err != nil {
				return wire.LogLevel{}, problem(http.StatusUnprocessableEntity, wire.CodeInvalid,
					"for "+in.Body.For+": want a time such as 15m or 2h")
			}
			return s.nodes.Raise(ctx, catalog.NodeID(node.ID), in.Body.Level, length, callerOf(ctx).Actor)
		})
}
