package replica

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// fullShard is how many files a shard has in an archive of a hundred million.
const fullShard = 25_000

// BenchmarkRecord writes one more line into a full shard of a checksum replica, and takes one out: each is on stable
// storage when it returns.
func BenchmarkRecord(b *testing.B) {
	for _, act := range []string{"add", "again", "drop"} {
		b.Run(act, func(b *testing.B) {
			c := &Checksums{dir: b.TempDir(), disk: disk.New()}
			const shard catalog.Shard = 7
			names := bigManifest(b, c.path(shard), fullShard, 1<<20)
			middle := func(i int) catalog.FileName { return names[(i*7919+fullShard/2)%fullShard] }
			b.ResetTimer()
			for i := range b.N {
				var err error
				switch act {
				case "add":
					name := catalog.FileName(fmt.Sprintf("new-%d.warc.gz", i))
					err = c.record(shard, Held{Name: name, Size: 1, SHA256: sha256.Sum256([]byte(name))})
				case "again":
					name := middle(i)
					err = c.record(shard, Held{Name: name, Size: 1 << 20, SHA256: sha256.Sum256([]byte(name))})
				case "drop":
					err = dropLine(c.disk, c.path(shard), middle(i))
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLeaveFullShard deletes all files of a full shard, as many at a time as one command releases.
func BenchmarkLeaveFullShard(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := openStore(b, twoRoots(b.TempDir()), disk.New())
		const shard catalog.Shard = 7
		s.shards[shard].root = s.roots[0]
		folder := s.roots[0].folder(shard)
		names := bigManifest(b, filepath.Join(folder, ManifestName), fullShard, -1)
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(folder, string(name)), []byte("x"), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		for len(names) > 0 {
			n := min(catalog.MaxItems, len(names))
			if err := s.deleteIn(shard, names[:n]); err != nil {
				b.Fatal(err)
			}
			names = names[n:]
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			b.Fatalf("%d files are left, %v", len(left), err)
		}
	}
}
