package replica

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// content returns n bytes that depend on the seed.
func content(seed uint64, n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func heldOf(name string, b []byte) Held {
	return Held{Name: catalog.FileName(name), Size: int64(len(b)), SHA256: sha256.Sum256(b)}
}

// siblings returns n names that lie in one shard.
func siblings(n int) []string {
	first := catalog.FileName("s-0.warc.gz")
	names := []string{string(first)}
	for i := 1; len(names) < n; i++ {
		name := catalog.FileName(fmt.Sprintf("s-%d.warc.gz", i))
		if name.Shard() == first.Shard() {
			names = append(names, string(name))
		}
	}
	return names
}

func storeConfig(dir string) StoreConfig {
	return StoreConfig{
		Roots:    []string{filepath.Join(dir, "files")},
		Incoming: filepath.Join(dir, "incoming"), Outbox: filepath.Join(dir, "outbox"),
		Quarantine: filepath.Join(dir, "quarantine"), Reserve: -1,
	}
}

func openStore(t testing.TB, cfg StoreConfig, d disk.Disk) *Store {
	t.Helper()
	s, err := OpenStore(cfg, d, discard())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// keep stores b under the name, as the pull road does.
func keep(s *Store, name string, b []byte) error {
	p, err := s.receive(context.Background(), heldOf(name, b))
	if err != nil {
		return err
	}
	if err := p.restart(); err != nil {
		return errors.Join(err, p.close())
	}
	if err := p.take(context.Background(), bytes.NewReader(b), nil, nil); err != nil {
		return errors.Join(err, p.discard())
	}
	if ok, err := p.complete(); !ok || err != nil {
		return fmt.Errorf("complete: %v, %w", ok, err)
	}
	return p.finish()
}

// keepAll stores size bytes under each name, which depend on its place in the list.
func keepAll(t *testing.T, s *Store, names []string, size int) {
	t.Helper()
	for i, name := range names {
		if err := keep(s, name, content(uint64(i), size)); err != nil {
			t.Fatal(err)
		}
	}
}

// checkManifests runs sha256sum -c in every shard and demands that every file it does not know is loose.
func checkManifests(t *testing.T, s *Store) {
	t.Helper()
	for _, n := range s.Shards() {
		dir := filepath.Join(s.shards[n].root.path, n.String())
		m, err := readManifest(filepath.Join(dir, ManifestName))
		if err != nil {
			t.Fatal(err)
		}
		if m.present {
			cmd := exec.Command("sha256sum", "--quiet", "--strict", "-c", ManifestName)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("sha256sum -c in shard %s: %v: %s", n, err, out)
			}
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			name := catalog.FileName(strings.TrimPrefix(f.Name(), blocksMark))
			if _, listed := m.lines[name]; !listed && f.Name() != ManifestName && f.Name() != movedName && !s.loose.has(name) {
				t.Fatalf("shard %s: %s is not listed and not loose", n, name)
			}
		}
	}
}

func read(t *testing.T, s *Store, name string) []byte {
	t.Helper()
	b, err := s.Open(catalog.FileName(name))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	got := make([]byte, b.Size)
	if _, err := b.ReadAt(got, 0); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestStoreKeepsListsAndForgets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, storeConfig(dir), disk.New())
	names := siblings(3)
	keepAll(t, s, names, 3000)
	checkManifests(t, s)
	s = openStore(t, storeConfig(dir), disk.New())
	held, err := s.List(catalog.FileName(names[0]).Shard())
	if err != nil || len(held) != 3 {
		t.Fatalf("List: %v, %v", held, err)
	}
	if !bytes.Equal(read(t, s, names[1]), content(1, 3000)) {
		t.Fatal("other bytes came back")
	}
	if err := s.Quarantine(held[0].Name, "bit rot"); err != nil {
		t.Fatal(err)
	}
	for _, h := range held[1:] {
		if err := s.Delete(h.Name); err != nil {
			t.Fatal(err)
		}
	}
	checkManifests(t, s)
	for _, h := range held {
		if s.Has(h.Name) {
			t.Fatalf("%s is still here", h.Name)
		}
		if _, err := s.Open(h.Name); !errors.Is(err, ErrNotHere) {
			t.Fatalf("Open: %v", err)
		}
	}
	set, err := filepath.Glob(filepath.Join(dir, "quarantine", string(held[0].Name)+".*"))
	if err != nil || len(set) != 2 {
		t.Fatalf("quarantine holds %v, %v", set, err)
	}
}

