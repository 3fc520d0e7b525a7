//go:build nemesis

package nemesis

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// stepVariable names the environment variable with the path of a file of eight bytes: how many seconds a process's
// clock is ahead. Programs that buildStepped built read it; the product itself knows nothing of it.
const stepVariable = "HOLDFAST_CLOCK_STEP"

// stepSource is added to the package time of the program under test. The wall clock jumps; the monotonic clock does not.
const stepSource = `package time

import (
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

var (
	stepOnce sync.Once
	step     *int64
)

func clockStep() int64 {
	stepOnce.Do(func() {
		path, there := syscall.Getenv("` + stepVariable + `")
		if !there {
			return
		}
		fd, err := syscall.Open(path, syscall.O_RDONLY, 0)
		if err != nil {
			return
		}
		if page, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED); err == nil {
			step = (*int64)(unsafe.Pointer(&page[0]))
		}
		_ = syscall.Close(fd)
	})
	if step == nil {
		return 0
	}
	return atomic.LoadInt64(step)
}
`

// buildStepped builds the program with a clock that a test can step, into dir. It replaces one function of the standard
// library for this build (go build -overlay), so that the product needs no hook. The Go build cache keeps the result.
func buildStepped(ctx context.Context, dir string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	const read = "sec, nsec, mono := runtimeNow()\n"
	now := strings.Replace(string(text), "func Now() Time {\n\t"+read, "func Now() Time {\n\t"+read+"\tsec += clockStep()\n", 1)
	if now == string(text) {
		return "", errors.New("time.Now of this Go version does not read the clock as it did: adapt buildStepped")
	}
	added := filepath.Join(dir, "step.go")
	changed := filepath.Join(dir, "time.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed, filepath.Join(filepath.Dir(original), "step.go"): added}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	for path, text := range map[string]string{added: stepSource, changed: now, list: string(overlay)} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	program := filepath.Join(dir, "holdfast")
	args := []string{"build", "-overlay", list, "-o", program}
	if os.Getenv("HOLDFAST_RACE") != "" {
		args = append(args, "-race")
	}
	if out, err := exec.CommandContext(ctx, "go", append(args, "holdfast")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program under test: %w: %s", err, out)
	}
	return program, nil
}

// setStep makes a node's clock that many seconds early.
func setStep(path string, seconds int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(seconds)), 0)
	return errors.Join(err, f.Close())
}
