package replica

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// TestANewCopyIsReadBack flips a bit in a copy just after it came, when no audit is due. An hour later it is disputed.
func TestANewCopyIsReadBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1", "sums-1")
		south := c.node("south-1")
		c.node("north-1").put(fileName(1), 1, 3000)
		c.node("north-1").put(fileName(2), 2, 3000)
		c.complete(fileName(1), fileName(2))
		synctest.Wait()
		flip(t, south.r.store.Path(fileName(1)))
		began := time.Now()
		c.until("what is wrong is found", func(v catalog.View) bool {
			f, err := v.File(fileName(1))
			return err == nil && f.Copy("south").Disputed
		})
		if took := time.Since(began); took < freshAfter/2 || took > freshAfter+time.Minute {
			t.Errorf("found after %v", took)
		}
		sleep(t.Context(), time.Minute) // the second copy came a little later
		if waiting, dropped := south.r.store.fresh.left(); waiting > 0 || dropped > 0 {
			t.Errorf("%d copies wait, %d were dropped", waiting, dropped)
		}
	})
}

// TestTheListOfNewCopiesSurvives saves the list, reads some copies back, crashes and opens it again: each copy that had
// not been read back is on it.
func TestTheListOfNewCopiesSurvives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	twin := disk.NewFaulty(t.TempDir())
	path := filepath.Join(dir, "fresh")
	f, err := openFresh(path, twin.Disk())
	if err != nil {
		t.Fatal(err)
	}
	now := time.UnixMilli(1_000_000_000_000)
	names := series("f", 5)
	for i, name := range names {
		f.add(name, now.Add(time.Duration(i)*time.Minute))
		if i%2 == 0 {
			if err := f.save(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if name, _, due := f.next(now.Add(freshAfter)); !due || name != names[0] {
		t.Fatalf("%s, %v", name, due)
	}
	if name, pause, due := f.next(now.Add(freshAfter)); due || pause != time.Minute {
		t.Fatalf("%s, %v, %v", name, pause, due)
	}
	if err := f.save(); err != nil {
		t.Fatal(err)
	}
	if err := twin.Crash(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, "12345 to"...), 0o600); err != nil { // torn, but a name
		t.Fatal(err)
	}
	again, err := openFresh(path, twin.Disk())
	if err != nil {
		t.Fatal(err)
	}
	var left []catalog.FileName
	for {
		name, _, due := again.next(now.Add(48 * time.Hour))
		if !due {
			break
		}
		left = append(left, name)
	}
	if !slices.Equal(left, append(names, "to")) {
		t.Errorf("left are %v", left)
	}
	if err := again.save(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || len(text) > 0 {
		t.Errorf("when all are read back the file has %q, %v", text, err)
	}
}

// TestNewCopiesBeyondMeasure comes with more copies than are remembered.
func TestNewCopiesBeyondMeasure(t *testing.T) {
	t.Parallel()
	f := &freshCopies{}
	now := time.Now()
	for range freshMost + 3 {
		f.add("a", now)
	}
	if waiting, dropped := f.left(); waiting != freshMost || dropped != 3 {
		t.Errorf("%d wait, %d were dropped", waiting, dropped)
	}
	f.waiting = []freshCopy{{"b", now.Add(1000 * time.Hour)}}
	if name, _, due := f.next(now); !due || name != "b" {
		t.Errorf("a copy with a stamp of the future: %v", due)
	}
}
