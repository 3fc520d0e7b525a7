package replica

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// What the benchmarks of moves between disks move: one shard.
const (
	movedFiles = 2000
	movedSize  = 1 << 20
)

// benchDisks returns a store of two folders with a shard of that many files on the first, as if they had come by copies.
func benchDisks(b *testing.B) (*Store, map[catalog.FileName]Held) {
	b.Helper()
	dir := b.TempDir()
	s := openStore(b, twoRoots(dir), disk.New())
	names := siblings(movedFiles)
	n := catalog.FileName(names[0]).Shard()
	folder := s.roots[0].folder(n)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		b.Fatal(err)
	}
	held := make(map[catalog.FileName]Held, movedFiles)
	block := content(1, movedSize)
	m := manifest{lines: make(map[catalog.FileName]line)}
	for i, text := range names {
		block[0], block[1] = byte(i), byte(i>>8)
		h := Held{Name: catalog.FileName(text), Size: movedSize, SHA256: sha256.Sum256(block)}
		path := filepath.Join(folder, text)
		if err := os.WriteFile(path, block, 0o644); err != nil {
			b.Fatal(err)
		}
		blocks := newBlockSum(h.Size)
		blocks.Write(block)
		s.keepList(path, h, blocks)
		held[h.Name], m.lines[h.Name] = h, line{digest: h.SHA256, size: -1}
	}
	if err := writeManifest(s.disk, filepath.Join(folder, ManifestName), m); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("sync").CombinedOutput(); err != nil {
		b.Fatalf("sync: %v: %s", err, out)
	}
	s.shards[n].root = s.roots[0]
	return s, held
}

// BenchmarkMoveShard moves 2 000 files of 1 MiB from one folder to another: copied, hashed, synced, read back from the disk,
// switched, and deleted where they were.
func BenchmarkMoveShard(b *testing.B) {
	s, held := benchDisks(b)
	b.SetBytes(movedFiles * movedSize)
	defer processorTime(b)()
	to := 1
	for b.Loop() {
		names := siblings(1)
		m := moveTo(s, names, 1, to)
		m.standing = func(name catalog.FileName) (standing, error) {
			h, ok := held[name]
			return standing{want: h, known: ok, counted: ok}, nil
		}
		if err := m.run(b.Context()); err != nil {
			b.Fatal(err)
		}
		for _, l := range s.left.list() {
			if err := s.left.clear(l, allWanted); err != nil {
				b.Fatal(err)
			}
		}
		to = 1 - to
	}
}

// BenchmarkMoveShardBaseline does with the same files what an operator would: cp, sync, sha256sum -c on the new disk, which is
// read from memory, and rm.
func BenchmarkMoveShardBaseline(b *testing.B) {
	s, _ := benchDisks(b)
	n := catalog.FileName(siblings(1)[0]).Shard()
	b.SetBytes(movedFiles * movedSize)
	defer processorTime(b)()
	from, to := s.roots[0].folder(n), s.roots[1].folder(n)
	for b.Loop() {
		script := `cp -r "$0" "$1" && sync -f "$1" && cd "$1" && sha256sum --quiet -c manifest-sha256.txt && rm -r "$0"`
		if out, err := exec.Command("sh", "-c", script, from, to).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		from, to = to, from
	}
}
