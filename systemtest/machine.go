package systemtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Machine is a computer as an operator's document has it: a shell on a host of a Network, with a folder in which its
// paths lie. Close ends the shell and all that was started in it.
type Machine struct {
	Name string
	Dir  string

	shell *exec.Cmd
	typed io.WriteCloser
	count int
	paths *strings.Replacer
	back  *strings.Replacer
}

// onMachine are the paths of a document that lie in a machine's folder.
var onMachine = []string{"/etc/holdfast", "/var/lib/holdfast", "/usr/local/bin", "/tmp", "/disk1", "/disk2", "/mnt"}

// services is what the shell of a machine knows of a service manager: it runs the unit's command, and keeps how it
// ended.
const services = `
systemctl() {
  case "$1" in
  start)
    rm -f "$HOME/ended"
    ( "$HOME/service" >>"$HOME/journal" 2>&1 & echo $! >"$HOME/pid"; wait $!; echo $? >"$HOME/ended" ) & ;;
  stop) kill -TERM "$(cat "$HOME/pid")"; while ! [ -e "$HOME/ended" ]; do sleep 0.1; done ;;
  restart) systemctl stop; systemctl start ;;
  *) return 1 ;;
  esac
}
journalctl() { tail -n "${@: -1}" "$HOME/journal"; }
`

// NewMachine starts a shell by the words before it, such as those of Network.Enter. names replaces names of the
// document.
func NewMachine(name, dir, program string, enter []string, names ...string) (*Machine, error) {
	m := &Machine{Name: name, Dir: dir}
	var there, back []string
	for _, path := range onMachine {
		own := filepath.Join(dir, strings.ReplaceAll(path[1:], "/", "-"))
		there, back = append(there, path, own), append(back, own, path)
		if err := os.MkdirAll(own, 0o755); err != nil {
			return nil, err
		}
	}
	for i := 0; i < len(names); i += 2 {
		back = append(back, names[i+1], names[i])
	}
	m.paths, m.back = strings.NewReplacer(append(there, names...)...), strings.NewReplacer(back...)
	if err := os.Symlink(program, m.Path("/usr/local/bin/holdfast")); err != nil {
		return nil, err
	}
	words := append(append([]string{}, enter...), "bash", "--norc", "--noprofile")
	m.shell = exec.Command(words[0], words[1:]...)
	m.shell.Dir = dir
	m.shell.Env = append(os.Environ(), "HOME="+dir, "PATH="+m.Path("/usr/local/bin")+":"+os.Getenv("PATH"))
	m.shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var err error
	if m.typed, err = m.shell.StdinPipe(); err != nil {
		return nil, err
	}
	if err := m.shell.Start(); err != nil {
		return nil, fmt.Errorf("start the shell of %s: %w", name, err)
	}
	_, err = io.WriteString(m.typed, services)
	return m, err
}

// Path returns where a path of the document lies.
func (m *Machine) Path(path string) string { return m.paths.Replace(path) }

// Output is what a command shows, which may go on while something runs in the background.
type Output struct {
	m    *Machine
	path string
	Code int
}

// Type types a command and waits until the shell takes the next.
func (m *Machine) Type(ctx context.Context, command string) (Output, error) {
	m.count++
	out := Output{m: m, path: filepath.Join(m.Dir, fmt.Sprintf(".shown-%d", m.count))}
	code := out.path + "-code"
	_, err := fmt.Fprintf(m.typed, "(exit ${last:-0}); { %s\n} >%s 2>&1 </dev/null; last=$?; echo $last >%s.new; mv "+
		"%s.new %s\n",
		m.paths.Replace(command), out.path, code, code, code)
	if err != nil {
		return out, fmt.Errorf("type %q on %s: %w", command, m.Name, err)
	}
	err = Eventually(ctx, 3*time.Minute, func() error {
		text, err := os.ReadFile(code)
		if err == nil {
			out.Code, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err
	})
	if err != nil {
		return out, fmt.Errorf("%s on %s does not end: %w", command, m.Name, err)
	}
	return out, nil
}

// Text returns what is shown by now, with the names and paths of the document.
func (o Output) Text() (string, error) {
	text, err := os.ReadFile(o.path)
	return o.m.back.Replace(string(text)), err
}

// Configure writes the machine's cluster.toml, in which names and paths of the document stand for those of the test.
func (m *Machine) Configure(text string) error {
	return os.WriteFile(m.Path("/etc/holdfast/cluster.toml"), []byte(m.paths.Replace(text)), 0o644)
}

// Service makes the service that systemctl starts from a unit file: its command and environment; %H is the machine's
// name.
func (m *Machine) Service(unit string) error {
	lines := []string{"#!/bin/sh"}
	command := ""
	for line := range strings.Lines(strings.ReplaceAll(unit, "%H", m.Name)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "Environment":
			lines = append(lines, "export "+value)
		case "ExecStart":
			command = value
		}
	}
	if command == "" {
		return errors.New("the unit starts nothing")
	}
	text := m.paths.Replace(strings.Join(append(lines, "exec "+command), "\n"))
	return os.WriteFile(filepath.Join(m.Dir, "service"), []byte(text+"\n"), 0o755)
}

// Ended returns the exit code of the service, and whether it has ended.
func (m *Machine) Ended() (code int, ended bool) {
	text, err := os.ReadFile(filepath.Join(m.Dir, "ended"))
	if err != nil {
		return 0, false
	}
	code, err = strconv.Atoi(strings.TrimSpace(string(text)))
	return code, err == nil
}

// Kill ends the service at once, as a loss of power does.
func (m *Machine) Kill(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(m.Dir, "pid"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the node of %s: %w", m.Name, err)
	}
	return Eventually(ctx, 10*time.Second, func() error {
		if _, ended := m.Ended(); !ended {
			return errors.New("the service has not ended")
		}
		return nil
	})
}

// Close ends the shell and what runs in the background of it.
func (m *Machine) Close() {
	_ = m.typed.Close()
	_ = syscall.Kill(-m.shell.Process.Pid, syscall.SIGKILL)
	_ = m.shell.Wait()
}
