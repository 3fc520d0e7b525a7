//go:build slow && !race

package warc_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/disk"
	"holdfast/warc"
)

// TestSalvageAtEveryLength cuts a file at every length: what comes out holds exactly the
// records that were whole, where they were, and passes the validator.
func TestSalvageAtEveryLength(t *testing.T) {
	for _, c := range []warc.Compression{warc.Gzip, warc.None, warc.Zstd} {
		t.Run(c.String(), func(t *testing.T) {
			path, positions := written(t, c)
			whole := load(t, path)
			d, dir := disk.NewFaulty(t.TempDir()).Disk(), t.TempDir() // its syncs cost nothing
			for n := range len(whole) + 1 {
				torn := filepath.Join(dir, fmt.Sprint(n)+c.Suffix()+".open")
				if err := os.WriteFile(torn, whole[:n], 0o644); err != nil {
					t.Fatal(err)
				}
				want, end := 0, int64(0)
				for _, p := range positions {
					if p.Offset+p.Length <= int64(n) {
						want, end = want+1, p.Offset+p.Length
					}
				}
				s, err := warc.Salvage(d, torn)
				if want == 0 {
					if !errors.Is(err, warc.ErrNothing) || len(load(t, torn)) != n {
						t.Fatalf("cut at %d: %v, want ErrNothing and the file left alone", n, err)
					}
					continue
				}
				if err != nil || s.Finished.Records != want || s.Dropped != int64(n)-end || (s.Reason != nil) != (s.Dropped > 0) {
					t.Fatalf("cut at %d: %+v, %v, want %d records", n, s, err, want)
				}
				if !bytes.Equal(load(t, s.Finished.Path), whole[:end]) {
					t.Fatalf("cut at %d: not the bytes of the whole records", n)
				}
				verifyFile(t, s.Finished)
			}
		})
	}
}
