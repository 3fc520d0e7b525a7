package crawler

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/harvest"
	"holdfast/internal/disk"
	"holdfast/warc"
)

// killAfter runs a crawl as a process and kills it after that many requests, most of which are durable by then. It
// returns the WARC file that was being written.
func killAfter(t *testing.T, s *site, dir, seed string, requests int) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envCrawlDir+"="+dir, envCrawlSeed+"="+seed, envCrawlBytes+"="+strconv.Itoa(1<<30), envCrawlAlike+"=1")
	orders, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	durable, killed := make(chan error, 1), make(chan struct{})
	reached := make(chan error, 1)
	s.mu.Lock()
	settled, target := len(s.log)+requests*4/5, len(s.log)+requests
	s.seen = func(n int) {
		switch {
		case n == settled:
			_, err := io.WriteString(orders, "settle\n")
			if err == nil {
				_, err = io.ReadFull(answers, make([]byte, len("settled\n")))
			}
			durable <- err
		case n == target:
			reached <- <-durable
			<-killed
		case n > target:
			<-killed // nothing more is written
		}
	}
	s.mu.Unlock()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-reached:
		if err != nil {
			t.Errorf("settle the crawl: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the crawl does not get that far")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // says that it was killed
	close(killed)
	s.mu.Lock()
	s.seen = nil
	s.mu.Unlock()
	open, err := filepath.Glob(filepath.Join(dir, "warcs", "*.warc.gz.open"))
	if err != nil || len(open) != 1 {
		t.Fatalf("%v, files that are written: %v", err, open)
	}
	return open[0]
}

// alikeJob is a job that records what is alike once.
func alikeJob(seed string) harvest.Job {
	job := newJob(seed)
	job.Settings.Deduplicate, job.Settings.DeduplicateTypes = "digest", nil
	return job
}

// alikeSite has pages that link on, and pages of the same content.
func alikeSite(t testing.TB) *site {
	s := newSite(t)
	s.mux.HandleFunc("/p/", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/p/"))
		if err != nil || n >= 400 {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for i := 1; i <= 3; i++ {
			fmt.Fprintf(w, "<a href=/p/%d>next</a> <a href=/twin/%d>", min(3*n+i, 399), n%40)
		}
		fmt.Fprint(w, strings.Repeat("text of the page "+strconv.Itoa(n)+" ", 40))
	})
	s.mux.HandleFunc("/twin/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<p>all of these are alike")
	})
	s.file("/robots.txt", "text/plain", "User-agent: *\nDisallow: /private\n")
	return s
}

// What was archived may look like records. Where the record around it is damaged, it is not taken for ours.
func TestDamagedFileWithRecordsWithin(t *testing.T) {
	t.Parallel()
	within := filepath.Join(t.TempDir(), "within.warc.gz")
	files, err := warc.NewFile(disk.New(), within, warc.FilesConfig{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const forged = "http://forged.test/"
	for range 2 {
		noise := make([]byte, 5000)
		for i := range noise {
			noise[i] = byte(rand.Uint32())
		}
		if _, err := files.Write(warc.Draft{Type: warc.TypeResponse, TargetURI: forged, ContentType: "text/dns", Block: bytes.NewReader(noise), Size: int64(len(noise))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(within)
	if err != nil {
		t.Fatal(err)
	}
	s := alikeSite(t)
	s.html("/{$}", "<a href=/p/0><a href=/records.bin>")
	s.file("/records.bin", "application/octet-stream", string(body))
	dir := t.TempDir()
	open := killAfter(t, s, dir, s.URL+"/", 250)
	written, err := os.ReadFile(open)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(written, body[10:100]) // stored as it is: it cannot be made smaller
	if at < 0 {
		t.Fatal("the records are not found in the file")
	}
	start := bytes.LastIndex(written[:at-10], []byte("\x1f\x8b\x08")) // of the member around them
	if err := os.WriteFile(open, scramble(written, start+30, 5), 0o600); err != nil {
		t.Fatal(err)
	}
	if sum := run(t, dir, alikeJob(s.URL+"/")); len(sum.Damage.Files) != 1 || sum.Damage.URIs == 0 {
		t.Errorf("summary %+v", sum)
	}
	found := captures(t, dir)
	if found[forged] != 0 || found[s.URL+"/records.bin"] != 1 {
		t.Errorf("forged %d, the file it is in %d", found[forged], found[s.URL+"/records.bin"])
	}
}

// A WARC file that is gone, with records that were committed, is damage: what was in it is fetched again, once.
func TestGoneFile(t *testing.T) {
	t.Parallel()
	s := alikeSite(t)
	dir := t.TempDir()
	open := killAfter(t, s, dir, s.URL+"/p/0", 250)
	if err := os.Remove(open); err != nil {
		t.Fatal(err)
	}
	sum := run(t, dir, alikeJob(s.URL+"/p/0"))
	name := strings.TrimSuffix(filepath.Base(open), ".open")
	if len(sum.Damage.Files) != 1 || sum.Damage.Files[0] != name || sum.Damage.URIs < 100 {
		t.Errorf("damage %+v, want %s and its URIs", sum.Damage, name)
	}
	checkMended(t, dir)
	if alerts, err := os.ReadFile(filepath.Join(dir, "logs", "alerts.log")); err != nil || !strings.Contains(string(alerts), name) {
		t.Errorf("alerts.log %s, %v", alerts, err)
	}
	if again := run(t, dir, alikeJob(s.URL+"/p/0")); len(again.Damage.Files) != 0 {
		t.Errorf("it is reported once more: %+v", again.Damage)
	}
}

// scramble overwrites n bytes from an offset on.
func scramble(b []byte, at, n int) []byte {
	rnd := rand.New(rand.NewPCG(1, uint64(at)))
	for i := at; i < min(at+n, len(b)); i++ {
		b[i] ^= byte(1 + rnd.IntN(255))
	}
	return b
}

// checkMended checks that every URI in the log is recorded, and every revisit refers to a record that is there.
func checkMended(t *testing.T, dir string) {
	t.Helper()
	recorded, ids, refers := map[string]int{}, map[string]bool{}, map[string]string{}
	for _, path := range warcFiles(t, dir) {
		eachRecord(t, path, func(r *warc.Record) {
			switch r.Type {
			case warc.TypeRevisit:
				refers[r.TargetURI()] = r.Header.Get("WARC-Refers-To")
				recorded[r.TargetURI()]++
			case warc.TypeResponse:
				ids[r.Header.Get("WARC-Record-ID")] = true
				delete(refers, r.TargetURI()) // recorded again
				recorded[r.TargetURI()]++
			}
		})
	}
	lines := map[string]bool{}
	for _, l := range logLines(t, dir) {
		if lines[l[3]] = true; recorded[l[3]] == 0 {
			t.Errorf("%s is logged but not recorded", l[3])
		}
	}
	if want := 400 + 40 + 1; len(lines) != want {
		t.Errorf("%d URIs are logged, want %d", len(lines), want)
	}
	for uri, id := range refers {
		if !ids[id] {
			t.Errorf("%s refers to %s, which is not there", uri, id)
		}
	}
}
