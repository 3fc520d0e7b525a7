package warc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/disk"
)

func TestNewFileWritesOneFileOfThatName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "7-metadata-1.warc.gz")
	if err := os.WriteFile(path+".open", []byte("torn"), 0o644); err != nil {
		t.Fatal(err)
	}
	var done Finished
	f, err := NewFile(disk.New(), path, FilesConfig{}, func(d Finished) error { done = d; return nil })
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(Draft{Type: TypeResource, TargetURI: "metadata://test/crawl/logs/crawl.log", ContentType: "text/plain",
		Block: strings.NewReader("a line\n"), Size: 7})
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if done.Path != path || done.Records != 2 {
		t.Errorf("finished %+v", done)
	}
	if _, err := Check(path, func(f Finding) { t.Errorf("%+v", f) }); err != nil {
		t.Fatal(err)
	}
	late, err := NewFile(disk.New(), filepath.Join(t.TempDir(), "x.warc"), FilesConfig{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	last := Draft{Type: TypeMetadata, ContentType: "text/plain"}
	if _, err := late.Write(last); err != nil {
		t.Fatal(err)
	}
	if err := late.Finish(); err != nil {
		t.Fatal(err)
	}
	if _, err := late.Write(last); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a write after the one file was finished: %v", err)
	}
	if _, err := NewFile(disk.New(), path, FilesConfig{}, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second writer: %v", err)
	}
}
