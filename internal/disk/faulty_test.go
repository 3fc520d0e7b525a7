package disk_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/disk"
)

// TestEveryOpMayBeTheLast crashes or fails WriteFile, Append, Rename and Link at each of
// their operations: what is found afterwards is the old state or the new, never a mixture.
func TestEveryOpMayBeTheLast(t *testing.T) {
	tests := []struct {
		name  string
		act   func(d disk.Disk, dir string) error
		state func(dir string) string
		old   string
		new   string
	}{
		{"replace a file",
			func(d disk.Disk, dir string) error { return d.WriteFile(filepath.Join(dir, "f"), text("new")) },
			func(dir string) string { return peek(dir, "f") }, "old", "new"},
		{"make a file",
			func(d disk.Disk, dir string) error { return d.WriteFile(filepath.Join(dir, "g"), text("new")) },
			func(dir string) string { return peek(dir, "g") }, "-", "new"},
		{"append a line",
			func(d disk.Disk, dir string) error { return d.Append(filepath.Join(dir, "log"), []byte("second")) },
			func(dir string) string {
				return strings.TrimPrefix(peek(dir, "log"), "first\n")
			}, "", "second\n"},
		{"rename across folders",
			func(d disk.Disk, dir string) error {
				return d.Rename(filepath.Join(dir, "f"), filepath.Join(dir, "sub", "f"))
			},
			func(dir string) string { return peek(dir, "f") + peek(dir, "sub/f") }, "old-", "-old"},
		{"link",
			func(d disk.Disk, dir string) error {
				return d.Link(filepath.Join(dir, "f"), filepath.Join(dir, "sub", "f"))
			},
			func(dir string) string { return peek(dir, "f") + peek(dir, "sub/f") }, "old-", "oldold"},
		{"make folders",
			func(d disk.Disk, dir string) error { return d.MkdirAll(filepath.Join(dir, "p", "q")) },
			func(dir string) string { return there(filepath.Join(dir, "p", "q")) }, "no", "yes"},
		{"overwrite a byte",
			func(d disk.Disk, dir string) error { return d.Overwrite(filepath.Join(dir, "f"), []int64{1}, 'L') },
			func(dir string) string { return peek(dir, "f") }, "old", "oLd"},
		{"remove by name",
			func(d disk.Disk, dir string) error { return d.RemoveAt(dir, []string{"f", "absent"}) },
			func(dir string) string { return peek(dir, "f") }, "old", "-"},
		{"remove a tree",
			func(d disk.Disk, dir string) error { return d.RemoveAll(filepath.Join(dir, "tree")) },
			func(dir string) string { return peek(dir, "tree/leaf") }, "leaf", "-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for n := 1; ; n++ {
				dir := t.TempDir()
				twin := disk.NewFaulty(t.TempDir())
				prepare(t, twin.Disk(), dir)
				twin.FailAt(n, nil)
				err := tt.act(twin.Disk(), dir)
				if crash := twin.Crash(); crash != nil {
					t.Fatal(crash)
				}
				got := tt.state(dir)
				if err == nil {
					if got != tt.new {
						t.Errorf("acknowledged, then lost by a crash: %q, want %q", got, tt.new)
					}
					return
				}
				both := strings.Contains(tt.name, "across") && got == "oldold"
				if got != tt.old && got != tt.new && !both {
					t.Errorf("failed at op %d, then crashed: %q, want %q or %q", n, got, tt.old, tt.new)
				}
			}
		})
	}
}

func prepare(t *testing.T, d disk.Disk, dir string) {
	t.Helper()
	err := errors.Join(
		d.MkdirAll(filepath.Join(dir, "sub")), d.MkdirAll(filepath.Join(dir, "tree")),
		d.WriteFile(filepath.Join(dir, "f"), text("old")),
		d.WriteFile(filepath.Join(dir, "tree", "leaf"), text("leaf")),
		d.Append(filepath.Join(dir, "log"), []byte("first")))
	if err != nil {
		t.Fatal(err)
	}
}

func peek(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return "-"
	}
	return string(b)
}

func there(path string) string {
	if _, err := os.Stat(path); err != nil {
		return "no"
	}
	return "yes"
}

func TestCrashDropsWhatWasNotSynced(t *testing.T) {
	dir := t.TempDir()
	twin := disk.NewFaulty(t.TempDir())
	d := twin.Disk()
	path := filepath.Join(dir, "f")
	f, err := d.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "safe"); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, " lost"); err != nil {
		t.Fatal(err)
	}
	nameless, err := d.Create(filepath.Join(dir, "g"))
	if err != nil {
		t.Fatal(err)
	}
	if err := twin.Crash(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "safe" {
		t.Errorf("file holds %q, want what was synced", got)
	}
	only(t, dir, "f")
	for _, old := range []*disk.File{f, nameless} {
		if _, err := io.WriteString(old, "x"); !errors.Is(err, disk.ErrCrashed) {
			t.Errorf("write after the crash: %v, want ErrCrashed", err)
		}
		if err := old.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := d.Append(path, []byte("again")); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}

func TestCrashFollowsARenamedFolder(t *testing.T) {
	dir := t.TempDir()
	twin := disk.NewFaulty(t.TempDir())
	d := twin.Disk()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	if err := d.MkdirAll(first); err != nil {
		t.Fatal(err)
	}
	f, err := d.Create(filepath.Join(first, "f"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	twin.FailAt(2, nil) // the rename happens, its sync does not
	if err := d.Rename(first, second); !errors.Is(err, disk.ErrInjected) {
		t.Fatalf("error is %v", err)
	}
	if err := twin.Crash(); err != nil {
		t.Fatal(err)
	}
	only(t, dir, "first")
	only(t, first)
}

func TestFailedSyncIsForGood(t *testing.T) {
	twin := disk.NewFaulty(t.TempDir())
	f, err := twin.Disk().Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "x"); err != nil {
		t.Fatal(err)
	}
	twin.FailAt(1, nil)
	if err := f.Sync(); !errors.Is(err, disk.ErrInjected) {
		t.Fatalf("error is %v", err)
	}
	twin.FailAt(0, nil)
	if err := f.Sync(); !errors.Is(err, disk.ErrInjected) {
		t.Errorf("a second sync says %v, though the bytes may be gone", err)
	}
	if _, err := f.Write([]byte("y")); !errors.Is(err, disk.ErrInjected) {
		t.Errorf("a write after a failed sync says %v", err)
	}
}
