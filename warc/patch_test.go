package warc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/disk"
)

// A file with holes of any length is whole again, and what lies outside of them where it was.
func TestPatch(t *testing.T) {
	dir := t.TempDir()
	d := disk.New()
	src := filepath.Join(dir, "a.warc.gz")
	f, err := NewFile(d, src, FilesConfig{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string) Position {
		p, err := f.Write(Draft{Type: TypeResource, TargetURI: "http://h/" + name, ContentType: "text/plain", Block: strings.NewReader(name), Size: int64(len(name))})
		if err != nil {
			t.Fatal(err)
		}
		return p[0]
	}
	write("first")
	second := write("second")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(src)
	if err != nil {
		t.Fatal(err)
	}
	before, member := whole[:second.Offset], whole[second.Offset:]
	lengths := []int{1234, 1235, 1236, 1237, 65535, 65540, 65541, 65558, 65559, 131099, 300_001}
	for n := 1180; n < 1260; n++ { // where the length of the block gets another digit
		lengths = append(lengths, n)
	}
	for _, n := range lengths {
		damaged := append(append([]byte(nil), before...), make([]byte, n)...)
		damaged = append(damaged, member...)
		path, out := filepath.Join(dir, fmt.Sprint(n, ".damaged")), filepath.Join(dir, fmt.Sprint(n, ".warc.gz"))
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		size, hole := int64(len(damaged)), Span{second.Offset, second.Offset + int64(n)}
		if err := Patch(d, path, out, size, []Span{hole}, "these bytes were damaged"); err != nil {
			t.Errorf("%d: %v", n, err)
			continue
		}
		if info, err := os.Stat(out); err != nil || info.Size() != size {
			t.Fatalf("%d: %v, size %d, want %d", n, err, info.Size(), size)
		}
		sum, err := Check(out, func(x Finding) { t.Errorf("%d: %+v", n, x) })
		if err != nil || sum.Records != 4 {
			t.Errorf("%d: %v, %+v", n, err, sum)
		}
		file, err := os.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		if rec, err := ReadAt(file, out, hole.End, 0); err != nil || rec.TargetURI() != "http://h/second" {
			t.Errorf("%d: %v after the hole: %v", n, rec, err)
		}
		if rec, err := ReadAt(file, out, hole.Offset, 0); err != nil || rec.Type != TypeMetadata {
			t.Errorf("%d: %v in the hole: %v", n, rec, err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, holes := range [][]Span{{{0, MinHole - 1}}, {{400, 800}, {0, 400}}, {{0, 1 << 20}}} {
		if err := Patch(d, src, filepath.Join(dir, "bad"), int64(len(whole)), holes, ""); !errors.Is(err, ErrHole) {
			t.Errorf("%v: %v", holes, err)
		}
	}
}
