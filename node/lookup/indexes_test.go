package lookup

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"holdfast/catalog"
)

// deaf is a way to other nodes on which nobody answers.
type deaf struct{}

func (deaf) Call(context.Context, catalog.NodeID, string, []byte) ([]byte, error) {
	return nil, errors.New("no route")
}

// A node that does not answer is marked as such: its figures are not known, and none of them is nought.
func TestASilentIndexIsNamed(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	x := Indexes{Self: "here", Name: "north-1", Ask: deaf{}, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Members: func() []catalog.Member {
			return []catalog.Member{{ID: "here", Name: "north-1"}, {ID: "away", Name: "south-1"}}
		}}
	all, err := x.Status(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("%v %v", all, err)
	}
	for _, one := range all {
		if silent := one.Name == "south-1"; one.Silent != silent || silent && !strings.Contains(one.Detail, "no route") {
			t.Errorf("%+v", one)
		}
	}
	if err := x.Rebuild(t.Context(), "away", "it is slow", "person:p1"); err == nil || !strings.Contains(log.String(), `reason="it is slow"`) || !strings.Contains(log.String(), "by=person:p1") {
		t.Errorf("%v: %s", err, log.String())
	}
}
