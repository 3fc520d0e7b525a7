//go:build apicheck

// Package apicheck lets an independent tool compare the API's description with a node's answers.
package apicheck

import (
	"cmp"
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTheDescriptionHolds runs schemathesis over all operations of a real node that has a job and a file: every answer
// must be as described, what the description allows must be accepted, and what it does not must be refused.
func TestTheDescriptionHolds(t *testing.T) {
	tool, err := filepath.Abs("../../bin/apicheck/bin/schemathesis")
	check(t, err)
	program, err := filepath.Abs("../../bin/holdfast")
	check(t, err)
	for _, path := range []string{tool, program} {
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%v: run make apicheck", err)
		}
	}
	dir, address := t.TempDir(), free(t)
	server := "http://" + address
	node := exec.CommandContext(t.Context(), program, "up", "--data", filepath.Join(dir, "data"), "--peer", "127.0.0.1:0",
		"--api", address, "--access", free(t), "http://127.0.0.1:1/")
	node.Cancel = func() error { return node.Process.Signal(syscall.SIGTERM) }
	node.WaitDelay = 30 * time.Second
	out, err := os.Create(filepath.Join(dir, "out"))
	check(t, err)
	defer out.Close()
	faults, err := os.Create(filepath.Join(dir, "log"))
	check(t, err)
	defer faults.Close()
	node.Stdout, node.Stderr = out, faults
	check(t, node.Start())
	t.Cleanup(func() { _ = node.Process.Signal(syscall.SIGTERM); _ = node.Wait() })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for text := ""; !strings.Contains(text, "Browse:"); { // its job, which captures nothing, has ended
		content, err := os.ReadFile(out.Name())
		check(t, err)
		text = string(content)
		select {
		case <-ctx.Done():
			t.Fatalf("the node does not say that it is up: %s", text)
		case <-time.After(100 * time.Millisecond):
		}
	}
	token, err := os.ReadFile(filepath.Join(dir, "data", "identity", "api-token"))
	check(t, err)
	content := make([]byte, 5000)
	_, _ = rand.Read(content)
	file := filepath.Join(dir, "one.bin")
	check(t, os.WriteFile(file, content, 0o600))
	put := exec.CommandContext(ctx, program, "file", "put", "--server", server, "--token", strings.TrimSpace(string(token)), file)
	if text, err := put.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	config, err := filepath.Abs("schemathesis.toml")
	check(t, err)
	run := exec.CommandContext(t.Context(), tool, "--config-file", config, "run", server+"/openapi.json",
		"-H", "Authorization: Bearer "+strings.TrimSpace(string(token)), "--phases", "examples,coverage,fuzzing",
		"-n", cmp.Or(os.Getenv("CASES"), "10"), "--seed", cmp.Or(os.Getenv("SEED"), "1"), "--continue-on-failure")
	run.Dir = dir
	text, err := run.CombinedOutput()
	if err != nil {
		log, _ := os.ReadFile(faults.Name())
		t.Errorf("%v:\n%s\nThe node said:\n%s", err, text, log[max(0, len(log)-20_000):])
	}
	answer, err := http.Get(server + "/health")
	check(t, err)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("after all that the node answers %s", answer.Status)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// free is a free address on loopback.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer l.Close()
	return l.Addr().String()
}
