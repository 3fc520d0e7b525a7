package replica

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/disk"
)

// What is shipped is taken if its bytes are right: copied or linked, after an interruption too, and whatever an earlier
// try has left. Wrong bytes, too few, and what is no file are refused, and leave nothing.
func TestImport(t *testing.T) {
	b := content(7, 700_000)
	want := heldOf("x.warc.gz", b)
	for name, tt := range map[string]struct {
		shipped []byte
		left    []byte // of an earlier try
		link    bool
		want    error
	}{
		"copied":                          {shipped: b},
		"linked":                          {shipped: b, link: true},
		"the beginning is there":          {shipped: b, left: b[:300_000]},
		"all is there":                    {shipped: b, left: b},
		"other bytes are there":           {shipped: b, left: content(8, 300_000)},
		"more bytes are there":            {shipped: b, left: content(8, 800_000)},
		"wrong":                           {shipped: content(9, 700_000), want: ErrDamaged},
		"wrong, linked":                   {shipped: content(9, 700_000), link: true, want: ErrDamaged},
		"longer":                          {shipped: append(append([]byte{}, b...), 1), want: ErrDamaged},
		"cut off":                         {shipped: b[:600_000], want: io.ErrUnexpectedEOF},
		"cut off, and less was there":     {shipped: b[:600_000], left: b[:300_000], want: io.ErrUnexpectedEOF},
		"wrong, and its beginning was":    {shipped: content(9, 700_000), left: b[:300_000], want: ErrDamaged},
		"cut off before what is there is": {shipped: b[:200_000], left: content(8, 300_000), want: io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openStore(t, storeConfig(dir), disk.New())
			path := filepath.Join(dir, "shipped")
			if err := os.WriteFile(path, tt.shipped, 0o644); err != nil {
				t.Fatal(err)
			}
			if tt.left != nil {
				if err := os.WriteFile(filepath.Join(dir, "incoming", "x.warc.gz.part"), tt.left, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := Import(t.Context(), s, want, path, tt.link, func(int64) {})
			if !errors.Is(err, tt.want) || errors.Is(err, ErrNotStored) {
				t.Fatal(err)
			}
			listed, err := Listed(s, want.Name.Shard())
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == nil && (listed[want.Name] != want || string(read(t, s, "x.warc.gz")) != string(b)) || tt.want != nil && len(listed) > 0 {
				t.Errorf("listed %+v", listed)
			}
			checkManifests(t, s)
			shipped, err := os.ReadFile(path)
			if err != nil || string(shipped) != string(tt.shipped) {
				t.Errorf("the shipped file was changed: %v", err)
			}
			if tt.want == nil {
				if err := Import(t.Context(), s, want, path, tt.link, func(int64) {}); !tt.link && !errors.Is(err, ErrExists) {
					t.Errorf("twice: %v", err)
				}
			}
		})
	}
}

// A disk that refuses a write is no fault of the shipped file, and an interruption none of anybody's; what was read goes
// on from there.
func TestImportOnABadDisk(t *testing.T) {
	b := content(7, 700_000)
	want := heldOf("x.warc.gz", b)
	dir := t.TempDir()
	path := filepath.Join(dir, "shipped")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, storeConfig(dir), disk.New())
	ctx, cancel := context.WithCancel(t.Context())
	read := int64(0)
	err := Import(ctx, s, want, path, false, func(n int64) {
		if read += n; read > 300_000 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	again := int64(0)
	if err := Import(t.Context(), s, want, path, false, func(n int64) { again += n }); err != nil || again >= int64(len(b)) {
		t.Errorf("it read %d bytes again: %v", again, err)
	}
	cfg := storeConfig(t.TempDir())
	cfg.Reserve = 1 << 60
	full := openStore(t, cfg, disk.New())
	if err := Import(t.Context(), full, want, path, false, func(int64) {}); !errors.Is(err, disk.ErrFull) || !errors.Is(err, ErrNotStored) {
		t.Errorf("a full disk: %v", err)
	}
}
