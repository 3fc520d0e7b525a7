package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"holdfast/api/wire"
	"holdfast/client"
)

// Lines of a log have what the web gave: nothing of that reaches a terminal as it is, or looks like another line.
func TestLogLinesCannotSteerATerminal(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 24, 8, 30, 0, 5e6, time.UTC)
	hostile := "a\x1b]0;x\a\r\n2026-11-24 WARN all\u202e is well\x9b\xff"
	var out strings.Builder
	err := printLines(&out, []wire.LogLine{
		{Time: at, Level: "info", Message: "file indexed", Attributes: []wire.LogAttribute{{Name: "file", Value: "Å.warc"}, {Name: "why", Value: ""}, {Name: "n", Value: "a b=c"}}},
		{Time: at, Level: "error", Message: hostile, Attributes: []wire.LogAttribute{{Name: hostile, Value: hostile}}}})
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(out.String(), "\n")
	if first != `2026-11-24 08:30:00.005 INFO  file indexed file=Å.warc why="" n="a b=c"` {
		t.Error(first)
	}
	if strings.Count(rest, "\n") != 1 || strings.ContainsFunc(strings.TrimSuffix(rest, "\n"), func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%q", rest)
	}
}

// both takes what goes to stdout and stderr, in order.
type both struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *both) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// Who follows a log is told of what is missing, and a node that is away for a while is asked again from where it was.
func TestFollowingALogSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	line := func(text string) []wire.LogLine { return []wire.LogLine{{Level: "info", Message: text}} }
	answers := []any{wire.NodeLog{Items: line("one"), Next: "a-1"}, wire.NodeLog{Items: line("two"), Next: "a-2"}, nil, nil,
		wire.NodeLog{Items: line("three"), Next: "b-9", Restarted: true, Missed: 7}, wire.NodeLog{Next: "b-9"}}
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("after"))
		answer := answers[min(len(asked), len(answers))-1]
		if len(asked) == len(answers) {
			cancel()
		}
		if answer == nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			answer = wire.Problem{Type: wire.ProblemType + string(wire.CodeUnavailable), Status: http.StatusServiceUnavailable, Detail: "south-1 is away"}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	c, err := client.New(server.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var out both
	a := &app{ctx: ctx, stdout: &out, stderr: &out}
	first, err := c.Nodes().Log(ctx, "south-1", client.LogQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if err := (logShowCmd{}).follow(ctx, a, c.Nodes(), "south-1", client.LogQuery{}, first, time.Millisecond); err != nil {
		t.Error(err)
	}
	if got := strings.Join(asked, " "); got != " a-1 a-2 a-2 a-2 b-9" {
		t.Errorf("asked after %q", got)
	}
	at := 0
	for _, want := range []string{"INFO  one\n", "INFO  two\n", "-- the node does not answer", "-- the node was started again", "-- 7 lines are no longer", "INFO  three\n"} {
		i := strings.Index(out.text.String()[at:], want)
		if i < 0 {
			t.Fatalf("%q is not there, or too early:\n%s", want, out.text.String())
		}
		at += i
	}
	if n := strings.Count(out.text.String(), "does not answer"); n != 1 {
		t.Errorf("said %d times:\n%s", n, out.text.String())
	}
}
