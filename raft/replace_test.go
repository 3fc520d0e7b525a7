package raft

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"holdfast/internal/disk"
)

// Raft takes a snapshot in two steps, and another store can come between them: by an install, or by a rewrite. The older
// marker must not become that store's, which has nothing as old.
func TestAnOlderMarkerDoesNotReachANewStore(t *testing.T) {
	t.Parallel()
	s, from := filled(t), filled(t)
	write(t, from, 9, 2, "one", "four")
	sink, err := newSnapshots(s, func() {}).Create(1, 2, 1, configuration{}.raft(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	next, err := s.install(bytes.NewReader(streamed(t, from, 9)), anyHead)
	if err != nil {
		t.Fatal(err)
	}
	s.adopt(next)
	if err := (markerSnapshot{}).Persist(sink); !errors.Is(err, errOlderMarker) {
		t.Errorf("marked: %v", err) // else Raft would take the older place for that of its last snapshot
	}
	if got := s.store().markerNow(); got.Index != 9 || got.Synced != 9 {
		t.Errorf("the marker is %+v", got)
	}
	again(t, s, "one at 9")
}

// A store that was received and waits to be adopted is not forgotten for one that was made of the present store.
func TestAReceivedStoreIsNotReplaced(t *testing.T) {
	t.Parallel()
	s, from := filled(t), filled(t)
	write(t, from, 9, 2, "one", "four")
	old, version, err := s.pin()
	if err != nil {
		t.Fatal(err)
	}
	rewritten, number, err := s.copyAt(t.Context(), old, version)
	old.unpin(version)
	if err != nil {
		t.Fatal(err)
	}
	received, err := s.install(bytes.NewReader(streamed(t, from, 9)), anyHead)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.replace(old, rewritten, number); !errors.Is(err, ErrNotPurged) {
		t.Errorf("replaced: %v", err)
	}
	if err := rewritten.close(); err != nil {
		t.Fatal(err)
	}
	s.adopt(received)
	again(t, s, "one at 9")
}

// again opens a second state on a copy of the folder of the first, and reads the key "one".
func again(t *testing.T, s *state, want string) {
	t.Helper()
	s.retiring.Wait()
	if err := s.store().sync(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(s.dir)); err != nil {
		t.Fatal(err)
	}
	second, err := openState(dir, disk.New(), 4, false, func(string) error { return nil }, quiet())
	if err != nil {
		t.Fatalf("open it again: %v", err)
	}
	defer func() {
		if err := second.close(); err != nil {
			t.Error(err)
		}
	}()
	err = second.view(func(r reader) error {
		value, err := r.Get([]byte("one"))
		if string(value) != want {
			t.Errorf("it has %q, want %q", value, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Whatever fails while the pointer is written, it names the folder that it named before, or the new one if all went well.
func TestAFailedPointerIsTakenBack(t *testing.T) {
	t.Parallel()
	for fault := 1; ; fault++ {
		faulty := disk.NewFaulty(t.TempDir())
		s := &state{dir: t.TempDir(), disk: faulty.Disk()}
		if err := s.writePointer(1); err != nil {
			t.Fatal(err)
		}
		before := faulty.Ops()
		faulty.FailOnce(fault, disk.ErrInjected)
		failed := s.writePointer(2)
		now, err := s.pointer()
		if err != nil || failed != nil && now != 1 || failed == nil && now != 2 {
			t.Errorf("fault %d: the pointer names %d after %v, %v", fault, now, failed, err)
		}
		if failed == nil && faulty.Ops() < before+fault {
			return // no step was left to fail
		}
	}
}
