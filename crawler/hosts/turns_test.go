package hosts

import (
	"fmt"
	"testing"
	"time"
)

// With several slots each rests by itself, and none is used twice at a time; what is free of rests is forgotten.
func TestTurns(t *testing.T) {
	t.Parallel()
	var turns Turns
	now := time.Now()
	at := []string{"h", "queue d"}
	for i := range 3 {
		if wait := turns.Admit(at, 3, now); wait != 0 {
			t.Fatalf("slot %d: %v", i, wait)
		}
	}
	if wait := turns.Admit([]string{"g", "queue d"}, 3, now); wait != TurnPoll {
		t.Errorf("a fourth waits %v", wait)
	}
	turns.Done(at, 5*time.Second, now)
	turns.Done(at, 2*time.Second, now)
	if wait := turns.Admit(at, 3, now.Add(time.Second)); wait != time.Second {
		t.Errorf("with two slots resting and one busy: %v", wait)
	}
	if wait := turns.Admit(at, 3, now.Add(2*time.Second)); wait != 0 {
		t.Errorf("after the shorter rest: %v", wait)
	}
	if wait := turns.Admit([]string{"g"}, 1, now); wait != 0 {
		t.Errorf("another host: %v", wait)
	}
	turns.Done([]string{"g"}, 0, now)
	for i := range 5000 {
		name := []string{fmt.Sprint(i)}
		turns.Admit(name, 1, now)
		turns.Done(name, time.Millisecond, now)
		now = now.Add(time.Millisecond)
	}
	if n := len(turns.at); n > 2*minTurns {
		t.Errorf("%d hosts are remembered", n)
	}
}
