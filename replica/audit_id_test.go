package replica

import (
	"testing"
	"time"

	"holdfast/internal/disk"
)

// TestAuditIDsNeedNoClock begins an audit after the clock was set back by centuries. Counting up to an id that is not taken
// would take as many milliseconds' steps, under the lock.
func TestAuditIDsNeedNoClock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := openAudits(dir, disk.New(), discard())
	if err != nil {
		t.Fatal(err)
	}
	add := func() string {
		one, err := a.add(&Audit{State: AuditRunning, Began: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		return one.ID
	}
	// One of an earlier version, whose id was a time.
	a.all = append(a.all, &Audit{ID: "29991231235959999", State: AuditRunning})
	if err := a.save(a.all[0]); err != nil {
		t.Fatal(err)
	}
	ids := []string{"29991231235959999", add(), add()}
	if a, err = openAudits(dir, disk.New(), discard()); err != nil {
		t.Fatal(err)
	}
	ids = append(ids, add())
	for i, one := range a.all {
		if one.ID != ids[i] || i > 0 && ids[i] <= ids[i-1] {
			t.Errorf("audit %d has the id %s after a restart, want %s; all: %v", i, one.ID, ids[i], ids)
		}
	}
}
