package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
)

// logbooks are the logs of the tests' nodes: what was asked of them, and what they answer.
type logbooks struct {
	asked  []string
	answer NodeLog
	err    error
}

func (l *logbooks) Lines(_ context.Context, node catalog.NodeID, q LogQuery) (NodeLog, error) {
	l.asked = append(l.asked, fmt.Sprintf("%t %+v", node == self, q))
	return l.answer, l.err
}

func (l *logbooks) Raise(_ context.Context, node catalog.NodeID, level string, length time.Duration, actor string) (LogLevel, error) {
	l.asked = append(l.asked, fmt.Sprint(node == self, " ", level, " ", length, " ", actor))
	return LogLevel{Now: level, Usual: "info", Until: time.Unix(1000, 0).UTC(), By: actor}, l.err
}

func TestLogOfANodeIsAskedFor(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	books := &b.books
	*books = logbooks{answer: NodeLog{Name: "north-1", Items: []LogLine{{Level: "warn", Message: "m", Attributes: []LogAttribute{{Name: "a", Value: "b"}}}}, Next: "4d-7", Missed: 3}}
	c := open(b.person("admin", catalog.Giving{Role: catalog.RoleAdmin}))
	since := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	got, err := c.Nodes().Log(t.Context(), "north-1", client.LogQuery{Level: "warn", Text: "a=b & c", Room: "index", Since: since, After: "4d-6", Limit: 7})
	if err != nil || got.Next != "4d-7" || got.Missed != 3 || got.Items[0].Attributes[0].Value != "b" {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := c.Nodes().Log(t.Context(), "north-1", client.LogQuery{}); err != nil {
		t.Error(err)
	}
	level, err := c.Nodes().SetLogLevel(t.Context(), "north-1", wire.LogLevelRequest{Level: "debug", For: "2h"})
	if err != nil || level.By != "person:admin" || level.Until.Unix() != 1000 {
		t.Errorf("%+v %v", level, err)
	}
	if _, err := c.Nodes().SetLogLevel(t.Context(), "north-1", wire.LogLevelRequest{Level: "debug"}); err != nil {
		t.Error(err)
	}
	want := []string{"true {Level:warn Text:a=b & c Room:index Since:2026-01-02 03:04:05.000000006 +0000 UTC After:4d-6 Limit:7}",
		"true {Level: Text: Room: Since:0001-01-01 00:00:00 +0000 UTC After: Limit:100}", "true debug 2h0m0s person:admin", "true debug 15m0s person:admin"}
	if fmt.Sprint(books.asked) != fmt.Sprint(want) {
		t.Errorf("asked %q\nwant %q", books.asked, want)
	}
	for name, do := range map[string]func() error{
		"no level": func() error {
			_, err := c.Nodes().Log(t.Context(), "north-1", client.LogQuery{Level: "loud"})
			return err
		},
		"too many": func() error {
			_, err := c.Nodes().Log(t.Context(), "north-1", client.LogQuery{Limit: 1001})
			return err
		},
		"no level 2": func() error { return raise(t, c, "loud", "1m") },
		"no time":    func() error { return raise(t, c, "debug", "soon") },
	} {
		if err := do(); !errors.Is(err, wire.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.Nodes().Log(t.Context(), "nobody", client.LogQuery{}); !errors.Is(err, wire.ErrNotFound) {
		t.Errorf("of no node: %v", err)
	}
	books.err = fmt.Errorf("%w: read the log of north-1: gone", ErrUnavailable)
	_, err = c.Nodes().Log(t.Context(), "north-1", client.LogQuery{})
	if wrong := (*wire.Error)(nil); !errors.As(err, &wrong) || wrong.Status != http.StatusServiceUnavailable {
		t.Errorf("a node that does not answer: %v", err)
	}
	if n := len(books.asked); n != 5 {
		t.Errorf("asked %d times", n)
	}
}

func raise(t *testing.T, c *client.Client, level, length string) error {
	_, err := c.Nodes().SetLogLevel(t.Context(), "north-1", wire.LogLevelRequest{Level: level, For: length})
	return err
}
