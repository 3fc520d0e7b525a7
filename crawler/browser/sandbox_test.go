package browser

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// noSandbox is a browser that ends as Chromium does where the kernel refuses its sandbox, and without one answers whatever it is asked. Who it
// is and whether it has a sandbox is written down for each start.
const noSandbox = `#!/bin/bash
case " $* " in
*" --no-sandbox "*) sandbox=without ;;
*) sandbox=with ;;
esac
echo "$(id -u) $sandbox" >> "$(dirname "$0")/starts"
if [ $sandbox = with ]; then
	WORDS
fi
while IFS= read -r -d '' -u 3 message; do
	[[ $message =~ \"id\":([0-9]+) ]] && printf '{"id":%s,"result":{}}\0' "${BASH_REMATCH[1]}" >&4
done
`

// refused are Chromium's ways to end then, as seen.
func refused() map[string]string {
	return map[string]string{
		"alone": `echo '[7140:7140:1121/225537.884114:ERROR:content/browser/zygote_host/zygote_host_impl_linux.cc:130] No usable sandbox! If this is a Debian system,` +
			` please install the chromium-sandbox package to solve this problem.' >&2; exit 1`,
		"helper": `echo 'Failed to move to new namespace: PID namespaces supported, Network namespace supported, but failed: errno = Operation not permitted
[1868:1868:0311/120334.394798:FATAL:zygote_host_impl_linux.cc(206)] Check failed: . : Operation not permitted (1)' >&2; kill -ABRT $$`,
	}
}

// openDir is a folder that any user can reach and write to.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdfast-sandbox-")
	if err == nil {
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// starts are those of the browser in a folder: as which user, and with or without a sandbox.
func starts(t *testing.T, dir string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "starts"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		all = append(all, strings.TrimSpace(line))
	}
	return all
}

// Where the kernel refuses Chromium its sandbox, root's is started without one, as nobody, and a warning says so; another user's is not
// started, and the error says what can be done.
func TestRefusedSandbox(t *testing.T) {
	for name, words := range refused() {
		t.Run(name, func(t *testing.T) { refusedSandbox(t, words) })
	}
	if os.Getuid() == 0 {
		t.Run("unprivileged", unprivileged)
	}
}

func refusedSandbox(t *testing.T, words string) {
	dir := openDir(t)
	cfg := Config{Dir: filepath.Join(dir, "p"), Program: filepath.Join(dir, "chromium")}
	err := os.WriteFile(cfg.Program, []byte(strings.ReplaceAll(noSandbox, "WORDS", words)), 0o755)
	if err = errors.Join(err, os.Mkdir(cfg.Dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	b, err := Start(t.Context(), cfg)
	want := []string{fmt.Sprint(os.Getuid(), " with")}
	switch {
	case os.Getuid() != 0:
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "run the crawl as root") || !strings.Contains(err.Error(), "user namespaces") {
			t.Errorf("started with %v", err)
		}
	case err != nil:
		t.Fatal(err)
	default:
		b.Close()
		want = []string{"65534 with", "65534 without"}
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "no sandbox for the browser") {
			t.Errorf("the log says %s", log.String())
		}
	}
	if all := starts(t, dir); !slices.Equal(all, want) {
		t.Errorf("starts %q, want %q", all, want)
	}
	if left, err := os.ReadDir(cfg.Dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// unprivileged runs the test once more as nobody.
func unprivileged(t *testing.T) {
	dir := openDir(t)
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	program := filepath.Join(dir, "test")
	to, err := os.OpenFile(program, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Close()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestRefusedSandbox$", "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: TestRefusedSandbox")) {
		t.Errorf("%v: %s", err, out)
	}
}
