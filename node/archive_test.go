package node

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/disk"
)

func TestWhatACrashLeftOfAnUploadIsRemoved(t *testing.T) {
	dir := t.TempDir()
	incoming := filepath.Join(dir, "incoming")
	if err := os.Mkdir(incoming, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{receivedMark + "17", "a.warc.gz.part"} {
		if err := os.WriteFile(filepath.Join(incoming, name), []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	n := &Node{cfg: Config{Data: dir}, disk: disk.New()}
	if err := n.dropReceived(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(incoming)
	if err != nil || len(left) != 1 || left[0].Name() != "a.warc.gz.part" {
		t.Errorf("left: %v, %v", left, err)
	}
}
