package archive

import (
	"testing"
	"time"

	"holdfast/replica"
)

// Only what came to its end and read something counts as the last audit, whenever it is in the list.
func TestTheLastAudit(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }
	all := []replica.Audit{
		{ID: "later", State: replica.AuditIncomplete, Ended: at(4)},
		{ID: "earlier", State: replica.AuditDone, Ended: at(3)},
		{ID: "stopped", State: replica.AuditStopped, Ended: at(5)},
		{ID: "looked", Kind: replica.AuditPresence, State: replica.AuditDone, Ended: at(6)},
		{ID: "runs", State: replica.AuditRunning}, {ID: "waits", State: replica.AuditPaused},
		{ID: "looks", Kind: replica.AuditPresence, State: replica.AuditRunning},
	}
	if running, last := LastAudit(all); running != 2 || last.ID != "later" {
		t.Errorf("%d run, the last is %q", running, last.ID)
	}
	if running, last := LastAudit(all[4:]); running != 2 || !last.Ended.IsZero() {
		t.Errorf("without one: %d run, the last is %q", running, last.ID)
	}
}
