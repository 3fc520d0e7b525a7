//go:build e2e

package systemtest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
)

// act is what happens in the world before an act of doc/operations.md, and what the act promises.
type act struct {
	before func(*world)
	after  func(*world)
}

// acts are those of doc/operations.md, by their headings. One that is not here, or is not there, is an error.
var acts = map[string]act{
	"Running a node as a service":          {},
	"Before each act":                      {},
	"Adding a node to a running cluster":   {after: func(w *world) { w.holds("south-1", "south-2") }},
	"Adding a replica":                     {after: func(w *world) { w.holds("west-1") }},
	"Filling a replica from shipped disks": {}, // it has nothing to type: cli/testdata/nodes/adopt.txtar follows it
	"Changing the layout in one step":      {after: func(w *world) { w.holds("west-2"); w.empty("west-1") }},
	"Draining a node, and letting it leave": {
		after: func(w *world) { w.holds("south-2"); w.empty("south-1"); w.ended("south-1", 77) }},
	"What a removed node knew": {}, // it has nothing to type
	"A removed node's folder":  {after: func(w *world) { w.holds("south-1", "south-2") }},
	"A node that is lost": {
		before: func(w *world) { w.burn("south-2") }, after: func(w *world) { w.holds("south-1") }},
	"A file that is removed, and restored": {after: func(w *world) { w.holds("south-1") }},
	"Adding a disk":                        {after: func(w *world) { w.holds("south-1") }},
	"Emptying a disk and taking it out":    {after: func(w *world) { w.holds("south-1") }},
	"Audits":                               {after: func(w *world) { w.holds("south-1") }},
	"Replacing a disk that is broken": {
		before: (*world).breakDisk, after: func(w *world) { w.holds("north-1") }},
	"Strays: bytes that nobody asks for":                    {}, // it has nothing to type
	"What was set aside":                                    {},
	"Opening the API or the readers' port to others":        {before: (*world).certify},
	"Two addresses: the archivists' pages and the captures": {}, // it has nothing to type
	"Who may see what":                                      {},
	"Monitoring":                                            {}, // it has nothing to type here: it takes a person's token
	"The log of a node":                                     {},
	"Traces":                                                {}, // it has nothing to type
	"Ledgers: proving what a replica holds":                 {after: func(w *world) { w.holds("south-1") }},
	"Being told when nobody looks":                          {},
	"Checking the catalog":                                  {},
	"Backing up the catalog, and restoring it":              {}, // it needs a key of its own: cli/testdata/nodes/backup.txtar follows it
	"Upgrading, and raising the level": {
		before: (*world).olden, after: func(w *world) { w.holds("north-1"); w.holds("south-1") }},
	"When most voters are lost for good": {before: (*world).burnMost, after: (*world).recovered},
	"When every catalog is lost": {before: (*world).loseCatalogs,
		after: func(w *world) { w.holds("north-1"); w.holds("south-1") }},
}

// TestOperations follows doc/operations.md: it types its commands on machines with networks of their own, compares
// what they show, and checks after each act what the act promises.
func TestOperations(t *testing.T) {
	t.Parallel()
	w := &world{follower: follower{t: t}, dir: t.TempDir(), files: map[string][32]byte{}}
	var err error
	w.program, err = Program()
	check(t, err)
	w.old = buildAt(t, lastRelease)
	all := sections(t, "doc/operations.md")[2:]
	for _, s := range all {
		if _, known := acts[s.Heading]; !known {
			t.Fatalf("doc/operations.md has %q: write down in acts what it promises", s.Heading)
		}
	}
	if len(all) != len(acts) {
		t.Fatalf("doc/operations.md has %d acts of %d", len(all), len(acts))
	}
	w.unit = all[0].block(t, "ini").Text
	example, err := os.ReadFile(filepath.Join("..", "cluster.example.toml"))
	check(t, err)
	w.found(w.program, example, "north-1", "south-1", "third-1", "south-2", "west-1", "west-2")
	for _, s := range all {
		began := time.Now()
		if before := acts[s.Heading].before; before != nil {
			before(w)
		}
		w.follow(s)
		if after := acts[s.Heading].after; after != nil {
			after(w)
		}
		t.Logf("%5.1f s  %s: done", time.Since(began).Seconds(), s.Heading)
	}
}

// world is the cluster of doc/operations.md.
type world struct {
	follower
	dir, unit    string
	program, old string
	worlds       int
	files        map[string][32]byte // what was put, by SHA-256
}

