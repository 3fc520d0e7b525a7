package systemtest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// RealWeb serves documentation sites from Debian packages on loopback, with the project's neighbour tools.
type RealWeb struct {
	Tools string // the folder with realweb.sh and linkcheck.py
	Dir   string // for configuration and logs, a folder of its own
	Debs  string // where the packages lie, unpacked; they are fetched when they are not there
	Port  string
}

// Truth is one line of the independent link checker.
type Truth struct {
	Status int
	Bytes  int64
	Type   string
	URL    string
}

func (w RealWeb) script(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(w.Tools, "realweb.sh"), args...)
	cmd.Env = append(os.Environ(), "REALWEB="+w.Dir, "PORT="+w.Port)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("realweb %s: %w: %s", strings.Join(args, " "), err, lastLines(out, 5))
	}
	return nil
}

// Start fetches the packages unless they are there, and serves them.
func (w RealWeb) Start(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(w.Debs, "run", "packages.txt")); err != nil {
		fetch := w
		fetch.Dir = w.Debs
		if err := fetch.script(ctx, "fetch"); err != nil {
			return err
		}
	}
	for _, part := range []string{"root", "debs"} {
		if err := os.Symlink(filepath.Join(w.Debs, part), filepath.Join(w.Dir, part)); err != nil {
			return err
		}
	}
	return w.script(ctx, "start")
}

// Stop ends the server.
func (w RealWeb) Stop() error { return w.script(context.Background(), "stop") }

// Seeds returns the start pages of the named sites, by address rather than by name.
func (w RealWeb) Seeds(sites ...string) ([]string, error) {
	names, err := os.ReadFile(filepath.Join(w.Dir, "run", "seeds.txt"))
	if err != nil {
		return nil, err
	}
	addresses, err := os.ReadFile(filepath.Join(w.Dir, "run", "seeds-ip.txt"))
	if err != nil {
		return nil, err
	}
	n, a := strings.Fields(string(names)), strings.Fields(string(addresses))
	var seeds []string
	for _, site := range sites {
		for i := range n {
			if strings.HasPrefix(n[i], "http://"+site+".") {
				seeds = append(seeds, a[i])
			}
		}
	}
	if len(seeds) != len(sites) {
		return nil, fmt.Errorf("seeds %v for sites %v", seeds, sites)
	}
	return seeds, nil
}

// Truth walks the links from the seeds without Holdfast and returns every URL found.
func (w RealWeb) Truth(ctx context.Context, seeds []string) ([]Truth, error) {
	out := filepath.Join(w.Dir, "truth.tsv")
	cmd := exec.CommandContext(ctx, "python3", append([]string{filepath.Join(w.Tools, "linkcheck.py"), "-o", out},
		seeds...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("linkcheck: %w: %s", err, lastLines(text, 5))
	}
	f, err := os.Open(out)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var all []Truth
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		p := strings.Split(lines.Text(), "\t")
		if len(p) != 6 {
			return nil, fmt.Errorf("linkcheck wrote %q", lines.Text())
		}
		status, _ := strconv.Atoi(p[0])
		size, _ := strconv.ParseInt(p[1], 10, 64)
		all = append(all, Truth{Status: status, Bytes: size, Type: p[2], URL: p[5]})
	}
	return all, lines.Err()
}

func lastLines(text []byte, n int) string {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-n):], []byte("\n")))
}
