//go:build nemesis

package nemesis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/systemtest"
)

// diskSize is the room of each node's disk: more than its databases need, little enough to be filled in a moment.
const diskSize = "900M"

// trial is one cluster under one plan.
type trial struct {
	t        *testing.T
	plan     Plan
	contents Contents
	history  *History
	network  *systemtest.Network
	c        *systemtest.Cluster
	clients  map[string]*http.Client // to the node's TCP ports, as from its own machine
	site     string                  // what jobs crawl

	mu     sync.Mutex
	damage []Damage
	notes  []string // what the faults did
	ends   []End
	acked  []string // names of files that were acknowledged
	nodes  map[string]*sync.Mutex
	logged map[string]string // the logs, before nodes were made to print what they do
	dumped []string          // those nodes
}

// newTrial founds a cluster of four nodes, each on a host and a disk of its own. All of it goes when the test ends.
func newTrial(t *testing.T, program string, plan Plan) *trial {
	t.Helper()
	h := &trial{t: t, plan: plan, contents: Contents{plan.Seed}, clients: map[string]*http.Client{}, nodes: map[string]*sync.Mutex{}}
	dir, err := os.MkdirTemp("", "nemesis-")
	check(t, err)
	t.Cleanup(func() { check(t, os.RemoveAll(dir)) })
	h.network, err = systemtest.NewNetwork(t.Context(), len(Nodes()))
	check(t, err)
	t.Cleanup(func() { check(t, h.network.Close()) })
	var specs []systemtest.Spec
	for i, name := range Nodes() {
		h.nodes[name] = &sync.Mutex{}
		check(t, setStep(filepath.Join(dir, name+".clock"), 0))
		replica, _, _ := strings.Cut(name, "-")
		s := systemtest.Spec{Name: name, Replica: replica, Kind: "bitarchive", IP: h.network.IP(i + 1), Local: "127.0.0.1", Extra: "crawls = 0",
			Prefix: append(h.network.Enter(i+1), "env", stepVariable+"="+filepath.Join(dir, name+".clock"))}
		if replica == "third" {
			s.Kind = "checksum"
		}
		if strings.HasSuffix(name, "-1") && replica != "third" {
			s.Extra = "crawls = 1"
		}
		specs = append(specs, s)
		mount(t, filepath.Join(dir, name))
		h.clients[name] = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DialContext: h.network.Dial(i + 1), MaxIdleConnsPerHost: 4,
			DisableCompression: true}}
		t.Cleanup(h.clients[name].CloseIdleConnections)
	}
	h.c, err = systemtest.NewCluster(program, dir, "memory = \"400MiB\"\n", specs)
	check(t, err)
	t.Cleanup(h.c.Close)
	h.serveSite()
	check(t, h.c.Found(t.Context()))
	check(t, h.c.Settled(t.Context(), "north-1", 4*time.Minute))
	return h
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mount gives a node a disk of its own until the test ends.
func mount(t *testing.T, dir string) {
	t.Helper()
	check(t, os.MkdirAll(dir, 0o755))
	out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size="+diskSize, "holdfast-nemesis", dir).CombinedOutput()
	check(t, because(err, out))
	t.Cleanup(func() {
		out, err := exec.Command("umount", dir).CombinedOutput()
		check(t, because(err, out))
	})
}

func because(err error, out []byte) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
}

func host(node string) int { return 1 + slices.Index(Nodes(), node) }

// serveSite serves a small site on every host's loopback address, so that a crawl needs no network.
func (h *trial) serveSite() {
	h.site = "http://127.0.0.1:8000/0"
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var page int
		if n, _ := fmt.Sscanf(r.URL.Path, "/%d", &page); n != 1 || page > 7 {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<p>page %d of seed %d</p><a href=\"/%d\">next</a>", page, h.plan.Seed, page+1)
	})
	for i := range Nodes() {
		l, err := h.network.ListenLocal(i+1, 8000)
		check(h.t, err)
		server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
		go func() { _ = server.Serve(l) }()
		h.t.Cleanup(func() { _ = server.Close() })
	}
}

// answer is what a node said.
type answer struct {
	status int
	code   string
	detail string
	header http.Header
	body   []byte
	clean  bool
}

