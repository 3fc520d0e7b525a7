package disk_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast/internal/disk"
)

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	d := disk.New()
	for _, want := range []string{"one", "", strings.Repeat("two", 1<<16)} {
		if err := d.WriteFile(path, text(want)); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != want {
			t.Errorf("file holds %d bytes, want %d", len(got), len(want))
		}
	}
	refusal := errors.New("no more")
	err := d.WriteFile(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		return refusal
	})
	if !errors.Is(err, refusal) {
		t.Errorf("error is %v, want the writer's own", err)
	}
	if got := read(t, path); len(got) != 3<<16 {
		t.Errorf("a failed write changed the file")
	}
	only(t, filepath.Dir(path), "f")
}

func TestWriteFileModeKeepsKeysPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := disk.New().WriteFileMode(path, 0o600, text("secret")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode().Perm())
	}
}

func TestAppendCutsUnfinishedLine(t *testing.T) {
	tests := []struct{ name, before, want string }{
		{"new file", "", "line\n"},
		{"after whole lines", "a\nb\n", "a\nb\nline\n"},
		{"after a torn line", "a\nb", "a\nline\n"},
		{"only a torn line", "ab", "line\n"},
		{"a long torn line", "a\n" + strings.Repeat("x", 10000), "a\nline\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if tt.before != "" {
				if err := os.WriteFile(path, []byte(tt.before), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := disk.New().Append(path, []byte("line")); err != nil {
				t.Fatal(err)
			}
			if got := read(t, path); got != tt.want {
				t.Errorf("file holds %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	d := disk.New()
	f, err := d.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"hello ", "world"} {
		if _, err := io.WriteString(f, s); err != nil {
			t.Fatal(err)
		}
	}
	part := make([]byte, 5)
	if _, err := f.ReadAt(part, 6); err != nil || string(part) != "world" {
		t.Errorf("ReadAt gives %q, %v", part, err)
	}
	if err := f.Truncate(5); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	f, err = d.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if f.Size() != 5 || f.Name() != path {
		t.Errorf("size %d and name %s", f.Size(), f.Name())
	}
	if _, err := io.WriteString(f, "!"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "hello!" {
		t.Errorf("file holds %q", got)
	}
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	d := disk.New()
	a, b := filepath.Join(dir, "a", "x", "f"), filepath.Join(dir, "b", "g")
	err := errors.Join(d.MkdirAll(filepath.Dir(a)), d.MkdirAll(filepath.Dir(b)), d.MkdirAll(filepath.Dir(b)),
		d.WriteFile(a, text("1")), d.Rename(a, b), d.Link(b, a), d.Remove(b))
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, a); got != "1" {
		t.Errorf("file holds %q", got)
	}
	if err := d.Link(a, a); !errors.Is(err, fs.ErrExist) {
		t.Errorf("link over a file: %v, want fs.ErrExist", err)
	}
	if err := d.Remove(b); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("remove what is not there: %v, want fs.ErrNotExist", err)
	}
	if err := d.MkdirAll(a); err == nil {
		t.Error("a file passed for a folder")
	}
	if err := errors.Join(d.RemoveAll(filepath.Join(dir, "a")), d.RemoveAll(filepath.Join(dir, "a"))); err != nil {
		t.Error(err)
	}
	only(t, dir, "b")
}

func TestCleanTemporary(t *testing.T) {
	dir := t.TempDir()
	twin := disk.NewFaulty(t.TempDir())
	if err := twin.Disk().WriteFile(filepath.Join(dir, "kept"), text("x")); err != nil {
		t.Fatal(err)
	}
	twin.FailAt(2, nil) // the temporary file is there, and cannot even be removed
	if err := twin.Disk().WriteFile(filepath.Join(dir, "lost"), text("x")); !errors.Is(err, disk.ErrInjected) {
		t.Fatalf("error is %v", err)
	}
	if names := list(t, dir); len(names) != 2 {
		t.Fatalf("folder holds %q, want a leftover", names)
	}
	if err := disk.New().CleanTemporary(dir); err != nil {
		t.Fatal(err)
	}
	only(t, dir, "kept")
}

func TestFree(t *testing.T) {
	free, total, err := disk.New().Free(t.TempDir())
	if err != nil || total == 0 || free > total {
		t.Errorf("free %d of %d, %v", free, total, err)
	}
	if _, _, err := disk.New().Free(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v, want fs.ErrNotExist", err)
	}
}

func TestFullDiskHasItsOwnError(t *testing.T) {
	dir := t.TempDir()
	twin := disk.NewFaulty(t.TempDir())
	d := twin.Disk()
	twin.FailAt(1, fmt.Errorf("write: %w", syscall.ENOSPC))
	for name, err := range map[string]error{
		"WriteFile": d.WriteFile(filepath.Join(dir, "a"), text("x")),
		"Append":    d.Append(filepath.Join(dir, "b"), []byte("x")),
		"MkdirAll":  d.MkdirAll(filepath.Join(dir, "c")),
	} {
		if !errors.Is(err, disk.ErrFull) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v, want ErrFull", name, err)
		}
	}
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func only(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := list(t, dir); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("folder holds %q, want %q", got, want)
	}
}

// TestRoomOfOneFileSystem asks for two folders of one file system, and one that is not there: the room counts once.
func TestRoomOfOneFileSystem(t *testing.T) {
	t.Parallel()
	d, dir := disk.New(), t.TempDir()
	below := filepath.Join(dir, "below")
	if err := d.MkdirAll(below); err != nil {
		t.Fatal(err)
	}
	_, want, err := d.Free(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, total := d.Room([]string{dir, below, filepath.Join(dir, "none")}, 0); total != want {
		t.Errorf("two folders of one file system have %d bytes, it has %d", total, want)
	}
	if free, _ := d.Room([]string{dir}, want+1); free != 0 {
		t.Errorf("less a reserve of more than there is, %d bytes are free", free)
	}
}

// TestRefuse lets one folder take no writes: what is there can be read, and the folder beside it is as it was.
func TestRefuse(t *testing.T) {
	dir := t.TempDir()
	twin := disk.NewFaulty(t.TempDir())
	d := twin.Disk()
	one, beside := filepath.Join(dir, "one"), filepath.Join(dir, "one-beside")
	for _, folder := range []string{one, beside} {
		if err := d.MkdirAll(folder); err != nil {
			t.Fatal(err)
		}
	}
	write := func(folder string) error {
		return d.WriteFile(filepath.Join(folder, "f"), func(w io.Writer) error { _, err := w.Write([]byte("x")); return err })
	}
	if err := write(one); err != nil {
		t.Fatal(err)
	}
	twin.Refuse(one, syscall.EROFS)
	if err := write(one); !errors.Is(err, syscall.EROFS) {
		t.Errorf("written: %v", err)
	}
	if err := d.Rename(filepath.Join(beside, "g"), filepath.Join(one, "g")); !errors.Is(err, syscall.EROFS) {
		t.Errorf("renamed: %v", err)
	}
	if err := d.Remove(filepath.Join(one, "f")); !errors.Is(err, syscall.EROFS) {
		t.Errorf("removed: %v", err)
	}
	if b, err := os.ReadFile(filepath.Join(one, "f")); err != nil || string(b) != "x" {
		t.Errorf("read: %s, %v", b, err)
	}
	if err := write(beside); err != nil {
		t.Errorf("beside: %v", err)
	}
	twin.Refuse(one, nil)
	if err := write(one); err != nil {
		t.Errorf("again: %v", err)
	}
}
