package replica

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// onTwoDisks returns a store on two roots with files of one shard on the first, the names, and their bytes.
func onTwoDisks(t *testing.T, dir string, d disk.Disk, files, size int) (*Store, []string) {
	t.Helper()
	cfg := twoRoots(dir)
	cfg.Asked = filepath.Join(dir, "disks.json")
	s := openStore(t, cfg, d)
	names := siblings(files)
	s.roots[1].draining.Store(true) // so that the first is chosen
	keepAll(t, s, names, size)
	s.roots[1].draining.Store(false)
	return s, names
}

func reopen(t *testing.T, s *Store, d disk.Disk) *Store {
	t.Helper()
	return openStore(t, s.cfg, d)
}

// moveTo returns a move of the shard of the name to the root, in a catalog that knows and counts on the files kept
// by keepAll.
func moveTo(s *Store, names []string, size, to int) *shardMove {
	known := map[catalog.FileName]Held{}
	for i, name := range names {
		known[catalog.FileName(name)] = heldOf(name, content(uint64(i), size))
	}
	n := catalog.FileName(names[0]).Shard()
	return &shardMove{
		Store: s, shard: n, from: s.shards[n].root, to: s.roots[to],
		standing: func(name catalog.FileName) (standing, error) {
			h, ok := known[name]
			return standing{want: h, known: ok, counted: ok}, nil
		},
		doubt: func(context.Context, catalog.FileName, catalog.Digest) {},
		rest:  func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
}

func nobodyWants(catalog.FileName) bool { return true }
func allWanted(catalog.FileName) bool   { return false }

// clearAll removes what is left of moved shards.
func clearAll(t *testing.T, s *Store) {
	t.Helper()
	for _, l := range s.left.list() {
		if err := s.left.clear(l, allWanted); err != nil {
			t.Fatal(err)
		}
	}
}

// lies demands that the files are whole, listed and served from the root alone, and that nothing else lies on any
// root.
func lies(t *testing.T, s *Store, names []string, size, on int) {
	t.Helper()
	checkManifests(t, s)
	for i, name := range names {
		if !bytes.Equal(read(t, s, name), content(uint64(i), size)) {
			t.Fatalf("%s has other bytes", name)
		}
		if !s.Has(catalog.FileName(name)) ||
			filepath.Dir(filepath.Dir(s.Path(catalog.FileName(name)))) != s.roots[on].path {
			t.Fatalf("%s lies at %s, vouched for: %v", name, s.Path(catalog.FileName(name)),
				s.Has(catalog.FileName(name)))
		}
		if size > plainSize {
			l, err := openList(s.Path(catalog.FileName(name)), heldOf(name, content(uint64(i), size)))
			if err != nil {
				t.Fatal(err)
			}
			l.Close()
		}
	}
	n := catalog.FileName(names[0]).Shard()
	for _, r := range s.roots {
		for _, path := range []string{r.moving(n), r.left(n)} {
			if _, err := os.Lstat(path); err == nil {
				t.Fatalf("%s is there", path)
			}
		}
		if _, err := os.Lstat(r.folder(n)); (err == nil) != (r == s.roots[on]) {
			t.Fatalf("the shard's folder on %s: %v", r.path, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(s.roots[on].folder(n), movedName)); err == nil {
		t.Fatal("the note of the move is there still")
	}
	if len(s.Loose())+len(s.Missing()) > 0 {
		t.Fatalf("loose %v, missing %v", s.Loose(), s.Missing())
	}
}

func TestAShardMovesToAnotherDiskAndBack(t *testing.T) {
	t.Parallel()
	size := plainSize + 100
	s, names := onTwoDisks(t, t.TempDir(), disk.New(), 5, size)
	lies(t, s, names, size, 0)
	for _, to := range []int{1, 0, 1} {
		if err := moveTo(s, names, size, to).run(t.Context()); err != nil {
			t.Fatal(err)
		}
		clearAll(t, s)
		lies(t, s, names, size, to)
		lies(t, reopen(t, s, disk.New()), names, size, to)
	}
}

// TestAMoveSurvivesACrashAnywhere fails and cuts the power at each step of a move, and starts again. At no time is
// there less than one good copy, nor a file that counts twice; and the move can be finished.
func TestAMoveSurvivesACrashAnywhere(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"crash", "fault", "one fault"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			for step, over := 1, false; !over; step++ {
				twin := disk.NewFaulty(t.TempDir())
				s, names := onTwoDisks(t, t.TempDir(), twin.Disk(), 3, 3000)
				before := twin.Ops()
				if how == "one fault" {
					twin.FailOnce(step, nil)
				} else {
					twin.FailAt(step, nil)
				}
				err := moveTo(s, names, 3000, 1).run(t.Context())
				for _, l := range s.left.list() {
					err = errors.Join(err, s.left.clear(l, allWanted))
				}
				over = twin.Ops()-before < step
				if over && err != nil {
					t.Fatal(err)
				}
				if how == "crash" {
					if err := twin.Crash(); err != nil {
						t.Fatal(err)
					}
				}
				for i, name := range names { // while the process lives, and after it
					if how != "crash" && !bytes.Equal(read(t, s, name), content(uint64(i), 3000)) {
						t.Fatalf("step %d: %s has other bytes", step, name)
					}
				}
				s = reopen(t, s, disk.NewFaulty(t.TempDir()).Disk()) // which does not wait for the real disk
				checkManifests(t, s)
				for i, name := range names {
					if !s.Has(catalog.FileName(name)) || !bytes.Equal(read(t, s, name), content(uint64(i), 3000)) {
						t.Fatalf("after a %s at step %d: %s is not vouched for", how, step, name)
					}
				}
				clearAll(t, s)
				if s.shards[catalog.FileName(names[0]).Shard()].root == s.roots[0] {
					if err := moveTo(s, names, 3000, 1).run(t.Context()); err != nil {
						t.Fatalf("after a %s at step %d: %v", how, step, err)
					}
					clearAll(t, s)
				}
				lies(t, s, names, 3000, 1)
			}
		})
	}
}

