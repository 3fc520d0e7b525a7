package raft

import (
	"errors"
	"testing"

	"holdfast/catalog"
)

// Refused commands are answered in their places, and the others are proposed together.
func TestVouchedCommandsAreAnsweredInOrder(t *testing.T) {
	commands := []catalog.Command{{Seq: 1}, {Seq: 2, Actor: "wrong"}, {Seq: 3}, {Seq: 4, Actor: "wrong"}}
	broken := errors.New("the state cannot be read")
	var fail error
	vouch := Vouch(func(_ catalog.NodeID, commands []catalog.Command) ([]error, error) {
		out := make([]error, len(commands))
		for i, c := range commands {
			if c.Actor == "wrong" {
				out[i] = &catalog.Refusal{Code: catalog.Denied, Message: "no"}
			}
		}
		return out, fail
	})
	var proposed []catalog.Command
	propose := func(commands []catalog.Command) []answer {
		proposed = commands
		out := make([]answer, len(commands))
		for i, c := range commands {
			out[i].result.Value = []byte{'0' + byte(c.Seq)}
		}
		return out
	}
	got := vouch.submit("n", commands, propose)
	for i, a := range got {
		refused := commands[i].Actor == "wrong"
		if (a.result.Refusal != nil) != refused || !refused && string(a.result.Value) != string('0'+rune(commands[i].Seq)) {
			t.Errorf("command %d: %+v", i+1, a)
		}
	}
	if len(proposed) != 2 {
		t.Errorf("%+v", proposed)
	}
	fail, proposed = broken, nil
	for _, a := range vouch.submit("n", commands, propose) {
		if !errors.Is(a.err, broken) || proposed != nil {
			t.Errorf("%+v", a)
		}
	}
	if got := Vouch(nil).submit("n", commands, propose); len(got) != 4 {
		t.Errorf("%+v", got)
	}
}