// TestStoreSurvivesFaults fails every write step of a day in the store's life in turn, cuts the power or
// only kills the program, and demands that nothing acknowledged is lost, no manifest lies, and that the
// same day then goes to its end.
func TestStoreSurvivesFaults(t *testing.T) {
	t.Parallel()
	names := siblings(4)
	day := func(s *Store, acked map[string]bool) error {
		for i, name := range names {
			if !s.Has(catalog.FileName(name)) {
				err := s.Vouch(context.Background(), heldOf(name, content(uint64(i), 2000)))
				if errors.Is(err, ErrNotHere) {
					err = keep(s, name, content(uint64(i), 2000))
				}
				if err != nil {
					return err
				}
			}
			acked[name] = true
		}
		acked[names[0]], acked[names[1]] = false, false
		if err := s.Quarantine(catalog.FileName(names[0]), "a test"); err != nil {
			return err
		}
		return s.Delete(catalog.FileName(names[1]))
	}
	for _, power := range []bool{true, false} {
		for n := 1; ; n++ {
			base := t.TempDir()
			scratch := filepath.Join(base, "scratch")
			if err := os.Mkdir(scratch, 0o755); err != nil {
				t.Fatal(err)
			}
			twin := disk.NewFaulty(scratch)
			dir := filepath.Join(base, "data")
			acked := make(map[string]bool)
			twin.FailAt(n, nil)
			s, err := OpenStore(storeConfig(dir), twin.Disk(), discard())
			if err == nil {
				err = day(s, acked)
			}
			faulted := err != nil
			twin.FailAt(0, nil)
			if power {
				if err := twin.Crash(); err != nil {
					t.Fatal(err)
				}
			}
			s = openStore(t, storeConfig(dir), twin.Disk())
			checkManifests(t, s)
			for name, ok := range acked {
				if ok && !s.Has(catalog.FileName(name)) {
					t.Fatalf("fault %d: acknowledged %s is lost", n, name)
				}
			}
			if err := day(s, acked); err != nil {
				t.Fatalf("fault %d: after the restart: %v", n, err)
			}
			checkManifests(t, s)
			if !faulted {
				t.Logf("power %v: %d steps", power, n-1)
				break
			}
			if err := os.RemoveAll(base); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestOpenStoreRepairsManifests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, storeConfig(dir), disk.New())
	names := siblings(3)
	keepAll(t, s, names, 100)
	folder := filepath.Dir(s.Path(catalog.FileName(names[0])))
	path := filepath.Join(folder, ManifestName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	torn := append(bytes.Clone(text[:len(text)-10]), 0)
	if err := os.WriteFile(path, append([]byte("rubbish\n"), torn...), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, names[0])); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, storeConfig(dir), disk.New())
	if got := fmt.Sprint(s.Loose(), s.Missing()); got != fmt.Sprintf("[%s] [%s]", names[2], names[0]) {
		t.Fatalf("loose and missing: %s", got)
	}
	if err := s.Vouch(context.Background(), heldOf(names[2], content(2, 100))); err != nil {
		t.Fatal(err)
	}
	if err := s.Vouch(context.Background(), heldOf(names[1], content(9, 100))); !errors.Is(err, ErrDamaged) {
		t.Fatalf("Vouch for other bytes: %v", err)
	}
	if err := keep(s, names[0], content(0, 100)); err != nil {
		t.Fatal(err)
	}
	checkManifests(t, s)
}

