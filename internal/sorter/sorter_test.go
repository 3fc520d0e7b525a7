package sorter

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/seed"
)

// Whatever is put in comes out in order, from memory, from files, and from files that were merged on the way.
func TestSorted(t *testing.T) {
	for name, tt := range map[string]struct{ n, room, levels int }{
		"nothing": {0, 1 << 10, 0}, "memory": {500, 1 << 20, 0}, "files": {5000, 64 << 10, 1}, "merged files": {9000, 1 << 10, 2},
		"no room": {200, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := seed.Rand(t), t.TempDir()
			s := New(dir, tt.room)
			var want []string
			for range tt.n {
				b := make([]byte, r.IntN(20))
				for i := range b {
					b[i] = []byte{0, 1, 'a', 255}[r.IntN(4)]
				}
				if r.IntN(1000) == 0 {
					b = append(b, strings.Repeat("x", 10_000)...)
				}
				cut := r.IntN(len(b) + 1)
				if err := s.Add(b[:cut], string(b[cut:])); err != nil {
					t.Fatal(err)
				}
				want = append(want, string(b))
			}
			slices.Sort(want)
			var got []string
			for entry, err := range s.Sorted() {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(entry))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d entries in another order than the %d that were added", len(got), len(want))
			}
			if len(s.levels) != tt.levels || s.Spilled() != (tt.levels > 0) {
				t.Errorf("%d levels of files, want %d", len(s.levels), tt.levels)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("files %v, %v", left, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Who has seen enough may stop.
func TestStopEarly(t *testing.T) {
	s := New(t.TempDir(), 1<<10)
	for range 1000 {
		if err := s.Add([]byte("key"), "value"); err != nil {
			t.Fatal(err)
		}
	}
	for range s.Sorted() {
		break
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestFaults(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "none"), 1<<10)
	var err error
	for i := 0; i < 1000 && err == nil; i++ {
		err = s.Add([]byte("key"), "value")
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
	s = New(t.TempDir(), 1<<10)
	for range 1000 {
		if err := s.Add([]byte("key"), "value"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.wait(); err != nil {
		t.Fatal(err)
	}
	if err := s.levels[0][0].Truncate(30); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range s.Sorted() {
		err = wrong
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that is cut off: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// BenchmarkSorter sorts a million keys of 60 bytes in 16 MiB.
func BenchmarkSorter(b *testing.B) {
	r := seed.Rand(b)
	keys := make([][]byte, 1_000_000)
	for i := range keys {
		keys[i] = make([]byte, 60)
		for j := range 20 {
			keys[i][j] = byte(r.IntN(256))
		}
	}
	for b.Loop() {
		s := New(b.TempDir(), 16<<20)
		for _, key := range keys {
			if err := s.Add(key, ""); err != nil {
				b.Fatal(err)
			}
		}
		for _, err := range s.Sorted() {
			if err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
