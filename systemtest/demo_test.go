//go:build e2e

package systemtest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestDemo runs the demo as a visitor would: all of it holds, within a minute, and nothing stays behind.
func TestDemo(t *testing.T) {
	t.Parallel()
	program, err := Program()
	check(t, err)
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program, "demo", "--exit", "--json")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	began := time.Now()
	out, err := cmd.Output()
	took := time.Since(began)
	if err != nil {
		t.Fatalf("demo: %v: %s\n%s", err, out, problems.Bytes())
	}
	var shown struct {
		Held    bool    `json:"held"`
		Seconds float64 `json:"seconds"`
		Facts   []struct {
			Name, Detail string
			Held         bool
			AtSeconds    float64
		} `json:"facts"`
	}
	check(t, json.Unmarshal(out, &shown))
	for _, f := range shown.Facts {
		t.Logf("%5.1f s  %s: %s", f.AtSeconds, f.Name, f.Detail)
		if !f.Held {
			t.Errorf("%s does not hold", f.Name)
		}
	}
	if !shown.Held || len(shown.Facts) != 6 {
		t.Errorf("held %v, %d facts", shown.Held, len(shown.Facts))
	}
	t.Logf("%5.1f s  of which %.1f s after the last fact", took.Seconds(), took.Seconds()-shown.Seconds)
	if took > time.Minute {
		t.Errorf("the demo took %v", took)
	}
	left, err := os.ReadDir(dir)
	check(t, err)
	for _, e := range left {
		t.Errorf("the demo leaves %s behind", e.Name())
	}
	if alive := processesWith(t, dir); len(alive) > 0 {
		t.Errorf("the demo leaves processes behind: %v", alive)
	}
}

// processesWith returns the command lines of processes that name the folder.
func processesWith(t *testing.T, dir string) (found []string) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	check(t, err)
	for _, path := range lines {
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte(dir)) { // one that ended meanwhile has no line
			found = append(found, string(bytes.ReplaceAll(text, []byte{0}, []byte(" "))))
		}
	}
	return found
}
