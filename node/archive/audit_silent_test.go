package archive

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/replica"
)

// knowing are nodes that know audits; those that are away do not answer.
type knowing struct {
	audits map[catalog.NodeID][]replica.Audit
	away   map[catalog.NodeID]bool
}

func (k knowing) Call(_ context.Context, to catalog.NodeID, _ string, _ []byte) ([]byte, error) {
	if k.away[to] {
		return nil, errors.New("not reached")
	}
	return json.Marshal(k.audits[to])
}

// TestAuditsOfNodesThatDoNotAnswer: a list names such nodes, an audit that only they may know is not said not to be there,
// and an audit is not said to be stopped while a part of it may go on.
func TestAuditsOfNodesThatDoNotAnswer(t *testing.T) {
	a, audits := scoped(t)
	north, south := idOf("north-1"), idOf("south-1")
	both := replica.Audit{ID: "both", Group: "both", State: replica.AuditRunning, Nodes: []catalog.NodeID{north, south}}
	ended := both
	ended.ID, ended.Group, ended.State = "ended", "ended", replica.AuditDone
	one := replica.Audit{ID: "one", Group: "one", State: replica.AuditRunning, Nodes: []catalog.NodeID{north}}
	asked := knowing{away: map[catalog.NodeID]bool{},
		audits: map[catalog.NodeID][]replica.Audit{north: {both, ended, one}, south: {both, ended}}}
	audits.Cluster = Cluster{Self: idOf("nobody"), Catalog: a, Ask: asked, Log: slog.New(slog.DiscardHandler)}

	all, silent, err := audits.List(t.Context())
	if err != nil || len(all) != 3 || len(silent) != 0 {
		t.Errorf("all answer: %d audits, %v, %v", len(all), silent, err)
	}
	if _, err := audits.Show(t.Context(), "none"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("an audit that nobody knows: %v", err)
	}
	if _, err := audits.Wish(t.Context(), "both", catalog.WishStop, "", "test"); err != nil {
		t.Errorf("stopped everywhere: %v", err)
	}

	asked.away[south] = true
	all, silent, err = audits.List(t.Context())
	if err != nil || len(all) != 3 || len(silent) != 1 || silent[0].Name != "south-1" || silent[0].Reason == "" {
		t.Errorf("one is away: %d audits, %v, %v", len(all), silent, err)
	}
	if _, err := audits.Show(t.Context(), "none"); !errors.Is(err, api.ErrUnavailable) || !strings.Contains(err.Error(), "south-1") {
		t.Errorf("an audit that south-1 may know: %v", err)
	}
	for id, wanted := range map[string]string{"one": "", "both": "south-1: ", "none": "south-1"} {
		_, err := audits.Wish(t.Context(), id, catalog.WishPause, "", "test")
		if (err != nil) != (wanted != "") || err != nil && (!errors.Is(err, api.ErrUnavailable) || !strings.Contains(err.Error(), wanted)) {
			t.Errorf("%s: paused: %v", id, err)
		}
	}
}
