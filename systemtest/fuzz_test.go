package systemtest

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Packages without a fuzz target, or that are not there, are refused: nothing was fuzzed.
func TestFuzzNeedsATarget(t *testing.T) {
	for packages, want := range map[string]string{"./systemtest": "no fuzz target in ./systemtest", "./nowhere": "nowhere"} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		cmd := exec.CommandContext(ctx, "sh", "systemtest/fuzz.sh")
		cmd.Dir, cmd.Env = "..", append(os.Environ(), "PACKAGES="+packages, "FUZZ=1s")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		out, err := cmd.CombinedOutput()
		cancel()
		if err == nil || ctx.Err() == context.DeadlineExceeded || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%.500s", packages, err, out)
		}
	}
}
