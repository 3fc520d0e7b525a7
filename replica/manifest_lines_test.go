package replica

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/internal/seed"
)

// TestLinesAreStruck drops random lines of manifests of all kinds and compares what is left with what a reading of the
// whole manifest says.
func TestLinesAreStruck(t *testing.T) {
	t.Parallel()
	random := seed.Rand(t)
	for round := range 60 {
		path := filepath.Join(t.TempDir(), ManifestName)
		want := map[catalog.FileName]line{}
		var text []byte
		n := 1 + random.IntN(200)
		if round%10 == 0 {
			n = 5000 // several windows
		}
		for i := range n {
			name := catalog.FileName(fmt.Sprintf("%s%d.warc", strings.Repeat("x", random.IntN(190)), i))
			l := line{digest: catalog.Digest(sha256.Sum256([]byte(name))), size: -1}
			if random.IntN(2) == 0 {
				l.size = int64(random.IntN(1 << 30))
			}
			want[name] = l
			text = append(appendLine(text, name, l), '\n')
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		names := (&manifest{lines: want}).names()
		for range 1 + random.IntN(20) {
			if len(names) == 0 {
				break
			}
			drop := map[catalog.FileName]bool{"absent": true}
			for range 1 + random.IntN(3) {
				drop[names[random.IntN(len(names))]] = true
			}
			if random.IntN(3) == 0 {
				delete(drop, "absent")
			}
			one := names[random.IntN(len(names))]
			got, err := findLines(path, map[catalog.FileName]bool{one: true})
			if err != nil || len(got.at) != 1 || got.digest != want[one].digest || got.size != want[one].size ||
				got.live != len(names) {
				t.Fatalf("found %+v, %v, want %+v among %d", got, err, want[one], len(names))
			}
			if err := dropLines(disk.New(), path, drop); err != nil {
				t.Fatal(err)
			}
			for name := range drop {
				delete(want, name)
			}
			names = slices.DeleteFunc(names, func(name catalog.FileName) bool { return drop[name] })
			m, err := readManifest(path)
			if err != nil || m.faults != 0 || !slices.Equal(m.names(), names) || m.present != (len(names) > 0) {
				t.Fatalf("%d lines and %d faults, %v, want %d", len(m.lines), m.faults, err, len(names))
			}
			for name, l := range m.lines {
				if l != want[name] {
					t.Fatalf("%s reads %+v, want %+v", name, l, want[name])
				}
			}
		}
	}
}

// TestAManifestShrinks drops most lines: what is struck does not stay for ever.
func TestAManifestShrinks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ManifestName)
	names := bigManifest(t, path, 3000, -1)
	for _, name := range names[:2800] {
		if err := dropLine(disk.New(), path, name); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte("\n")); lines > 200+200+rewriteAt {
		t.Errorf("%d lines for 200 files", lines)
	}
	m, err := parseManifest(bytes.NewReader(text))
	if err != nil || m.faults > 0 || !slices.Equal(m.names(), names[2800:]) {
		t.Errorf("%d files, %d faults, %v", len(m.lines), m.faults, err)
	}
}

// TestStrikingIsCarefulWithLines gives lines that only look like the ones that are dropped.
func TestStrikingIsCarefulWithLines(t *testing.T) {
	t.Parallel()
	a := catalog.Digest(sha256.Sum256([]byte("a"))).String()
	for _, tt := range []struct{ name, text, want string }{
		{"another name ends like it", a + "  xfile\n" + a + "  file\n", a + "  xfile\n#" + a[1:] + "  file\n"},
		{"another name begins like it", a + "  file2\n" + a + "  file\n", a + "  file2\n#" + a[1:] + "  file\n"},
		{"binary mode", a + " *file\n" + a + "  other\n", "#" + a[1:] + " *file\n" + a + "  other\n"},
		{"twice", a + "  file\n" + a + "  other\n" + a + "  file\n",
			"#" + a[1:] + "  file\n" + a + "  other\n#" + a[1:] + "  file\n"},
		{"struck before", "#" + a[1:] + "  file\n" + a + "  other\n", "#" + a[1:] + "  file\n" + a + "  other\n"},
		{"no digest", "z" + a[1:] + "  file\n" + a + "  other\n", "z" + a[1:] + "  file\n" + a + "  other\n"},
		{"without an end", a + "  other\n" + a + "  file", a + "  other\n" + a + "  file"},
		{"the last one", "# size 4  file\n" + a + "  file\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), ManifestName)
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := dropLine(disk.New(), path, "file"); err != nil {
				t.Fatal(err)
			}
			if text, _ := os.ReadFile(path); string(text) != tt.want {
				t.Errorf("left %q, want %q", text, tt.want)
			}
		})
	}
}

// bigManifest writes a manifest of n files of one shard and returns their names in order.
func bigManifest(tb testing.TB, path string, n int, size int64) []catalog.FileName {
	tb.Helper()
	m := manifest{lines: make(map[catalog.FileName]line, n)}
	for i := 0; len(m.lines) < n; i++ {
		name := catalog.FileName(fmt.Sprintf("%d-%d-20260101000000000-%05d-north-1.warc.gz", i/100, i%7, i))
		m.lines[name] = line{digest: catalog.Digest(sha256.Sum256([]byte(name))), size: size}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := writeManifest(disk.New(), path, m); err != nil {
		tb.Fatal(err)
	}
	return m.names()
}
