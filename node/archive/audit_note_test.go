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
	"holdfast/catalog/files"
	"holdfast/replica"
)

// cutOff is an agreed state that decides nothing as long as it is cut off from the others.
type cutOff struct {
	*agreedIn
	cut bool
}

func (c *cutOff) Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	if c.cut {
		return catalog.Result{}, errors.New("no quorum")
	}
	return c.agreedIn.Propose(ctx, kind, body, actor)
}

// auditors begin the audits that they are asked for, those that are reached.
type auditors struct {
	away  map[catalog.NodeID]bool
	began []string
}

func (a *auditors) Call(_ context.Context, to catalog.NodeID, _ string, request []byte) ([]byte, error) {
	if a.away[to] {
		return nil, errors.New("not reached")
	}
	var r replica.AuditRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, err
	}
	if r.Act == "start" {
		a.began = append(a.began, r.ID)
	}
	var out []replica.Audit
	for _, id := range a.began {
		out = append(out, replica.Audit{ID: id, Group: id, State: replica.AuditRunning})
	}
	return json.Marshal(out)
}

// TestAnAuditIsInTheTrailWhenItHasBegun: a site that is cut off audits its copies, and says that the trail does not
// know; an audit that nobody began is not in the trail.
func TestAnAuditIsInTheTrailWhenItHasBegun(t *testing.T) {
	a, audits := scoped(t)
	agreed := &cutOff{agreedIn: a}
	asked := &auditors{away: map[catalog.NodeID]bool{idOf("south-1"): true}}
	audits.Cluster = Cluster{Self: idOf("nobody"), Catalog: agreed, Ask: asked, Log: slog.New(slog.DiscardHandler)}
	events := func() (out []string) {
		t.Helper()
		if err := a.View(func(v catalog.View) error {
			all, err := v.Trail(0, 1000)
			for _, e := range all {
				if e.Act == string(files.NoteAudit) {
					out = append(out, e.Actor+" "+e.Subject+" "+e.Detail)
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	order := api.AuditOrder{Replica: "north", Reason: "a doubt"}
	audit, err := audits.Start(t.Context(), order, "person:p1")
	if err != nil || audit.Unrecorded != "" {
		t.Fatalf("%+v, %v", audit, err)
	}
	want := "person:p1 " + audit.ID + " kind=checksum replica=north scope=all files reason=a doubt"
	if got := events(); len(got) != 1 || got[0] != want {
		t.Fatalf("the trail has %q, want %q", got, want)
	}
	agreed.cut = true
	audit, err = audits.Start(t.Context(), order, "person:p1")
	if err != nil || !strings.Contains(audit.Unrecorded, "no quorum") || len(asked.began) != 2 {
		t.Errorf("cut off: %+v, %v", audit, err)
	}
	agreed.cut = false
	if _, err := audits.Start(t.Context(), api.AuditOrder{Replica: "south"}, "person:p1"); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("of a replica that is not reached: %v", err)
	}
	if _, err := audits.Start(t.Context(), api.AuditOrder{Replica: "nowhere"}, "person:p1"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("of no replica: %v", err)
	}
	if got := events(); len(got) != 1 {
		t.Errorf("the trail has %q", got)
	}
}