// found makes machines with the program, and lets the first three be the cluster of a cluster.example.toml. north-1
// has two disks.
func (w *world) found(program string, example []byte, hosts ...string) {
	t := w.t
	for _, m := range w.machines {
		m.Close()
	}
	w.worlds++
	net, err := NewNetwork(t.Context(), len(hosts))
	check(t, err)
	t.Cleanup(func() { check(t, net.Close()) })
	w.config = strings.Replace(string(example), "# files = [", "files = [", 1)
	clear(w.files)
	w.at(net, program, filepath.Join(w.dir, fmt.Sprint(w.worlds)), hosts)
	for _, m := range w.machines {
		check(t, m.Service(w.unit))
	}
	w.do("north-1", "holdfast init")
	w.do("north-1", "systemctl start holdfast")
	for _, node := range []string{"south-1", "third-1"} {
		replica, _, _ := strings.Cut(node, "-")
		must(t, time.Minute, "a token", func() error {
			return w.try("north-1", "holdfast node invite --replica "+replica+" 2>/dev/null >token || "+
				"holdfast token create --replica "+replica+" 2>/dev/null >token") // as an older program has it
		})
		text, err := os.ReadFile(filepath.Join(w.machines["north-1"].Dir, "token"))
		check(t, err)
		w.do(node, "holdfast join "+strings.TrimSpace(string(text)))
		w.do(node, "systemctl start holdfast")
	}
	must(t, time.Minute, "the cluster is healthy", func() error { return w.try("north-1", "holdfast status") })
	w.put("north-1", 30)
	w.put("south-1", 10)
}

// do types a command that is to succeed; try tells whether it does.
func (w *world) do(machine, command string) { w.t.Helper(); check(w.t, w.try(machine, command)) }

func (w *world) try(machine, command string) error {
	out, text := w.typed(w.machines[machine], command)
	if out.Code != 0 {
		return fmt.Errorf("%s$ %s: exit code %d: %s", machine, command, out.Code, text)
	}
	return nil
}

