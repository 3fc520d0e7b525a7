package logbook

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/alert"
	"holdfast/internal/disk"
)

// A log that cannot be written is an alert that names the folder and the reason; one that can be is none.
func TestALogThatIsNotWrittenIsAnAlert(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, file + ".log"} {
		b := Open(Config{Dir: dir, Size: 4 << 10, Files: 1, Disk: disk.New(), Out: slog.DiscardHandler})
		slog.New(b.Handler()).Info("one")
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		got := b.Alerts()
		if dir != file {
			if len(got) != 0 {
				t.Errorf("it is written: %v", got)
			}
		} else if len(got) != 1 || got[0].Kind != alert.LogUnwritten || got[0].Subject != dir || !strings.Contains(got[0].Text(), "not a directory") {
			t.Errorf("%v", got)
		}
	}
}
