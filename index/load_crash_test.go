package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast/cdx"
	"holdfast/internal/disk"
	"holdfast/internal/seed"
)

const loadedInCrash = 60_000 // captures, with several runs of digests

// TestLoadVictim loads an index until it is killed. It does nothing unless TestKillLoad started it.
func TestLoadVictim(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		return
	}
	x, err := Open(Config{Dir: dir, MemoryMiB: 16}, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Println("error", err)
		return
	}
	i := 0
	err = x.Load(context.Background(), func(yield func(cdx.Capture, error) bool) {
		for c, err := range synthetic(loadedInCrash) {
			if i%5_000 == 0 {
				fmt.Println("at", i)
			}
			if i++; !yield(c, err) {
				return
			}
		}
	})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println("loaded")
	select {} // until it is killed
}

// A process killed at any moment of a load leaves an index that opens empty and can be loaded, or a whole one; a
// whole one when the load was acknowledged.
func TestKillLoad(t *testing.T) {
	// Not parallel: a process that begins holds the locks of the databases that other tests have open, for a moment.
	random := seed.Rand(t)
	const lines = loadedInCrash/5_000 + 1 // what the victim says in all
	for _, kill := range []int{random.IntN(lines - 1), lines - 2, lines - 2, lines - 1} {
		dir := filepath.Join(t.TempDir(), "index")
		said := map[string]string{}
		runVictim(t, "TestLoadVictim", dir, kill, time.Duration(random.IntN(300))*time.Millisecond, said)
		whole := checkLoaded(t, dir, loadedInCrash)
		if said[""] == "loaded" && !whole {
			t.Error("a load that was acknowledged is gone")
		}
		t.Logf("killed after line %d: loaded %v", kill, whole)
	}
}

// checkLoaded opens an index that must be empty, and then can be loaded, or hold the first n synthetic captures.
func checkLoaded(t *testing.T, dir string, n int) (whole bool) {
	t.Helper()
	x := openIndex(t, dir)
	if whole = x.Status().Files > 0; !whole {
		if got := entries(t, x); got != 0 {
			t.Errorf("%d entries in an empty index", got)
		}
		if err := x.Load(context.Background(), synthetic(n)); err != nil {
			t.Error(err)
		}
	}
	if got := x.Status(); got.Captures != int64(n) || got.Purging != 0 {
		t.Errorf("status %+v, want %d captures", got, n)
	}
	if got := entries(t, x); got != 2*n {
		t.Errorf("%d entries, want %d", got, 2*n)
	}
	return whole
}

// Whatever operation on the disk fails during a load: nothing answers that was not loaded, and the index can be
// used at once or after it is opened again.
func TestFaultsInLoad(t *testing.T) {
	t.Parallel()
	const n = 3000
	for at := 1; ; at++ {
		twin := disk.NewFaulty(t.TempDir())
		dir := filepath.Join(t.TempDir(), "index")
		x, err := Open(Config{Dir: dir, MemoryMiB: 16, Disk: twin.Disk()}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		before := twin.Ops()
		twin.FailAt(at, nil)
		err = x.Load(context.Background(), synthetic(n))
		reached := twin.Ops()-before >= at
		twin.FailAt(0, nil)
		if err == nil {
			if reached {
				t.Errorf("operation %d failed and was not noticed", at)
			}
			if got := x.Status().Captures; got != n {
				t.Errorf("%d captures, want %d", got, n)
			}
		} else {
			if !errors.Is(err, disk.ErrInjected) {
				t.Errorf("operation %d: %v", at, err)
			}
			c := syntheticCapture(0)
			if _, found, err := x.Digest(context.Background(), c.Digest, nil); found || err != nil && !errors.Is(err, disk.ErrInjected) {
				t.Errorf("operation %d: found %v, %v", at, found, err)
			}
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		checkLoaded(t, dir, n)
		if !reached {
			return
		}
	}
}
