package node

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// What a put of a small file asks of the disk until it is complete on three nodes, as counted with strace over 1 000
// puts: 20 syncs, of which these are of files. Raft's log and the catalog are not among them.
const (
	largeSyncs  = 3 // the bytes: of the source, and of two copies
	smallSyncs  = 5 // notes and manifests
	folderSyncs = 12
)

// bareSyncs has sixteen callers write files and sync them and their folders as often as puts of as many files do, and
// nothing else, and returns how long a file took.
func bareSyncs(b *testing.B, files int, body []byte) time.Duration {
	b.Helper()
	dir := b.TempDir()
	var folders []*os.File
	for i := range 64 {
		path := filepath.Join(dir, fmt.Sprint(i))
		err := os.Mkdir(path, 0o755)
		if err != nil {
			b.Fatal(err)
		}
		folder, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		defer folder.Close()
		folders = append(folders, folder)
	}
	began := time.Now()
	var next atomic.Int64
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for i := next.Add(1); i <= int64(files); i = next.Add(1) {
				if err := oneBarePut(folders[int(i)%len(folders)], int(i), body); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	return time.Since(began) / time.Duration(files)
}

func oneBarePut(folder *os.File, i int, body []byte) error {
	var paths []string
	for n := range largeSyncs + smallSyncs {
		bytes := body
		if n >= largeSyncs {
			bytes = body[:200]
		}
		path := filepath.Join(folder.Name(), fmt.Sprintf("%d-%d", i, n))
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		if _, err = f.Write(bytes); err == nil {
			err = f.Sync()
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return err
		}
		paths = append(paths, path)
	}
	for n := range folderSyncs {
		path := paths[n%len(paths)]
		if err := os.Rename(path, path+".x"); err != nil {
			return err
		}
		if err := folder.Sync(); err != nil {
			return err
		}
		paths[n%len(paths)] = path + ".x"
	}
	return nil
}