// ask sends one request to a node's api or access port. It never fails: that there is no answer is an answer.
func (h *trial) ask(ctx context.Context, node, port, method, path string, body io.Reader, header map[string]string) answer {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+h.c.Address(node, port)+path, body)
	if err != nil {
		return answer{detail: err.Error()}
	}
	if port == "api" {
		token, err := os.ReadFile(filepath.Join(h.c.Dir, node, "identity", "api-token"))
		if err != nil {
			return answer{detail: err.Error()}
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	got, err := h.clients[node].Do(r)
	if err != nil {
		return answer{detail: err.Error()}
	}
	defer func() { _ = got.Body.Close() }()
	a := answer{status: got.StatusCode, header: got.Header, clean: true}
	if a.body, err = io.ReadAll(got.Body); err != nil {
		a.clean, a.detail = false, err.Error()
	}
	if got.StatusCode >= 400 {
		var problem struct{ Type, Detail string }
		if json.Unmarshal(a.body, &problem) == nil {
			a.code, a.detail = strings.TrimPrefix(problem.Type, "urn:holdfast:problem:"), problem.Detail
		}
	}
	return a
}

// call sends a request with a body of JSON and reads the answer into out, unless nil.
func (h *trial) call(ctx context.Context, node, method, path string, in, out any) (answer, error) {
	var body io.Reader
	header := map[string]string{}
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return answer{}, err
		}
		body, header["Content-Type"] = bytes.NewReader(text), "application/json"
	}
	a := h.ask(ctx, node, "api", method, "/api/v1"+path, body, header)
	switch {
	case !a.clean:
		return a, fmt.Errorf("%s %s on %s: %s", method, path, node, a.detail)
	case a.status >= 300:
		return a, fmt.Errorf("%s %s on %s: %d %s: %s", method, path, node, a.status, a.code, a.detail)
	case out == nil:
		return a, nil
	}
	return a, json.Unmarshal(a.body, out)
}

// record fills in the answer of an act and adds it to the history.
func (h *trial) record(o Op, a answer) Op {
	o.End = h.history.Now()
	o.Status, o.Code, o.Detail, o.Clean = a.status, a.code, a.detail, a.clean
	h.history.Add(o)
	return o
}

// say notes what a fault did.
func (h *trial) say(f Fault, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes = append(h.notes, fmt.Sprintf("%7.3fs %s %s: %s", h.history.Now().Seconds(), f.Kind, f.Node, fmt.Sprintf(format, args...)))
}

func (h *trial) damaged(f Fault, file, what string) {
	replica, _, _ := strings.Cut(f.Node, "-")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.damage = append(h.damage, Damage{Fault: f, Began: h.history.Now(), Node: f.Node, Replica: replica, File: file, What: what})
}

// ended notes how a process ended; meant says why it should have.
func (h *trial) ended(node, meant string, err error) {
	e := End{Node: node, Meant: meant, Code: systemtest.ExitCode(err)}
	if err == nil {
		e.Code = 0
	} else {
		e.Problem = err.Error()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ends = append(h.ends, e)
}

// run carries the plan out under traffic, heals all, and returns what is wrong.
func (h *trial) run(ctx context.Context) []Violation {
	h.history = NewHistory()
	calm, stop := context.WithTimeout(ctx, h.plan.Length)
	defer stop()
	var work sync.WaitGroup
	h.traffic(calm, &work)
	for _, f := range h.plan.Faults {
		work.Go(func() {
			if err := h.carryOut(ctx, f); err != nil {
				h.say(f, "FAILED: %v", err)
			}
		})
	}
	work.Wait()
	h.heal(ctx)
	final := h.final(ctx)
	ops := h.history.Ops()
	return append(CheckHistory(h.contents, ops), CheckFinal(ops, h.damage, final)...)
}

// heal ends what is left of the faults. Each has ended by itself, unless that failed.
func (h *trial) heal(ctx context.Context) {
	for _, node := range Nodes() {
		h.died(node)
		if h.c.PID(node) == 0 {
			check(h.t, h.c.Start(node))
		}
		check(h.t, setStep(filepath.Join(h.c.Dir, node+".clock"), 0))
		if err := os.Remove(h.ballast(node)); err != nil && !errors.Is(err, os.ErrNotExist) {
			h.t.Error(err)
		}
	}
	_ = ctx
}

// died notes a process that has ended by itself, so that it can be started again.
func (h *trial) died(node string) {
	if h.c.PID(node) != 0 && !h.c.Running(node) {
		h.ended(node, "", h.c.Halt(node, time.Second))
	}
}

func (h *trial) ballast(node string) string { return filepath.Join(h.c.Dir, node, ".ballast") }