func TestStoreIsFull(t *testing.T) {
	t.Parallel()
	cfg := storeConfig(t.TempDir())
	cfg.Reserve = 1 << 60
	s := openStore(t, cfg, disk.New())
	if err := keep(s, "a.warc", []byte("x")); !errors.Is(err, disk.ErrFull) {
		t.Fatalf("keep: %v", err)
	}
	path := filepath.Join(t.TempDir(), "b.warc")
	if err := os.WriteFile(path, []byte("y"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Adopt(context.Background(), path, catalog.Addition{Name: "b.warc"}, Foreign); !errors.Is(err, disk.ErrFull) {
		t.Fatalf("Adopt: %v", err)
	}
}

func TestStoreUsesTheRoomiestDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := storeConfig(dir)
	cfg.Roots = append(cfg.Roots, filepath.Join(dir, "more"))
	s := openStore(t, cfg, disk.New())
	s.roots[0].promised = 1 << 60 // it is full
	names := siblings(2)
	for i, name := range names {
		if err := keep(s, name, content(uint64(i), 10)); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(s.Path(catalog.FileName(name)), cfg.Roots[1]) {
			t.Fatalf("%s went to %s", name, s.Path(catalog.FileName(name)))
		}
		s.roots[0].promised, s.roots[1].promised = 0, 1<<20
	}
	if s = openStore(t, cfg, disk.New()); !s.Has(catalog.FileName(names[1])) {
		t.Fatal("opened again, it lacks a file")
	}
	if err := os.Mkdir(filepath.Join(cfg.Roots[0], catalog.FileName(names[0]).Shard().String()), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(cfg, disk.New(), discard()); err == nil {
		t.Fatal("a shard on two disks was accepted")
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a.warc.gz\n"))
	f.Add([]byte("# size 12  a\ne3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 *a\ntorn"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseManifest(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		var again []byte
		for _, name := range m.names() {
			again = append(appendLine(again, name, m.lines[name]), '\n')
		}
		n, err := parseManifest(bytes.NewReader(again))
		if err != nil || n.faults != 0 || len(n.lines) != len(m.lines) {
			t.Fatalf("written again it reads otherwise: %v, %d faults", err, n.faults)
		}
		for name, l := range m.lines {
			if n.lines[name] != l {
				t.Fatalf("%s: %v became %v", name, l, n.lines[name])
			}
		}
	})
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// TestAPartThatBeganAnewHasRightBlockDigests lets an earlier try leave a part that cannot be read to its end. What was read of
// it is no part of the block digests of the file that comes instead.
func TestAPartThatBeganAnewHasRightBlockDigests(t *testing.T) {
	s := openStore(t, storeConfig(t.TempDir()), disk.New())
	b := content(1, plainSize+1000)
	want := heldOf("a.warc.gz", b)
	p, err := s.receive(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	p.blocks.Write(b[:500]) // as recall leaves it after an error
	if p, err = s.receiveAfresh(p); err != nil {
		t.Fatal(err)
	}
	if err := p.take(t.Context(), bytes.NewReader(b), nil, nil); err != nil {
		t.Fatal(err)
	}
	if ok, err := p.complete(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := p.finish(); err != nil {
		t.Fatal(err)
	}
	in, err := s.openSound(t.Context(), want, 0, want.Size, false, false)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if got, err := io.ReadAll(in); err != nil || !bytes.Equal(got, b) {
		t.Errorf("%d of %d bytes, %v: right bytes are taken for wrong ones", len(got), len(b), err)
	}
}

// TestOneShardKeepsNoOtherFromDeletion deletes files of a shard whose manifest cannot be read, of another one, and of
// one that has no folder because its disk is away: they were released, and nobody names them again.
func TestOneShardKeepsNoOtherFromDeletion(t *testing.T) {
	t.Parallel()
	cfg := twoRoots(t.TempDir())
	s := openStore(t, cfg, disk.New())
	s.roots[0].promised = 1 << 50
	if err := keep(s, "c.warc", []byte("bytes")); err != nil {
		t.Fatal(err)
	}
	s.roots[0].promised, s.roots[1].promised = 0, 1<<50
	names := []catalog.FileName{"a.warc", "b.warc"}
	slices.SortFunc(names, func(a, b catalog.FileName) int { return int(a.Shard()) - int(b.Shard()) })
	for _, name := range names {
		if err := keep(s, string(name), []byte("bytes")); err != nil {
			t.Fatal(err)
		}
	}
	defer unmount(t, cfg.Roots[1])()
	s, err := OpenStore(cfg, disk.New(), discard())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete("c.warc"); !s.Away("c.warc") || !errors.Is(err, ErrNotMounted) {
		t.Errorf("a file of a shard whose disk is away: %v", err)
	}
	manifest := filepath.Join(filepath.Dir(s.Path(names[0])), ManifestName)
	if err := errors.Join(os.Remove(manifest), os.Mkdir(manifest, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(names...); err == nil || isFile(s.Path(names[1])) || !isFile(s.Path(names[0])) {
		t.Errorf("%v; the other shard's file is there: %v", err, isFile(s.Path(names[1])))
	}
}
