//go:build e2e

package systemtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPrometheus lets a Prometheus scrape three nodes with the example settings and rules of doc/prometheus, kills a
// node and flips a bit of a copy: the rules for these fire, and no others that are bad.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "127.0.25", "")
	for i := range 5 {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("kept-%d.bin", i))
		check(t, os.WriteFile(path, []byte(strings.Repeat("x", 1000+i)), 0o644))
		_, err := c.Do(t.Context(), "north-1", "file", "put", "--copies", "all", path)
		check(t, err)
	}
	p := watched(t, c)
	p.until("all nodes are scraped, and nothing bad is found", func() error {
		up := p.values("up == 1", "instance")
		if bad := p.firing(); len(up) != 3 || len(bad) > 0 {
			return fmt.Errorf("%v answer, and %v fire", up, bad)
		}
		return nil
	})
	c.Kill("south-1")
	p.fires("HoldfastNodeDown", c.Address("south-1", "api"))
	check(t, c.Start("south-1"))
	p.until("south-1 answers again", func() error {
		if bad := p.firing(); len(bad) > 0 {
			return fmt.Errorf("%v fire", bad)
		}
		return nil
	})
	flipped(t, filepath.Join(c.Dir, "south-1", "files"))
	if _, err := c.Do(t.Context(), "south-1", "audit", "run", "--replica", "south", "--wait"); err == nil {
		t.Error("the audit finds nothing")
	}
	p.fires("HoldfastCorruptCopy", c.Address("south-1", "api"))
}

// flipped flips a bit of one of the archive's files below a folder.
func flipped(t *testing.T, dir string) {
	t.Helper()
	var paths []string
	check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), "kept-") {
			paths = append(paths, path)
		}
		return err
	}))
	if len(paths) != 5 {
		t.Fatalf("%d files lie below %s", len(paths), dir)
	}
	text, err := os.ReadFile(paths[0])
	check(t, err)
	text[10] ^= 1
	at, err := os.Stat(paths[0])
	check(t, err)
	check(t, os.Chmod(paths[0], 0o644))
	check(t, os.WriteFile(paths[0], text, 0o644))
	check(t, os.Chtimes(paths[0], at.ModTime(), at.ModTime()))
}

// monitor is a Prometheus that watches a cluster.
type monitor struct {
	t    *testing.T
	base string
}

// watched starts one with the settings of doc/prometheus: for this cluster, without TLS, and so that it looks and decides
// each second.
func watched(t *testing.T, c *Cluster) monitor {
	t.Helper()
	dir := t.TempDir()
	docs := filepath.Join("..", "doc", "prometheus")
	settings, err := os.ReadFile(filepath.Join(docs, "prometheus.yml"))
	check(t, err)
	rules, err := os.ReadFile(filepath.Join(docs, "rules.yml"))
	check(t, err)
	text := string(settings)
	swap := func(old, new string) {
		t.Helper()
		if strings.Count(text, old) != 1 {
			t.Fatalf("prometheus.yml has %q %d times", old, strings.Count(text, old))
		}
		text = strings.Replace(text, old, new, 1)
	}
	swap("scheme: https", "scheme: http")
	swap("    tls_config:\n      ca_file: /etc/prometheus/holdfast-ca.pem\n", "")
	swap("scrape_interval: 30s", "scrape_interval: 1s")
	swap("/etc/prometheus/holdfast-token", filepath.Join(dir, "token"))
	for _, node := range threeNodes {
		swap(node+".example.org:7481", c.Address(node, "api"))
	}
	text = "global:\n  evaluation_interval: 1s\n" + text
	soon := regexp.MustCompile(`(?m)^( *for: ).*$`).ReplaceAllString(string(rules), "${1}2s")
	if soon == string(rules) {
		t.Fatal("no rule of rules.yml waits")
	}
	for name, text := range map[string]string{"prometheus.yml": text, "rules.yml": soon, "token": readerToken(t, c)} {
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	out, err := exec.CommandContext(t.Context(), "promtool", "check", "config", filepath.Join(dir, "prometheus.yml")).CombinedOutput()
	check(t, because(err, out))
	ports, err := freePorts("127.0.25.9", 1)
	check(t, err)
	at := fmt.Sprintf("127.0.25.9:%d", ports[0])
	cmd := exec.Command("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+at, "--log.level=warn")
	log, err := os.Create(filepath.Join(dir, "log"))
	check(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	check(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it is waited for
		_ = cmd.Wait()
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the end of Prometheus' log: %s, %v", lastLines(text, 10), err)
		}
	})
	return monitor{t, "http://" + at}
}

// readerToken returns a token of a program that reads alone, as doc/operations.md says.
func readerToken(t *testing.T, c *Cluster) string {
	t.Helper()
	do := func(words ...string) string {
		out, err := c.Do(t.Context(), "north-1", words...)
		check(t, err)
		return strings.TrimSpace(string(out))
	}
	invitation := do("user", "invite", "anna", "--mail", "anna@demo.test")
	do("grant", "give", "anna@demo.test", "reader")
	file := filepath.Join(t.TempDir(), "anna.token")
	server := "http://" + c.Address("north-1", "api")
	accepted, err := exec.CommandContext(t.Context(), c.Program, "user", "accept", "--server", server, invitation).Output()
	check(t, err)
	check(t, os.WriteFile(file, accepted, 0o600))
	token, err := exec.CommandContext(t.Context(), c.Program, "token", "create", "--server", server, "--token", "@"+file,
		"--program", "--role", "reader", "prometheus").Output()
	check(t, err)
	return strings.TrimSpace(string(token))
}

// ask asks for a path of the API and decodes the data of the answer.
func (m monitor) ask(path string, data any) error {
	r, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, m.base+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	whole := struct {
		Status string
		Data   any
	}{Data: data}
	err = errors.Join(json.NewDecoder(answer.Body).Decode(&whole), answer.Body.Close())
	if err == nil && whole.Status != "success" {
		err = fmt.Errorf("%s: %s", path, whole.Status)
	}
	return err
}

func (m monitor) values(query, label string) (out []string) {
	var data struct {
		Result []struct{ Metric map[string]string }
	}
	if err := m.ask("/api/v1/query?query="+strings.ReplaceAll(query, " ", "%20"), &data); err != nil {
		return []string{err.Error()}
	}
	for _, r := range data.Result {
		out = append(out, r.Metric[label])
	}
	slices.Sort(out)
	return out
}

// firing lists the bad alerts that fire, as NAME INSTANCE.
func (m monitor) firing() (out []string) {
	var data struct {
		Alerts []struct {
			State  string
			Labels map[string]string
		}
	}
	if err := m.ask("/api/v1/alerts", &data); err != nil {
		return []string{err.Error()}
	}
	for _, a := range data.Alerts {
		if a.State == "firing" && a.Labels["severity"] == "bad" {
			out = append(out, a.Labels["alertname"]+" "+a.Labels["instance"])
		}
	}
	return out
}

// fires waits until the alert about an instance fires.
func (m monitor) fires(name, instance string) {
	m.t.Helper()
	m.until(name+" fires", func() error {
		if bad := m.firing(); !slices.Contains(bad, name+" "+instance) {
			return fmt.Errorf("only %v fire", bad)
		}
		return nil
	})
}

func (m monitor) until(what string, holds func() error) {
	m.t.Helper()
	must(m.t, 90*time.Second, what, holds)
}
