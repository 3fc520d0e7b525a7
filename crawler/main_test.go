package crawler

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// envKept is where the tests keep the WARC files that they made, for the independent check at the end.
const envKept = "HOLDFAST_TEST_WARCS"

// TestMain lets the test binary be the crawl that is killed. After the tests it holds all WARC files that they made
// against a validator that shares no code with this project.
func TestMain(m *testing.M) {
	if dir := os.Getenv(envCrawlDir); dir != "" {
		if err := crawlHere(dir, os.Getenv(envCrawlSeed), os.Getenv(envCrawlBytes)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code, err := checked(m.Run)
	if err != nil {
		fmt.Println("independent check of WARC files:", err)
		code = 1
	}
	os.Exit(code)
}

// checked runs the tests, and then the independent check of what they made.
func checked(run func() int) (code int, err error) {
	dir, err := os.MkdirTemp("", "holdfast-warcs-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Setenv(envKept, dir); err != nil {
		return 1, err
	}
	code = run()
	kept, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		return code, err
	}
	for some := range slices.Chunk(kept, 500) {
		args := append([]string{filepath.Join("..", "warc", "testdata", "warccheck.py"), "-v"}, some...)
		out, failed := exec.Command("python3", args...).CombinedOutput()
		if failed != nil || bytes.Count(out, []byte(" E=0 W=0 ")) != len(some) {
			err = errors.Join(err, fmt.Errorf("%w\n%s", failed, out))
		}
	}
	return code, err
}

// keepForCheck keeps a WARC file beyond its test, in a folder that is named for the test.
func keepForCheck(t testing.TB, file string) {
	t.Helper()
	dir, err := os.MkdirTemp(os.Getenv(envKept), strings.NewReplacer("/", "_", "*", "_").Replace(t.Name())+"-")
	if err != nil {
		t.Fatal(err)
	}
	if err := copyFile(filepath.Join(dir, filepath.Base(file)), file); err != nil {
		t.Fatal(err)
	}
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// envAlone is set in the process of a test that measures its process.
const envAlone = "HOLDFAST_TEST_ALONE"

// alone runs a test that measures its process (heap, goroutines, open files) in a process of its own, beside the
// others. It reports whether this is that process; in the other one the test is over then.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(envAlone) != "" {
		return true
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), envAlone+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}