// TestChangesDuringAMoveCount lets files come, go and be set aside while their shard moves.
func TestChangesDuringAMoveCount(t *testing.T) {
	t.Parallel()
	s, all := onTwoDisks(t, t.TempDir(), disk.New(), 6, 3000)
	old, released, set, late := all[:3], all[3], all[4], all[5]
	if err := s.Delete(catalog.FileName(late)); err != nil {
		t.Fatal(err)
	}
	m := moveTo(s, all, 3000, 1)
	carried := 0
	m.rest = func(context.Context, time.Duration) error {
		carried++
		if carried != 5 {
			return nil
		}
		for _, err := range []error{ // all were carried already
			s.Delete(catalog.FileName(released)), s.Quarantine(catalog.FileName(set), "test"), keep(s, late,
				content(5, 3000)),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		return nil
	}
	if err := m.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	clearAll(t, s)
	lies(t, s, old, 3000, 1)
	if !bytes.Equal(read(t, s, late), content(5, 3000)) || s.Has(catalog.FileName(released)) ||
		s.Has(catalog.FileName(set)) {
		t.Error("what came, was released or set aside meanwhile is not as it should be")
	}
	if names, err := folderNames(filepath.Dir(s.Path(catalog.FileName(late)))); err != nil || len(names) != 5 {
		t.Errorf("the shard's folder holds %v, %v", names, err)
	}
}

// TestARepairDuringAMoveCounts: what was wrong when it was copied and has been repaired meanwhile is copied again.
func TestARepairDuringAMoveCounts(t *testing.T) {
	t.Parallel()
	s, names := onTwoDisks(t, t.TempDir(), disk.New(), 3, 3000)
	bad := catalog.FileName(names[1])
	flip(t, s.Path(bad))
	m := moveTo(s, names, 3000, 1)
	counts := m.standing
	m.standing = func(name catalog.FileName) (standing, error) {
		st, err := counts(name)
		st.counted = name != bad // it is owed
		return st, err
	}
	carried := 0
	m.rest = func(context.Context, time.Duration) error {
		if carried++; carried != len(names) {
			return nil
		}
		return errors.Join(s.Quarantine(bad, "verdict"), keep(s, names[1], content(1, 3000)))
	}
	if err := m.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	clearAll(t, s)
	lies(t, s, names, 3000, 1)
}

// TestAFetchThatBeganBeforeTheSwitchEndsWhereItBegan: a shard stays while files come into it.
func TestAFetchThatBeganBeforeTheSwitchEndsWhereItBegan(t *testing.T) {
	t.Parallel()
	s, all := onTwoDisks(t, t.TempDir(), disk.New(), 3, 3000)
	if err := s.Delete(catalog.FileName(all[2])); err != nil {
		t.Fatal(err)
	}
	want := content(2, 3000)
	p, err := s.receive(t.Context(), heldOf(all[2], want))
	if err != nil {
		t.Fatal(err)
	}
	if err := moveTo(s, all, 3000, 1).run(t.Context()); !errors.Is(err, errInUse) {
		t.Fatalf("a move while a file comes: %v", err)
	}
	if err := p.take(t.Context(), bytes.NewReader(want), nil, nil); err != nil {
		t.Fatal(err)
	}
	if ok, err := p.complete(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := p.finish(); err != nil {
		t.Fatal(err)
	}
	if err := moveTo(s, all, 3000, 1).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	clearAll(t, s)
	lies(t, s, all, 3000, 1)
}

// TestWrongBytesDoNotMove flips a bit in a copy that the archive counts on: it is reported and stays, and so does
// its shard, until it is repaired. Copies that nobody counts on come along, but are not vouched for.
func TestWrongBytesDoNotMove(t *testing.T) {
	t.Parallel()
	s, names := onTwoDisks(t, t.TempDir(), disk.New(), 4, 3000)
	bad := catalog.FileName(names[1])
	flip(t, s.Path(bad))
	m := moveTo(s, names, 3000, 1)
	var told []catalog.FileName
	m.doubt = func(_ context.Context, name catalog.FileName, _ catalog.Digest) { told = append(told, name) }
	if err := m.run(t.Context()); !errors.Is(err, errWaits) || !slices.Equal(told, []catalog.FileName{bad}) {
		t.Fatalf("move: %v; reported %v", err, told)
	}
	if s.shards[bad.Shard()].root != s.roots[0] || isFile(filepath.Join(s.roots[1].moving(bad.Shard()), names[1])) {
		t.Fatal("wrong bytes have moved")
	}
	if err := s.Quarantine(bad, "verdict"); err != nil {
		t.Fatal(err)
	}
	if err := keep(s, names[1], content(1, 3000)); err != nil {
		t.Fatal(err)
	}
	if err := m.discard(); err != nil {
		t.Fatal(err)
	}
	other := catalog.FileName(names[2])
	flip(t, s.Path(other))
	m = moveTo(s, names, 3000, 1)
	counts := m.standing
	m.standing = func(name catalog.FileName) (standing, error) {
		st, err := counts(name)
		st.counted = name != other
		return st, err
	}
	if err := m.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	clearAll(t, s)
	if s.Has(other) || !slices.Equal(s.Loose(), []catalog.FileName{other}) || !isFile(s.Path(other)) {
		t.Errorf("wrong bytes that nobody counts on: vouched for %v, loose %v", s.Has(other), s.Loose())
	}
	s = reopen(t, s, disk.New())
	if s.Has(other) || !s.Has(bad) || !slices.Equal(s.Loose(), []catalog.FileName{other}) {
		t.Errorf("after a restart: vouched for %v, loose %v", s.Has(other), s.Loose())
	}
}

// TestTheNewDiskIsRead flips a bit on the new disk behind the writer's back: the move does not take place.
func TestTheNewDiskIsRead(t *testing.T) {
	t.Parallel()
	s, names := onTwoDisks(t, t.TempDir(), disk.New(), 3, 3000)
	opened := 0
	s.open = func(path string) (*Bytes, error) {
		if strings.Contains(path, movingMark) {
			if opened++; opened == 2 {
				flip(t, path)
			}
		}
		return openBytes(path)
	}
	if err := moveTo(s, names, 3000, 1).run(t.Context()); !errors.Is(err, errTarget) || !errors.Is(err,
		ErrDamaged) && !strings.Contains(err.Error(), "were written") {
		t.Fatalf("move: %v", err)
	}
	s.open = openBytes
	if err := moveTo(s, names, 3000, 1).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	clearAll(t, s)
	lies(t, s, names, 3000, 1)
}

// TestADiskThatTurnsReadOnlyKeepsNothingBack lets each write to the new disk fail with EROFS, from each step on: the shard
// stays, whole, where it was, or is the new disk's.
func TestADiskThatTurnsReadOnlyKeepsNothingBack(t *testing.T) {
	t.Parallel()
	for step := 1; ; step++ {
		twin := disk.NewFaulty(t.TempDir())
		s, names := onTwoDisks(t, t.TempDir(), twin.Disk(), 2, 3000)
		before := twin.Ops()
		twin.FailAt(step, syscall.EROFS)
		err := moveTo(s, names, 3000, 1).run(t.Context())
		for i, name := range names {
			if !s.Has(catalog.FileName(name)) || !bytes.Equal(read(t, s, name), content(uint64(i), 3000)) {
				t.Fatalf("step %d: %s is not as it was", step, name)
			}
		}
		if err == nil && twin.Ops()-before < step {
			return
		}
		n := catalog.FileName(names[0]).Shard()
		if mark, _ := s.list.of(n); err == nil && mark != s.roots[1].mark { // the list's own disk failed, at the end
			if len(s.left.list()) != 1 || s.left.clear(s.left.list()[0], allWanted) == nil {
				t.Fatalf("step %d: the old disk gives up the shard, and the list says that it has it", step)
			}
			twin.FailAt(0, nil)
			clearAll(t, s)
			if mark, _ := s.list.of(n); mark != s.roots[1].mark {
				t.Fatalf("step %d: the list names %q", step, mark)
			}
			lies(t, s, names, 3000, 1)
			continue
		}
		if err == nil || len(s.left.list()) > 0 {
			t.Fatalf("step %d: the shard has moved all the same: %v", step, err)
		}
	}
}

// TestWhatWasStagedBeforeIsReadAgain lets what an earlier try left rot.
func TestWhatWasStagedBeforeIsReadAgain(t *testing.T) {
	t.Parallel()
	s, names := onTwoDisks(t, t.TempDir(), disk.New(), 4, 3000)
	m := moveTo(s, names, 3000, 1)
	ctx, cancel := context.WithCancel(t.Context())
	m.rest = func(context.Context, time.Duration) error {
		if len(m.staged) == 3 {
			cancel()
		}
		return ctx.Err()
	}
	if err := m.run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	dir := s.roots[1].moving(m.shard)
	staged, err := folderNames(dir)
	if err != nil || len(staged) != 3 {
		t.Fatal(staged, err)
	}
	flip(t, filepath.Join(dir, staged[0]))
	s = reopen(t, s, disk.New())
	m = moveTo(s, names, 3000, 1)
	if err := m.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := m.Progress(); p.Bytes != 2*3000 || p.Files != 4 {
		t.Errorf("progress %+v: two files had to be copied", p)
	}
	clearAll(t, s)
	lies(t, s, names, 3000, 1)
}
