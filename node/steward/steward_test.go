package steward

import (
	"context"
	"errors"
	"testing"

	"holdfast/duty"
)

func TestADutyThatFailsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	done := 0
	works := func(context.Context) error { done++; return nil }
	first, second := errors.New("no quorum"), errors.New("a damaged entry")
	err := inTurn(t.Context(), works, func(context.Context) error { return first }, works, func(context.Context) error { return second }, works)
	if done != 3 || !errors.Is(err, first) || !errors.Is(err, second) {
		t.Errorf("%d of 3 others done, error %v", done, err)
	}
}

func TestAnUndecidedCopyIsToldOfOnce(t *testing.T) {
	t.Parallel()
	a, b := duty.Undecided{Name: "a.warc", Replica: "north", Why: "a tie"}, duty.Undecided{Name: "b.warc", Replica: "north", Why: "a tie"}
	other := duty.Undecided{Name: "a.warc", Replica: "north", Why: "no good bytes"}
	var told map[duty.Undecided]bool
	for i, round := range []struct{ undecided, want []duty.Undecided }{
		{[]duty.Undecided{a}, []duty.Undecided{a}},
		{[]duty.Undecided{a, b}, []duty.Undecided{b}},
		{[]duty.Undecided{a, b}, nil},
		{[]duty.Undecided{other, b}, []duty.Undecided{other}},
		{nil, nil},
		{[]duty.Undecided{b}, []duty.Undecided{b}},
	} {
		var got []duty.Undecided
		got, told = fresh(told, round.undecided)
		if len(got) != len(round.want) || len(got) > 0 && got[0] != round.want[0] {
			t.Errorf("round %d names %v, want %v", i, got, round.want)
		}
	}
}
