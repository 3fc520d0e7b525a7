package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// result is a row with what was measured. With err set nothing was; skipped says why nothing could be.
type result struct {
	row
	mine, theirs float64
	skipped      string
	err          error
}

// measurer runs benchmarks, each round of a row in the other order than the one before, and keeps what they print:
// several rows may be of one run.
type measurer struct {
	dir    string
	rounds int
	built  map[string]string // the test program of a package
	runs   map[string]figures
}

// figures are the metrics that a benchmark printed, one of each a round.
type figures map[string][]float64

func (m *measurer) measure(ctx context.Context, r row) result {
	if missing := r.needs.missing(); missing != "" {
		return result{row: r, skipped: missing}
	}
	both := []bench{r.ours, r.base}
	for i := range m.rounds {
		for _, b := range both {
			if err := m.once(ctx, b, i); err != nil {
				return result{row: r, err: err}
			}
		}
		slices.Reverse(both)
	}
	res := result{row: r}
	var err error
	if res.mine, err = m.median(r.ours); err == nil {
		res.theirs, err = m.median(r.base)
	}
	if errors.Is(err, errNothing) {
		res.skipped = err.Error()
		return res
	}
	res.err = err
	return res
}

// missing says that the program is not on this machine, or nothing.
func (p program) missing() string {
	if p.command == "" {
		return ""
	}
	if _, err := exec.LookPath(p.command); err != nil {
		return fmt.Sprintf("not measured: %s is not installed; it is in %s", p.command, p.from)
	}
	return ""
}

func (b bench) key() string { return b.pkg + "." + b.name }

// once runs the benchmark for the given round, unless it has run as often already.
func (m *measurer) once(ctx context.Context, b bench, round int) error {
	if m.runs == nil {
		m.runs = map[string]figures{}
	}
	if m.runs[b.key()] == nil {
		m.runs[b.key()] = figures{}
	}
	if len(m.runs[b.key()]["ran"]) > round {
		return nil
	}
	program, err := m.build(ctx, b.pkg)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "round %d of %d: %s %s\n", round+1, m.rounds, b.pkg, b.name)
	parts := strings.Split(b.name, "/")
	for i := range parts {
		parts[i] = "^" + parts[i] + "$"
	}
	cmd := exec.CommandContext(ctx, program, "-test.run", "^$", "-test.bench", strings.Join(parts, "/"),
		"-test.benchtime", b.times, "-test.timeout", "10m")
	cmd.Dir = b.pkg
	cmd.Env = append(os.Environ(), "TMPDIR="+m.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", b.pkg, b.name, err, bytes.TrimSpace(out))
	}
	printed := m.runs[b.key()]
	printed["ran"] = append(printed["ran"], 1)
	return printed.add(string(out), b.name)
}

// build makes the package's test program.
func (m *measurer) build(ctx context.Context, pkg string) (string, error) {
	if path := m.built[pkg]; path != "" {
		return path, nil
	}
	path := filepath.Join(m.dir, pkg+".test")
	out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", path, "./"+pkg).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the benchmarks of %s: %w: %s", pkg, err, bytes.TrimSpace(out))
	}
	m.built[pkg] = path
	return path, nil
}

// add takes the metrics from the line that the benchmark printed: name, number of operations, then values, each
// before its unit.
func (f figures) add(out, name string) error {
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) < 4 || !strings.HasPrefix(words[0], name) {
			continue
		}
		for i := 2; i+1 < len(words); i += 2 {
			value, err := strconv.ParseFloat(words[i], 64)
			if err != nil {
				return fmt.Errorf("%s printed %q: %w", name, line, err)
			}
			f[words[i+1]] = append(f[words[i+1]], value)
		}
		return nil
	}
	return nil
}

// errNothing is of a benchmark that could not measure: what it needs is not on this machine.
var errNothing = errors.New("not measured: something it needs is not on this machine")

func (m *measurer) median(b bench) (float64, error) {
	values := m.runs[b.key()][b.metric]
	if len(values) == 0 {
		return 0, fmt.Errorf("%s %s: %w", b.pkg, b.name, errNothing)
	}
	return median(values), nil
}

func median(values []float64) float64 {
	values = slices.Clone(values)
	slices.SortFunc(values, cmp.Compare)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
