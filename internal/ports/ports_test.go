package ports

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

const port = 1 // nobody draws it

func TestHold(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // ports are reserved on Linux alone
	}
	first := take(t)
	if first == nil {
		t.Fatal("the port was not given")
	}
	if take(t) != nil {
		t.Error("the port was given twice")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestOther$")
	cmd.Env = append(os.Environ(), "HOLDFAST_OTHER=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "taken") {
		t.Errorf("another process: %v, %s", err, out)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := take(t)
	if again == nil {
		t.Fatal("the port was not given back")
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// TestOther is the other process of TestHold.
func TestOther(t *testing.T) {
	if os.Getenv("HOLDFAST_OTHER") == "" {
		return
	}
	if take(t) == nil {
		_, _ = os.Stdout.WriteString("taken\n")
	}
}

func take(t *testing.T) io.Closer {
	t.Helper()
	c, err := Hold(port)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
