package catalog_test

import (
	"testing"
	"time"

	"holdfast/catalog"
)

// TestAClockThatWasPutAheadIsSetBack: one command of a clock that is ten years ahead does not hold for good.
func TestAClockThatWasPutAheadIsSetBack(t *testing.T) {
	c := foundCluster(t)
	c.raise(t)
	now := catalog.At(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	ahead := now + catalog.Time(10*365*24*time.Hour/time.Millisecond)
	say := func(at catalog.Time, kind catalog.Kind, body any) *catalog.Refusal {
		return c.send(t, catalog.Command{Kind: kind, At: at}, body).Refusal
	}
	clock := func() catalog.Time {
		at, err := c.view().Clock()
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	token := catalog.JoinToken{ID: "t", SecretHash: digest("x"), Replica: "north", Expires: now + 1000}
	if r := say(ahead, catalog.SetCollection, catalog.Collection{Name: "odd"}); r != nil || clock() != ahead {
		t.Fatalf("%v, the clock is %d", r, clock())
	}
	if r := say(now, catalog.CreateToken, token); r == nil {
		t.Fatal("a token that expires before the catalog's clock was made")
	}
	if r := say(now, catalog.SetClock, catalog.ClockChange{}); r != nil || clock() != now {
		t.Fatalf("%v, the clock is %d, want %d", r, clock(), now)
	}
	if r := say(now, catalog.CreateToken, token); r != nil {
		t.Errorf("a token after the clock was set: %v", r)
	}
	if r := say(now-catalog.ClockMost, catalog.SetClock, catalog.ClockChange{}); r == nil || clock() != now {
		t.Errorf("a clock that is a little ahead was set back: %v, %d", r, clock())
	}
}