// put puts n files of random bytes.
func (w *world) put(machine string, n int) {
	name := fmt.Sprintf("put-%d", len(w.files))
	dir := filepath.Join(w.machines[machine].Dir, name)
	check(w.t, os.Mkdir(dir, 0o755))
	for range n {
		content := make([]byte, 1+rand.IntN(100_000))
		_, _ = rand.NewChaCha8([32]byte{byte(len(w.files))}).Read(content)
		name := fmt.Sprintf("kept-%03d.bin", len(w.files))
		check(w.t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
		w.files[name] = sha256.Sum256(content)
	}
	w.do(machine, "holdfast file put $HOME/"+name+"/*")
	check(w.t, os.RemoveAll(dir))
}

// holds checks that the nodes, all of one replica, have each file once, with its bytes, and that the catalog counts
// all files as complete.
func (w *world) holds(nodes ...string) {
	t := w.t
	t.Helper()
	w.put("north-1", 2)
	must(t, 90*time.Second, fmt.Sprintf("%v have all files", nodes), func() error {
		var listed wire.Page[wire.File]
		_, text := w.typed(w.machines["third-1"], "holdfast file list --json")
		err := json.Unmarshal([]byte(text), &listed)
		listed.Items = slices.DeleteFunc(listed.Items, func(f wire.File) bool { return !strings.HasPrefix(f.Name, "kept-") })
		if err != nil || len(listed.Items) != len(w.files) { // ledgers aside
			return fmt.Errorf("%d files of %d are listed: %w", len(listed.Items), len(w.files), err)
		}
		for _, f := range listed.Items {
			if !f.Complete {
				return fmt.Errorf("%s is not complete: %+v", f.Name, f.Copies)
			}
		}
		found := map[string][32]byte{}
		for _, node := range nodes {
			there := w.lying(node)
			if len(there) == 0 {
				return fmt.Errorf("%s has nothing", node)
			}
			for name, sum := range there {
				if _, twice := found[name]; twice {
					return fmt.Errorf("%s lies on two nodes", name)
				}
				found[name] = sum
			}
		}
		if !maps.Equal(found, w.files) {
			return fmt.Errorf("%d files of %d lie there, or have other bytes", len(found), len(w.files))
		}
		return nil
	})
}

// lying returns the archive's files on a node, by their SHA-256.
func (w *world) lying(node string) map[string][32]byte {
	found := map[string][32]byte{}
	for _, root := range []string{"/var/lib/holdfast/files", "/disk1/files", "/disk2/files"} {
		_ = filepath.WalkDir(w.machines[node].Path(root), func(path string, d fs.DirEntry, err error) error { // what is not there has no files
			if err == nil && strings.HasPrefix(d.Name(), "kept-") && !strings.HasSuffix(d.Name(), ".part") {
				if text, err := os.ReadFile(path); err == nil {
					found[d.Name()] = sha256.Sum256(text)
				}
			}
			return nil
		})
	}
	return found
}

func (w *world) empty(node string) {
	must(w.t, time.Minute, node+" is empty", func() error {
		if there := w.lying(node); len(there) > 0 {
			return fmt.Errorf("%d files lie there", len(there))
		}
		return nil
	})
}

// ended checks that a node's service has ended, in a way in which its unit does not start it again.
func (w *world) ended(node string, want int) {
	must(w.t, time.Minute, node+" ends", func() error {
		if code, ended := w.machines[node].Ended(); !ended || code != want {
			return fmt.Errorf("ended %v, exit code %d", ended, code)
		}
		return nil
	})
	_, prevented, _ := strings.Cut(w.unit, "RestartPreventExitStatus=")
	prevented, _, _ = strings.Cut(prevented, "\n")
	if !slices.Contains(strings.Fields(prevented), fmt.Sprint(want)) {
		w.t.Errorf("the unit starts a node again that ended with %d", want)
	}
}

// burn loses a machine with all that is on it.
func (w *world) burn(node string) {
	m := w.machines[node]
	check(w.t, m.Kill(w.t.Context()))
	check(w.t, os.RemoveAll(m.Path("/var/lib/holdfast")))
}

// breakDisk stops north-1 and loses its second disk; an empty one is in its place.
func (w *world) breakDisk() {
	w.do("north-1", "systemctl stop holdfast")
	files := w.machines["north-1"].Path("/disk2/files")
	if there, err := filepath.Glob(filepath.Join(files, "*", "kept-*")); err != nil || len(there) == 0 {
		w.t.Fatalf("the second disk has no files: %v", err)
	}
	check(w.t, os.RemoveAll(files))
}

// certify gives north-1 a certificate, and third-1 that of who signed it.
func (w *world) certify() {
	dir := w.t.TempDir()
	for _, line := range []string{
		"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 90 -subj /CN=ca -keyout ca.key -out ca.pem",
		"openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=north-1 -keyout key.pem -out cert.csr",
		"printf subjectAltName=" + w.machines["north-1"].Path("DNS:north-1,IP:north-1.example.org") + " >names",
		"openssl x509 -req -in cert.csr -CA ca.pem -CAkey ca.key -days 90 -extfile names -out cert.pem",
	} {
		cmd := exec.CommandContext(w.t.Context(), "sh", "-c", line)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		check(w.t, because(err, out))
	}
	for _, to := range []struct{ machine, name string }{{"north-1", "cert.pem"}, {"north-1", "key.pem"}, {"third-1", "ca.pem"}} {
		text, err := os.ReadFile(filepath.Join(dir, to.name))
		check(w.t, err)
		check(w.t, os.WriteFile(w.machines[to.machine].Path("/etc/holdfast/"+to.name), text, 0o600))
	}
}

// olden makes a new cluster of the last release; the new program lies ready on each machine.
func (w *world) olden() {
	example, err := exec.CommandContext(w.t.Context(), "git", "show", lastRelease+":cluster.example.toml").Output()
	check(w.t, err)
	w.found(w.old, example, "north-1", "south-1", "third-1")
	program, err := os.ReadFile(w.program)
	check(w.t, err)
	for _, m := range w.machines {
		check(w.t, os.WriteFile(m.Path("/tmp/holdfast"), program, 0o755))
	}
}

// burnMost loses two machines of three; the folder of the first is saved.
func (w *world) burnMost() {
	check(w.t, w.machines["south-1"].Kill(w.t.Context()))
	w.burn("third-1")
}

// loseCatalogs makes ledgers, stops all nodes, loses all catalogs, and brings the folders of the others to north-1.
func (w *world) loseCatalogs() {
	w.do("north-1", `holdfast user invite "Anna Berg" --mail anna@example.org`)
	for _, replica := range []string{"north", "south"} {
		must(w.t, time.Minute, "a ledger of "+replica, func() error {
			return w.try("north-1", "holdfast ledger make --replica "+replica)
		})
	}
	for _, node := range []string{"north-1", "south-1", "third-1"} {
		w.do(node, "systemctl stop holdfast")
		m := w.machines[node]
		for _, folder := range []string{"raft", "catalog"} {
			check(w.t, os.RemoveAll(m.Path("/var/lib/holdfast/"+folder)))
		}
		if node != "north-1" {
			check(w.t, os.MkdirAll(w.machines["north-1"].Path("/mnt"), 0o755))
			check(w.t, os.Symlink(m.Path("/var/lib/holdfast"), w.machines["north-1"].Path("/mnt/"+node)))
		}
	}
}

func (w *world) recovered() {
	w.holds("north-1")
	w.holds("south-1")
	must(w.t, time.Minute, "three nodes vote in the next epoch", func() error {
		out, text := w.typed(w.machines["third-1"], "holdfast status --json")
		var st wire.Status
		if err := json.Unmarshal([]byte(text), &st); err != nil {
			return err
		}
		for _, n := range st.Nodes {
			if !n.Presence.Voter {
				return fmt.Errorf("%s does not vote", n.Name)
			}
		}
		if st.Cluster.Epoch != 2 || len(st.Nodes) != 3 || out.Code != 0 {
			return fmt.Errorf("epoch %d, %d nodes, exit code %d", st.Cluster.Epoch, len(st.Nodes), out.Code)
		}
		return nil
	})
}
