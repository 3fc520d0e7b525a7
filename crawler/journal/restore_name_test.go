package journal

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"holdfast/harvest"
)

// A name that is none of a checkpoint is refused before anything is read where it leads to: here to a pipe that nobody
// writes to.
func TestRestoreChecksTheNameBeforeItReads(t *testing.T) {
	dir := t.TempDir()
	c := &Checkpoints{Dir: filepath.Join(dir, "crawl")}
	pipe := filepath.Join(dir, "elsewhere", "checkpoint.json")
	for _, folder := range []string{filepath.Dir(pipe), checkpointDir(c.Dir)} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() { answered <- c.Check("../../../elsewhere") }()
	select {
	case err := <-answered:
		if !errors.Is(err, harvest.ErrInvalid) {
			t.Errorf("answered %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it reads what the name leads to")
		if f, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil { // lets it go on
			_ = f.Close()
			<-answered
		}
	}
}
