package batch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/batches"
	"holdfast/internal/disk"
)

// A worker works only for the node that drives the batch, while it runs, and processes only what the batch selects.
func TestWhomAWorkerServes(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		tr.putMany(3)
		south := tr.nodes["south-1"]
		south.start()
		tr.begin("x", "files", "north-1", func(b *batches.Beginning) { b.Selection.Files = "f-00[01]" })
		ask := func(from string, task task) (out []outcome, err error) {
			err = south.worker.work(t.Context(), tr.nodes[from].id, task, func(o outcome, _ io.Reader) error {
				out = append(out, o)
				return nil
			})
			return out, err
		}
		one := []catalog.FileName{"f-000"}
		for name, tt := range map[string]struct {
			from string
			task task
		}{
			"another node":       {"third-1", task{Batch: "x", Term: 1, Files: one, Left: -1}},
			"another term":       {"north-1", task{Batch: "x", Term: 2, Files: one, Left: -1}},
			"an unknown batch":   {"north-1", task{Batch: "y", Term: 1, Files: one, Left: -1}},
			"too many files":     {"north-1", task{Batch: "x", Term: 1, Files: make([]catalog.FileName, taskFiles+1), Left: -1}},
			"no batch, no files": {"north-1", task{}},
		} {
			if out, err := ask(tt.from, tt.task); err == nil || len(out) > 0 {
				t.Errorf("%s: %+v %v", name, out, err)
			}
		}
		out, err := ask("north-1", task{Batch: "x", Term: 1, Files: []catalog.FileName{"f-002", "f-001", "../x"}, Left: -1})
		if err != nil || len(out) != 3 {
			t.Fatalf("%+v %v", out, err)
		}
		for _, o := range out {
			if (o.Failed == "") != (o.File == "f-001") {
				t.Errorf("%+v", o)
			}
		}
		tr.does(batches.Wish, batches.Wishing{ID: "x", Wish: "pause"})
		if out, err := ask("north-1", task{Batch: "x", Term: 1, Files: one, Left: -1}); err == nil || len(out) > 0 {
			t.Errorf("while it is paused: %+v %v", out, err)
		}
	})
}

// liar is a node that answers tasks as it likes.
type liar struct {
	t       *testing.T
	answers []string // what it writes, before it closes the stream
}

func (l *liar) Open(context.Context, catalog.NodeID, string) (net.Conn, error) {
	here, there := net.Pipe()
	text := strings.Join(l.answers, "")
	go func() {
		_, _ = bufio.NewReader(there).ReadBytes('\n')
		_, _ = io.WriteString(there, text)
		_ = there.Close()
	}()
	return here, nil
}

// A node that answers wrongly, or breaks off, never makes a batch done, and puts nothing into the result.
func TestANodeThatAnswersWrongly(t *testing.T) {
	line := func(o outcome) string {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + "\n"
	}
	end := line(outcome{End: true})
	for name, answers := range map[string][]string{
		"nothing":                  nil,
		"an end without an answer": {end},
		"half an output":           {line(outcome{File: "f-000", Bytes: 10}), "12345"},
		"no end":                   {line(outcome{File: "f-001", Bytes: 2}), "1\n"},
		"a file not asked for":     {line(outcome{File: "x", Bytes: 2}), "1\n", end},
		"the same twice":           {line(outcome{File: "f-000", Failed: faultCopy, Why: "x"}), line(outcome{File: "f-001", Failed: faultCopy}), end},
		"less than nothing":        {line(outcome{File: "f-000", Bytes: -1}), end},
		"bytes of a failure":       {line(outcome{File: "f-000", Bytes: 1, Failed: faultCopy}), "x", end},
		"no JSON":                  {"hello\n"},
		"a long line":              {strings.Repeat("x", longestHead+10) + "\n"},
		"an error":                 {line(outcome{Error: "no"})},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, tr *trial) {
				tr.putMany(2)
				north := tr.nodes["north-1"]
				for name := range north.files {
					delete(north.files, name)
				}
				north.start()
				north.driver.cfg.Nodes = &liar{t, answers}
				tr.begin("x", "checksum", "north-1", nil)
				b := tr.awaitEnd("x")
				text, err := tr.result("x", "north-1", false)
				// What a node says of a file that it was asked for, wholly, is kept: it alone has read it.
				whole := name == "no end" && b.Summary.Files == 1 && text == "1\n"
				if b.State != batches.Incomplete || err != nil || !whole && (b.Summary.Files != 0 || text != "") ||
					b.Summary.Files+b.Summary.Failed != 2 {
					t.Errorf("it is %s: %+v\n%q %v", b.State, b.Summary, text, err)
				}
			})
		})
	}
}

