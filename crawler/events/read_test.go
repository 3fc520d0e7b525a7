package events

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// What is written to job.log is found there by number, however long the log is and though lines in it were torn.
func TestEventsAreReadFromTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.log")
	if _, _, err := Read(path, 0, All, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a log: %v", err)
	}
	if found, _, err := Read(filepath.Dir(path), 0, All, 10); err == nil {
		t.Errorf("of what cannot be read: %d events and no error", len(found))
	}
	var log []byte
	var all []uint64
	for n := uint64(1); n <= 9000; n++ {
		switch {
		case n == 4000:
			log = append(log, "2026-03-04T12:00:00.123Z 40"...) // torn by a crash
			log = append(log, '\n')
			continue
		case n%7 == 0: // a sample, that was not written
			continue
		}
		log = (&Event{Number: n, Time: noon, Kind: Alert, Reason: strings.Repeat("x", int(n%200))}).AppendTo(log)
		all = append(all, n)
	}
	if err := os.WriteFile(path, append(log, "2026-03-04T12:00:00.123Z 9001 alert {}"...), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		after, before uint64
		max           int
	}{{0, All, 10}, {0, All, 1 << 20}, {1, 4, 10}, {3998, All, 3}, {4000, 4010, 100}, {7000, All, 5}, {8998, All, 5}, {9000, All, 5}, {12000, All, 5}, {5, 5, 5}} {
		var want []uint64
		for _, n := range all {
			if n > tt.after && n < tt.before && len(want) < tt.max {
				want = append(want, n)
			}
		}
		found, missed, err := Read(path, tt.after, tt.before, tt.max)
		if got := numbers(found); err != nil || missed || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("after %d, before %d: %d events of %d, missed %v, %v", tt.after, tt.before, len(got), len(want), missed, err)
		}
	}
	if err := os.WriteFile(path, (&Event{Number: 50, Time: noon, Kind: Alert}).AppendTo(nil), 0o644); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[uint64]bool{0: true, 48: true, 49: false, 50: false, 60: false} {
		if found, missed, err := Read(path, after, All, 10); err != nil || missed != want {
			t.Errorf("a log that begins at 50, after %d: %v missed %v %v", after, numbers(found), missed, err)
		}
	}
}

// A hub of a run that goes on says that what came before it is elsewhere; a closed one that nothing comes any more.
func TestPagesTellTheirBounds(t *testing.T) {
	h := NewHub(Config{Last: 7})
	if p := h.Since(5, 10); !p.Missed || p.Ended {
		t.Errorf("before the first event of a second run: %+v", p)
	}
	n := h.Publish(Event{Kind: Started})
	if p := h.Since(n-1, 10); p.Missed || !reflect.DeepEqual(numbers(p.Events), []uint64{n}) {
		t.Errorf("the first event of a second run: %+v", p)
	}
	h.Close()
	if p := h.Since(n, 10); !p.Ended || p.Missed {
		t.Errorf("of a closed hub: %+v", p)
	}
}
