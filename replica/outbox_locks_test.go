package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// TestAPutThatFailsOnceCanBeMadeAgain fails one write step of a put, and no other, with and without a power cut. What
// is in the outbox then has its note, and the file can be put again, before and after a restart.
func TestAPutThatFailsOnceCanBeMadeAgain(t *testing.T) {
	t.Parallel()
	for _, own := range []Ownership{Foreign, Owned} {
		for _, cut := range []bool{false, true} {
			for n, fault := 1, true; fault; n++ {
				path, b := sourceFile(t, 3, 5000)
				dir := t.TempDir()
				twin := disk.NewFaulty(t.TempDir())
				s := openStore(t, storeConfig(dir), twin.Disk())
				as := catalog.Addition{Name: "p.warc.gz", Collection: "web"}
				twin.FailOnce(n, nil)
				_, _, err := s.Adopt(t.Context(), path, as, own)
				fault = err != nil
				twin.FailAt(0, nil)
				if cut {
					if err := twin.Crash(); err != nil {
						t.Fatal(err)
					}
					s = openStore(t, storeConfig(dir), twin.Disk())
				}
				left, err := s.Outbox()
				if err != nil || len(left) > 0 != s.InOutbox(as.Name) || !fault && len(left) != 1 {
					t.Fatalf("ownership %d, cut %t, fault %d: bytes %t, notes %v, %v", own, cut, n, s.InOutbox(as.Name), left, err)
				}
				if _, _, err := s.Adopt(t.Context(), path, as, own); err != nil {
					t.Fatalf("ownership %d, cut %t, fault %d: then Adopt: %v", own, cut, n, err)
				}
				if err := twin.Crash(); err != nil {
					t.Fatal(err)
				}
				s = openStore(t, storeConfig(dir), twin.Disk())
				if !bytes.Equal(read(t, s, "p.warc.gz"), b) {
					t.Fatalf("ownership %d, cut %t, fault %d: other bytes", own, cut, n)
				}
			}
		}
	}
}

// TestOutboxAtOnce puts, lists and discharges files under a few names at once while the disk fails at a step, and cuts
// the power. What was acknowledged and not discharged is there, with the bytes of one that put it.
func TestOutboxAtOnce(t *testing.T) {
	t.Parallel()
	names := []catalog.FileName{"a", "b", "c", "d"}
	var bodies [2][]byte
	var paths [2]string
	for i := range paths {
		paths[i], bodies[i] = sourceFile(t, uint64(10+i), 3000+i)
	}
	for n := 1; n < 130; n += 4 {
		dir := t.TempDir()
		twin := disk.NewFaulty(t.TempDir())
		s := openStore(t, storeConfig(dir), twin.Disk())
		var mu sync.Mutex
		acked := map[catalog.FileName]map[int]bool{}
		gone := map[catalog.FileName]bool{}
		twin.FailAt(n, nil)
		var all sync.WaitGroup
		for _, name := range names {
			for i := range 4 {
				all.Go(func() {
					got, _, err := s.Adopt(t.Context(), paths[i%2], catalog.Addition{Name: name}, Ownership(i/2))
					if err == nil && got.Size != int64(len(bodies[i%2])) {
						t.Errorf("%s: %d bytes", name, got.Size)
					}
					mu.Lock()
					defer mu.Unlock()
					if acked[name] == nil {
						acked[name] = map[int]bool{}
					}
					acked[name][i%2] = acked[name][i%2] || err == nil
					if err != nil && !errors.Is(err, ErrExists) && !errors.Is(err, disk.ErrInjected) {
						t.Errorf("put %s: %v", name, err)
					}
				})
			}
		}
		for range 2 {
			all.Go(func() {
				some := []catalog.FileName{"d", "c", "d"}
				err := s.Discharge(some...)
				mu.Lock()
				defer mu.Unlock()
				gone["c"], gone["d"] = true, true
				if err != nil && !errors.Is(err, disk.ErrInjected) {
					t.Error(err)
				}
			})
			all.Go(func() {
				if _, err := s.Outbox(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if err := twin.Crash(); err != nil {
			t.Fatal(err)
		}
		s = openStore(t, storeConfig(dir), twin.Disk())
		left, err := s.Outbox()
		if err != nil {
			t.Fatal(err)
		}
		checkOutbox(t, s, dir, left)
		for _, name := range names {
			if acked[name][0] && acked[name][1] && !gone[name] {
				t.Errorf("step %d: both of two files were put as %s", n, name)
			}
			for i, ok := range acked[name] {
				if ok && !gone[name] && !bytes.Equal(read(t, s, string(name)), bodies[i]) {
					t.Errorf("step %d: %s has other bytes than were acknowledged", n, name)
				}
			}
		}
	}
}

// checkOutbox compares the notes, which are all that is listed, with the bytes.
func checkOutbox(t *testing.T, s *Store, dir string, left []catalog.Addition) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "outbox"))
	if err != nil {
		t.Fatal(err)
	}
	var files, listed []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			files = append(files, e.Name())
		}
	}
	for _, as := range left {
		listed = append(listed, string(as.Name))
		size, digest, err := s.hashFile(context.Background(), s.outboxPath(as.Name), nil)
		if err != nil || size != as.Size || digest != as.SHA256 {
			t.Errorf("%s: %d bytes with SHA-256 %s, the note says %d with %s; %v", as.Name, size, digest, as.Size, as.SHA256, err)
		}
	}
	if !slices.Equal(files, listed) {
		t.Errorf("files %v, with notes %v", files, listed)
	}
}

// TestNameLocks takes many names at once, in any order, and all of them: nobody waits for ever, and no two have a name.
func TestNameLocks(t *testing.T) {
	t.Parallel()
	var locks nameLocks
	counts := make([]int, 200) // each guarded by its name's lock alone
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for round := range 200 {
				some := []int{(g*31 + round*7) % 200, (g*17 + round*13) % 200, (g + round) % 200}
				unlock := locks.lock(catalog.FileName(fmt.Sprint(some[0])), catalog.FileName(fmt.Sprint(some[1])),
					catalog.FileName(fmt.Sprint(some[2])))
				for _, i := range some {
					counts[i]++
				}
				unlock()
				if round%50 == 0 {
					unlock := locks.lockAll()
					counts[0]++
					unlock()
				}
			}
		})
	}
	all.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	if want := 8 * (200*3 + 4); sum != want {
		t.Errorf("%d changes under locks, want %d: some were made at once", sum, want)
	}
}
