package browser

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// nobody is the user that Chromium runs as where this process is root's.
const nobody = 65534

// maxPath is the longest path of a folder that profiles can be made in: Chromium makes a socket below it, and the
// kernel has room for 107 bytes.
const maxPath = 46

// waitDelay is how long the pipe of a process that ended is waited for: its children may hold it.
const waitDelay = time.Second

// process is a running Chromium: the leader of a group of processes.
type process struct {
	cmd     *exec.Cmd
	to      *os.File // what it reads
	from    *os.File // what it says
	profile string
	errors  *tail
	exited  chan struct{}
	once    sync.Once
}

// startProcess starts Chromium with a profile of its own. It dies with this process. Root's runs as nobody.
func startProcess(cfg Config, args []string) (p *process, err error) {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	if len(dir) > maxPath || attr.Credential != nil && !open(dir) {
		if dir, err = elsewhere(dir); err != nil {
			return nil, err
		}
	}
	profile, err := os.MkdirTemp(dir, "b-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(profile))
		}
	}()
	if attr.Credential != nil {
		if err := os.Chown(profile, nobody, nobody); err != nil {
			return nil, err
		}
	}
	theirIn, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirIn.Close(), to.Close())
	}
	p = &process{to: to, from: from, profile: profile, errors: &tail{}, exited: make(chan struct{})}
	p.cmd = exec.Command(cfg.Program, append(args, "--user-data-dir="+filepath.Join(profile, "data"))...)
	p.cmd.Dir = profile
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + profile, "TMPDIR=" + profile, "XDG_CONFIG_HOME=" +
		profile, "XDG_CACHE_HOME=" + profile,
		"LANG=C.UTF-8", "TZ=UTC", "DBUS_SESSION_BUS_ADDRESS=disabled:"}
	p.cmd.ExtraFiles = []*os.File{theirIn, theirOut} // descriptors 3 and 4, by Chromium's convention
	p.cmd.Stderr = p.errors
	p.cmd.SysProcAttr = attr
	p.cmd.WaitDelay = waitDelay
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the kernel ends the browser when the thread ends that started it
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended does not matter: all that it was asked for is answered over the pipe
			close(p.exited)
		}
	}()
	err = <-started
	closed := errors.Join(theirIn.Close(), theirOut.Close())
	if err = errors.Join(err, closed); err != nil {
		return nil, errors.Join(err, to.Close(), from.Close())
	}
	return p, nil
}

// Clean removes what a killed process left behind of the browsers whose profiles were in dir.
func Clean(dir string) error {
	var errs []error
	for _, place := range Places(dir) {
		errs = append(errs, os.RemoveAll(place))
	}
	return errors.Join(errs...)
}

// Places are the folders in which the profiles of browsers with that Config.Dir may be.
func Places(dir string) []string {
	whole, err := filepath.Abs(dir)
	if err != nil { // Start fails for the same reason
		whole = dir
	}
	return []string{whole, elsewhereOf(whole)}
}

// elsewhereOf is where profiles are made whose path would be too long in dir, or that nobody could reach there.
func elsewhereOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(os.TempDir(), fmt.Sprintf("holdfast-browser-%x", sum[:8]))
}

// elsewhere makes that folder. One that another user made is not used.
func elsewhere(dir string) (string, error) {
	dir = elsewhereOf(dir)
	err := os.Mkdir(dir, 0o755)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if sys, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(sys.Uid) != os.Getuid() {
		return "", fmt.Errorf("folder %s belongs to another user", dir)
	}
	return dir, nil
}

// open reports whether any user can read what is in a folder.
func open(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&1 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the group at once. It can be called again.
func (p *process) kill() {
	select {
	case <-p.exited: // its number may be another's by now
	default:
		_ = syscall.Kill(-p.pid(), syscall.SIGKILL)
	}
}

// end kills the group, waits for it and removes the profile.
func (p *process) end() {
	p.once.Do(func() {
		rest := p.family()
		p.kill()
		<-p.exited
		for _, pid := range rest { // those that left the group
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = p.to.Close()
		_ = p.from.Close()
		_ = os.RemoveAll(p.profile)
	})
}

// said tells whether the process said something on its way out.
func (p *process) said(what string) bool { return strings.Contains(p.errors.String(), what) }

// lastWords returns the end of the process's output.
func (p *process) lastWords() string {
	text := strings.TrimSpace(p.errors.String())
	return text[max(0, len(text)-500):]
}

// family lists the processes that descend from the browser, itself included.
func (p *process) family() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	parents, groups := map[int]int{}, map[int]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		parent, group, ok := stat(pid)
		if ok {
			parents[pid], groups[pid] = parent, group
		}
	}
	root := p.pid()
	var out []int
	for pid := range parents {
		for at, depth := pid, 0; at > 1 && depth < 64; at, depth = parents[at], depth+1 {
			if at == root || groups[at] == root {
				out = append(out, pid)
				break
			}
		}
	}
	return out
}

// stat reads a process's parent and group.
func stat(pid int) (parent, group int, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false
	}
	words := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(words) < 3 {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(string(words[1]))
	if err != nil {
		return 0, 0, false
	}
	group, err = strconv.Atoi(string(words[2]))
	return parent, group, err == nil
}

// memory returns how much memory the processes use without what is backed by files: program code that they share does
// not count.
func (p *process) memory() (total int64) {
	for _, pid := range p.family() {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			name, value, _ := strings.Cut(line, ":")
			if name != "RssAnon" && name != "RssShmem" {
				continue
			}
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			if err == nil {
				total += kb << 10
			}
		}
	}
	return total
}

// tail keeps the last of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// maxTail is how much of it.
const maxTail = 16 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if len(t.text) > 2*maxTail {
		t.text = append(t.text[:0], t.text[len(t.text)-maxTail:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
