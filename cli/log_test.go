package cli

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"holdfast/api/wire"
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