// Programs let readers and repairs go first, and do not stop for them for ever; they keep the node's pace.
func TestYieldingAndPace(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		south := tr.nodes["south-1"]
		south.start()
		took := func() time.Duration {
			began := time.Now()
			for range 8 {
				if err := south.wait(t.Context(), step); err != nil {
					t.Fatal(err)
				}
			}
			return time.Since(began)
		}
		if idle := took(); idle != 0 {
			t.Errorf("on an idle node it waits for %s", idle)
		}
		south.set(func() { south.busy = true })
		if busy := took(); busy < 8*yieldFor || busy > 9*yieldFor {
			t.Errorf("on a busy node it waits for %s", busy)
		}
		south.set(func() { south.busy = false })
		south.worker.cfg.Limits.Pace = step
		if paced := took(); paced < 7*time.Second || paced > 8*time.Second {
			t.Errorf("at its pace it waits for %s", paced)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := south.wait(ctx, step); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// An output is kept in memory while it is small and in a file beyond; nothing stays behind.
func TestSpool(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "work")
	room := int64(1 << 30)
	of := &spools{dir: dir, disk: disk.New(), room: func() (int64, error) { return room, nil }}
	for _, size := range []int{0, 10, spoolMemory, spoolMemory + 1, 3 * spoolMemory} {
		s := &spool{of: of, left: -1}
		want := bytes.Repeat([]byte("x"), size)
		for part := want; len(part) > 0; {
			n := min(len(part), 300_000)
			if _, err := s.Write(part[:n]); err != nil {
				t.Fatal(err)
			}
			part = part[n:]
		}
		got, err := io.ReadAll(s.content())
		if err != nil || !bytes.Equal(got, want) || s.size != int64(size) || (s.large != nil) != (size > spoolMemory) {
			t.Errorf("%d bytes: %d are kept, in a file: %t, %v", size, len(got), s.large != nil, err)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
	s := &spool{of: of, left: 10}
	if _, err := s.Write(make([]byte, 11)); !errors.Is(err, errOutput) {
		t.Errorf("above its limit: %v", err)
	}
	room = spoolMemory
	s = &spool{of: of, left: -1}
	_, err := s.Write(make([]byte, 2*spoolMemory))
	if !errors.Is(err, disk.ErrFull) {
		t.Errorf("without room: %v", err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// A driver whose disk fails or is full waits, and loses nothing.
func TestADriverWithoutRoom(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		want := tr.putMany(5)
		north := tr.nodes["north-1"]
		north.start()
		room := int64(0)
		north.driver.cfg.Room = func() (int64, error) {
			north.state.Lock()
			defer north.state.Unlock()
			return room, nil
		}
		tr.begin("x", "checksum", "north-1", nil)
		time.Sleep(time.Minute)
		if p, ok, err := north.Progress("x"); !ok || err != nil || !strings.Contains(p.Detail, disk.ErrFull.Error()) {
			t.Errorf("while there is no room: %+v %t %v", p, ok, err)
		}
		if b := tr.batch("x"); b.State != batches.Running {
			t.Fatalf("it is %s", b.State)
		}
		north.set(func() { room = 1 << 40 })
		tr.wants("x", batches.Done, 5, 0)
		tr.wantsResult("x", want)
		synctest.Wait()
	})
}

// A node that does not know what is agreed removes no results.
func TestResultsAreNotRemovedTooSoon(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		north := tr.nodes["north-1"]
		old := filepath.Join(north.dir, "batches", "old")
		if err := os.MkdirAll(old, 0o700); err != nil {
			t.Fatal(err)
		}
		tr.lagging = errors.New("no quorum")
		north.start()
		time.Sleep(time.Minute)
		if _, err := os.Stat(old); err != nil {
			t.Errorf("they are gone: %v", err)
		}
		tr.mu.Lock()
		tr.lagging = nil
		tr.mu.Unlock()
		time.Sleep(time.Minute)
		if _, err := os.Stat(old); !os.IsNotExist(err) {
			t.Errorf("they are kept for ever: %v", err)
		}
	})
}

// FuzzReceive reads what another node sends: whatever it is, an outcome is bounded.
func FuzzReceive(f *testing.F) {
	f.Add([]byte(`{"file":"a","bytes":3}` + "\nabc"))
	f.Add([]byte("{}\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := receive(bufio.NewReader(bytes.NewReader(text)))
		if err == nil && (o.Bytes < 0 || o.Failed != "" && o.Bytes > 0) {
			t.Errorf("%+v", o)
		}
	})
}
