package runner

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/harvest"
	"holdfast/internal/disk"
)

// programLogName is the file of an attempt's program log, in the folder of its logs.
const programLogName = "holdfast.out"

// maxProgramLog is how many bytes one run of an attempt adds to its program log at most.
const maxProgramLog = 16 << 20

// programLog is the program log of an attempt: which program ran, with what, and what went wrong. Lines that come
// before it is begun, or after its end, are left out. Its methods may be called on nil, and at the same time.
type programLog struct {
	mu   sync.Mutex
	file *disk.File
	left int // bytes
}

// handler passes records on to the node's log and writes them here, too.
func (p *programLog) handler(node slog.Handler) slog.Handler {
	return slog.NewMultiHandler(node, slog.NewTextHandler(p, nil))
}

// begin opens the log in an attempt's folder.
func (p *programLog) begin(d disk.Disk, dir string) error {
	if p == nil {
		return nil
	}
	if err := d.MkdirAll(filepath.Join(dir, "logs")); err != nil {
		return err
	}
	file, err := d.Open(filepath.Join(dir, "logs", programLogName))
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file != nil {
		return file.Close()
	}
	p.file, p.left = file, maxProgramLog
	return nil
}

// Write implements io.Writer. What does not fit any more is left out.
func (p *programLog) Write(line []byte) (int, error) {
	if p == nil {
		return len(line), nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil || p.left < len(line) {
		return len(line), nil
	}
	p.left -= len(line)
	return p.file.Write(line)
}

// say writes a line with the time.
func (p *programLog) say(format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
	_, _ = fmt.Fprintf(p, "%s %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), text)
}

// end closes the log.
func (p *programLog) end() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil {
		return nil
	}
	file := p.file
	p.file = nil
	return file.Close()
}

// introduce says which program runs here, and how it was started.
func (p *programLog) introduce(version, node string) {
	p.say("Holdfast %s on node %s, %s %s/%s, process %d", version, node, runtime.Version(), runtime.GOOS,
		runtime.GOARCH, os.Getpid())
	p.say("command line: %s", strings.Join(shownArguments(os.Args), " "))
	p.say("environment: %s", strings.Join(shownEnvironment(os.Environ()), " "))
}

// settings says where each of the crawl's settings is from.
func (p *programLog) settings(given harvest.Settings) error {
	usual, err := byName(harvest.DefaultSettings())
	if err != nil {
		return err
	}
	now, err := byName(given)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		origin := "default"
		if now[name] != usual[name] {
			origin = "job"
		}
		p.say("setting %s = %s (%s)", name, now[name], origin)
	}
	return err
}

// changes says which settings were changed while the crawl ran: those in the folder differ from what was given.
func (p *programLog) changes(given harvest.Settings, dir string) {
	text, err := os.ReadFile(filepath.Join(dir, "settings", "job.json"))
	if err != nil {
		return // it did not come to run
	}
	var job harvest.Job
	var before, after map[string]string
	if err = json.Unmarshal(text, &job); err == nil {
		before, err = byName(given)
	}
	if err == nil {
		after, err = byName(job.Settings)
	}
	if err != nil {
		p.say("the settings at the end cannot be read: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != after[name] {
			p.say("setting %s = %s (changed while the crawl ran)", name, after[name])
		}
	}
}

// byName are the settings without secrets, as JSON by their names.
func byName(s harvest.Settings) (map[string]string, error) {
	text, err := json.Marshal(s.Redacted())
	values := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(text, &values)
	}
	if err != nil {
		return nil, fmt.Errorf("list the settings of a job: %w", err)
	}
	out := make(map[string]string, len(values))
	for name, value := range values {
		out[name] = string(value)
	}
	return out, nil
}

// shownArguments is a command line without what may be secret: what follows the name of a secret.
func shownArguments(args []string) (shown []string) {
	hide := false
	for _, arg := range args {
		name, _, whole := strings.Cut(arg, "=")
		switch {
		case hide && !strings.HasPrefix(arg, "-"):
			arg, hide = harvest.Redaction, false
		case strings.HasPrefix(arg, "-") && secretName(name):
			if hide = !whole; whole {
				arg = name + "=" + harvest.Redaction
			}
		case strings.Contains(arg, "://") && strings.Contains(arg, "@"):
			arg, hide = harvest.Redaction, false
		default:
			hide = false
		}
		shown = append(shown, arg)
	}
	return shown
}

// secretName reports whether what bears the name may be a secret.
func secretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"token", "secret", "password", "passphrase", "key", "cookie", "set", "header"},
		func(part string) bool { return strings.Contains(name, part) })
}

// shownEnvironment are the variables that change how the program runs, and are never secret.
func shownEnvironment(all []string) (shown []string) {
	known := []string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG", "GOTRACEBACK", "TZ", "LANG", "PATH", "TMPDIR",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "HOLDFAST_CONFIG", "HOLDFAST_NODE", "HOLDFAST_CONTACT"}
	for _, v := range all {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(known, name) || strings.HasPrefix(name, "LC_") {
			shown = append(shown, v)
		}
	}
	slices.Sort(shown)
	return shown
}
