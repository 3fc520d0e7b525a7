package crawler

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/harvest"
	"holdfast/warc"
)

// A file that ends with what was no HTTP is whole after a kill: nothing of it is damaged, given up or asked for twice.
func TestKilledAfterNoHTTP(t *testing.T) {
	t.Parallel()
	for _, committed := range []bool{true, false} {
		const junk = "220 ftp ready\r\nannotations: triedAgain\r\n\r\nand more"
		var asked atomic.Int64
		url := rawServer(t, reading(func(c net.Conn) {
			if asked.Add(1) == 1 {
				io.WriteString(c, junk)
				return
			}
			io.WriteString(c, "HTTP/1.1 200 fine\r\nContent-Type: text/html\r\n\r\n<p>good")
		})) + "/"
		job := newJob(url)
		job.Settings.Robots, job.Settings.AnswerRetries, job.Settings.AnswerRetryDelay = harvest.RobotsIgnore, 2, harvest.Duration(2*time.Second)
		dir := t.TempDir()
		c, err := New(Config{Dir: dir, Job: job, Node: "node1"})
		if err != nil {
			t.Fatal(err)
		}
		before := t.TempDir()
		if err := os.CopyFS(before, os.DirFS(filepath.Join(dir, "state"))); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { _, err := c.Run(ctx); done <- err }()
		for deadline := time.Now().Add(30 * time.Second); len(logLinesOf(t, dir, url)) == 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the first answer is not in the log")
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		for _, f := range warcFiles(t, dir) { // as a kill would leave it
			if err := os.Rename(f, f+".open"); err != nil {
				t.Fatal(err)
			}
		}
		if !committed {
			err := os.RemoveAll(filepath.Join(dir, "state"))
			if err = errors.Join(err, os.CopyFS(filepath.Join(dir, "state"), os.DirFS(before))); err != nil {
				t.Fatal(err)
			}
		}
		job.Settings.AnswerRetryDelay = harvest.Duration(time.Millisecond)
		if sum := run(t, dir, job); len(sum.Damage.Files) > 0 || sum.Damage.URIs > 0 || sum.Counters.Queued != 0 || sum.Documents.Objects != 1 {
			t.Errorf("committed %v: %+v", committed, sum)
		}
		kept := 0
		for _, f := range warcFiles(t, dir) {
			eachRecord(t, f, func(r *warc.Record) {
				if block, err := io.ReadAll(r.Block); r.Type == warc.TypeMetadata && err == nil && string(block) == junk {
					kept++
				}
			})
		}
		lines := logLinesOf(t, dir, url)
		if kept != 1 || len(lines) != 2 || lines[0] != "-3 badStatusLine,triedAgain" || lines[1] != "200 2t" || asked.Load() != 2 {
			t.Errorf("committed %v: asked %d times, %d recorded as they came, lines %q", committed, asked.Load(), kept, lines)
		}
	}
}
