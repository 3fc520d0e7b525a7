package batch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/batches"
)

// in runs a test over a cluster in a bubble of time.
func in(t *testing.T, test func(*testing.T, *trial)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(t)
		t.Cleanup(tr.stopAll)
		test(t, tr)
	})
}

func (tr *trial) wants(id string, state batches.State, files, failed int64, why ...string) batches.Batch {
	tr.t.Helper()
	b := tr.awaitEnd(id)
	if b.Summary == nil {
		tr.t.Fatalf("batch %s is %s without a summary", id, b.State)
	}
	if b.State != state || b.Summary.Files != files || b.Summary.Failed != failed {
		tr.t.Errorf("batch %s is %s (%s), with %d files, %d failed: %+v", id, b.State, b.Reason, b.Summary.Files, b.Summary.Failed,
			b.Summary.Failures)
	}
	text := b.Reason
	for _, f := range b.Summary.Failures {
		text += "\n" + string(f.Name) + ": " + f.Reason
	}
	for _, w := range why {
		if !strings.Contains(text, w) {
			tr.t.Errorf("batch %s does not say %q: %s", id, w, text)
		}
	}
	return b
}

func (tr *trial) wantsResult(id, want string) {
	tr.t.Helper()
	for _, node := range names {
		if tr.nodes[node].isDown() || tr.nodes[node].Batches == nil {
			continue
		}
		if got, err := tr.result(id, node, false); err != nil || got != want {
			tr.t.Errorf("the result at %s: %v\n%s\nwant\n%s", node, err, got, want)
		}
	}
}

func TestABatchOverAllFiles(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		want := tr.putMany(30)
		tr.startAll()
		tr.begin("x", "checksum", "south-1", nil)
		b := tr.wants("x", batches.Done, 30, 0)
		tr.wantsResult("x", want)
		if b.Summary.Selected != 30 || b.Summary.Output != int64(len(want)) || len(b.Summary.Nodes) != 1 ||
			b.Summary.Nodes[0].Node != tr.nodes["south-1"].id || b.Summary.Nodes[0].Files != 30 {
			t.Errorf("%+v", b.Summary)
		}
		bad := b
		if err := tr.nodes["north-1"].Result(context.Background(), &bad, false, "bad", &strings.Builder{}); err == nil {
			t.Error("a result was given to somebody who may not read it")
		}
	})
}

// Only what is selected is processed; a list says which of its names cannot be.
func TestWhatIsSelected(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		tr.putMany(12)
		tr.startAll()
		tr.begin("expression", "files", "north-1", func(b *batches.Beginning) { b.Selection.Files = `f-00[0-4]` })
		tr.wants("expression", batches.Done, 5, 0)
		tr.begin("nothing", "files", "north-1", func(b *batches.Beginning) { b.Selection.Files = `nosuch.*` })
		tr.wants("nothing", batches.Incomplete, 0, 0, "no file of the archive is selected")
		tr.begin("list", "files", "north-1", func(b *batches.Beginning) {
			b.Selection.Names, b.Selection.Collections = 3, []catalog.CollectionName{"radio"}
		})
		tr.does(batches.AddNames, batches.Naming{ID: "list", Part: 1, Names: []catalog.FileName{"f-001", "f-002", "unknown"}})
		tr.wants("list", batches.Incomplete, 0, 3, "unknown: the archive has no such file", "f-001: the file is in collection web")
		tr.begin("radio", "files", "north-1", func(b *batches.Beginning) { b.Selection.Collections = []catalog.CollectionName{"radio"} })
		tr.wants("radio", batches.Incomplete, 0, 0, "no file of the archive is selected")
		if got, err := tr.result("expression", "north-1", false); err != nil || !strings.HasPrefix(got, "f-000\t18\tweb\nf-001\t") {
			t.Errorf("%v %s", err, got)
		}
	})
}

// A list of ten thousand names, of which the archive has some.
func TestTenThousandNames(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		want := tr.putMany(20)
		tr.startAll()
		var list []catalog.FileName
		for i := range 10_000 {
			list = append(list, catalog.FileName(fmt.Sprintf("f-%03d", i)))
		}
		slices.Sort(list)
		tr.begin("x", "checksum", "north-1", func(b *batches.Beginning) { b.Selection.Names = len(list) })
		part := 0
		for names := range slices.Chunk(list, batches.PartNames) {
			part++
			tr.does(batches.AddNames, batches.Naming{ID: "x", Part: part, Names: names})
		}
		tr.wants("x", batches.Incomplete, 20, 9980, "f-020: the archive has no such file")
		tr.wantsResult("x", want)
		failed, err := tr.result("x", "south-1", true)
		if lines := strings.Split(strings.TrimSpace(failed), "\n"); err != nil || len(lines) != 9980 || !slices.IsSorted(lines) {
			t.Errorf("%d files are named: %v", len(lines), err)
		}
	})
}

// A copy that is wrong is not believed: the file is read at another node, and what was made of it is thrown away.
func TestAWrongCopy(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		want := tr.putMany(10)
		north, south := tr.nodes["north-1"], tr.nodes["south-1"]
		north.files["f-003"] = []byte("Content of file 3\n")
		north.files["f-004"] = []byte("too short")
		delete(north.files, "f-005")
		tr.startAll()
		tr.begin("x", "checksum", "north-1", nil)
		tr.wants("x", batches.Done, 10, 0)
		tr.wantsResult("x", want)
		slices.Sort(north.doubts)
		if !slices.Equal(north.doubts, []catalog.FileName{"f-003", "f-004"}) || len(south.doubts) != 0 {
			t.Errorf("doubts %q %q", north.doubts, south.doubts)
		}
	})
}

// A file that is wrong everywhere is named, and the batch is not done.
func TestAFileThatIsWrongEverywhere(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		want := tr.putMany(10)
		for _, n := range tr.nodes {
			n.files["f-007"] = []byte("Content of file 7\n")
		}
		tr.startAll()
		tr.begin("x", "checksum", "north-1", nil)
		b := tr.wants("x", batches.Incomplete, 9, 1, "f-007: ", "node north-1: the copy is wrong", "node south-1: ", "node third-1: ")
		lines := strings.SplitAfter(want, "\n")
		tr.wantsResult("x", strings.Join(slices.Delete(lines, 7, 8), ""))
		if failed, err := tr.result("x", "third-1", true); err != nil || strings.Count(failed, "\n") != 1 || b.Summary.Selected != 10 {
			t.Errorf("%v %s", err, failed)
		}
	})
}

// A node is lost while it works: another takes over, and each file is in the result once.
func TestANodeIsLostOnTheWay(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		want := tr.putMany(20)
		north, south := tr.nodes["north-1"], tr.nodes["south-1"]
		for name := range north.files { // the driver has none of the files
			delete(north.files, name)
		}
		south.gate = make(chan struct{})
		tr.startAll()
		tr.begin("x", "checksum", "north-1", nil)
		synctest.Wait() // the other node is at work, and hangs
		if tr.batch("x").State != batches.Running {
			t.Fatal("it does not wait for the node")
		}
		south.cut()
		b := tr.wants("x", batches.Done, 20, 0)
		close(south.gate)
		tr.wantsResult("x", want)
		if len(b.Summary.Nodes) != 1 || b.Summary.Nodes[0].Node != tr.nodes["third-1"].id {
			t.Errorf("%+v", b.Summary.Nodes)
		}
	})
}

// Files whose only node does not answer are waited for, and named when it does not come back.
func TestANodeThatIsAway(t *testing.T) {
	for _, returns := range []bool{true, false} {
		in(t, func(t *testing.T, tr *trial) {
			want := tr.putMany(5)
			for _, name := range names[:2] {
				delete(tr.nodes[name].files, "f-002")
			}
			tr.startAll()
			tr.nodes["third-1"].stop()
			tr.begin("x", "checksum", "north-1", nil)
			time.Sleep(30 * time.Second)
			if p, ok, err := tr.nodes["north-1"].Progress("x"); !ok || err != nil || p.Files != 4 || p.Detail == "" {
				t.Errorf("while it waits: %+v %t %v", p, ok, err)
			}
			if returns {
				tr.nodes["third-1"].start()
				tr.wants("x", batches.Done, 5, 0)
				tr.wantsResult("x", want)
				return
			}
			tr.wants("x", batches.Incomplete, 4, 1, "f-002: ", "node third-1: ", "does not answer")
		})
	}
}

// The driver is killed: it goes on where it was, and does not process again what it kept.
func TestTheDriverStartsAgain(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		want := tr.putMany(12)
		north := tr.nodes["north-1"]
		tr.startAll()
		for _, name := range names[1:] {
			tr.nodes[name].stop()
		}
		north.files["f-011"] = nil // it waits for this one
		tr.begin("x", "checksum", "north-1", nil)
		synctest.Wait()
		time.Sleep(time.Second)
		north.stop()
		// A shard that was being written when the node died.
		shard := catalog.FileName("f-011").Shard()
		if err := os.WriteFile(filepath.Join(north.dir, "batches", "x", shard.String()+".out"), []byte("half a res"), 0o600); err != nil {
			t.Fatal(err)
		}
		north.files["f-011"] = []byte("content of file 11\n")
		before := north.opens["f-003"]
		if err := os.Truncate(filepath.Join(north.dir, "batches", "x", catalog.FileName("f-004").Shard().String()+".out"), 5); err != nil {
			t.Fatal(err) // it is done again
		}
		tr.startAll()
		tr.wants("x", batches.Done, 12, 0)
		tr.wantsResult("x", want)
		if before != 1 || north.opens["f-003"] != 1 {
			t.Errorf("a file was read %d times before, %d times in all", before, north.opens["f-003"])
		}
	})
}

// The driver is lost: another node claims the batch, and what the first says later counts for nothing.
func TestAnotherNodeDrives(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		want := tr.putMany(12)
		north := tr.nodes["north-1"]
		north.gate = make(chan struct{})
		for _, name := range names {
			tr.nodes[name].start()
		}
		tr.begin("x", "checksum", "north-1", nil)
		synctest.Wait()
		north.set(func() { north.down = true }) // cut off, and it goes on
		tr.does(batches.Release, batches.Holder{ID: "x", Node: north.id, Term: 1})
		b := tr.wants("x", batches.Done, 12, 0)
		if b.Node == north.id || b.Term != 2 {
			t.Errorf("driven by %s in term %d", b.Node, b.Term)
		}
		close(north.gate)
		synctest.Wait()
		time.Sleep(time.Minute)
		tr.wantsResult("x", want)
		if _, err := os.Stat(filepath.Join(north.dir, "batches", "x")); !os.IsNotExist(err) {
			t.Errorf("the former driver keeps what it has: %v", err)
		}
	})
}

func TestPauseResumeStop(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		want := tr.putMany(8)
		tr.startAll()
		tr.nodes["south-1"].stop()
		tr.nodes["third-1"].stop()
		north := tr.nodes["north-1"]
		north.files["f-001"] = nil
		for _, id := range []string{"goes", "ends"} {
			tr.begin(id, "checksum", "north-1", nil)
		}
		time.Sleep(3 * time.Second)
		tr.does(batches.Wish, batches.Wishing{ID: "goes", Wish: "pause"})
		tr.does(batches.Wish, batches.Wishing{ID: "ends", Wish: "stop"})
		time.Sleep(time.Hour)
		if b := tr.batch("goes"); b.State != batches.Paused {
			t.Fatalf("it is %s", b.State)
		}
		if p, ok, err := north.Progress("goes"); !ok || err != nil || p.Files != 7 || p.Selected != 8 {
			t.Errorf("while it is paused: %+v %t %v", p, ok, err)
		}
		if _, err := tr.result("goes", "north-1", false); err == nil {
			t.Error("the result of a batch that is paused was given")
		}
		north.set(func() { north.files["f-001"] = []byte("content of file 1\n") })
		tr.does(batches.Wish, batches.Wishing{ID: "goes", Wish: "run"})
		tr.wants("goes", batches.Done, 8, 0)
		tr.wantsResult("goes", want)
		part, err := tr.result("ends", "north-1", false)
		if err != nil || tr.batch("ends").State != batches.Stopped || strings.Count(part, "\n") != 7 {
			t.Errorf("a batch that was stopped: %v\n%s", err, part)
		}
		if s := tr.batch("ends").Summary; s == nil || s.Selected != 8 || s.Files != 7 || s.Failed != 0 || s.Output != int64(len(part)) {
			t.Errorf("the summary of a batch that was stopped: %+v", s)
		}
	})
}

func TestLimits(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		want := tr.putMany(10)
		tr.startAll()
		tr.begin("small", "checksum", "north-1", func(b *batches.Beginning) { b.Limits.Output = int64(len(want)) - 1 })
		b := tr.awaitEnd("small")
		if b.State != batches.Incomplete || !strings.Contains(b.Reason, "limit") || b.Summary.Failed < 1 ||
			b.Summary.Files+b.Summary.Failed != 10 || b.Summary.Output >= int64(len(want)) {
			t.Errorf("%s %s %+v", b.State, b.Reason, b.Summary)
		}
		tr.begin("fits", "checksum", "north-1", func(b *batches.Beginning) { b.Limits.Output = int64(len(want)) })
		tr.wants("fits", batches.Done, 10, 0)
		for _, n := range tr.nodes {
			n.set(func() { delete(n.files, "f-001") })
		}
		tr.nodes["third-1"].stop()
		tr.begin("slow", "checksum", "north-1", func(b *batches.Beginning) { b.Limits.Time = 10_000 })
		began := time.Now()
		tr.wants("slow", batches.Incomplete, 9, 1, "the time limit of the batch has passed")
		if took := time.Since(began); took < 10*time.Second || took > 12*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// What goes while the batch runs is named; what comes is not processed.
func TestTheArchiveChangesMeanwhile(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		tr.putMany(6)
		tr.nodes["north-1"].files["f-001"] = nil
		tr.nodes["north-1"].start()
		tr.begin("x", "checksum", "north-1", nil)
		time.Sleep(12 * time.Second)
		tr.put("late", "late\n")
		for _, name := range []catalog.FileName{"f-001", "f-002"} {
			f := tr.file(name)
			tr.does(catalog.RemoveFile, catalog.FileRemoval{Name: name, SHA256: f.SHA256, Reason: "test", Version: f.Version})
		}
		tr.wants("x", batches.Incomplete, 5, 1, "f-001: the file was removed at ")
		if got, err := tr.result("x", "north-1", false); err != nil || strings.Contains(got, "late") || !strings.Contains(got, "f-002") {
			t.Errorf("%v\n%s", err, got)
		}
	})
}

// A result that the disk has changed is never given as if it were whole.
func TestADamagedResult(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		tr.putMany(4)
		tr.startAll()
		tr.begin("x", "checksum", "north-1", nil)
		tr.wants("x", batches.Done, 4, 0)
		path := filepath.Join(tr.nodes["north-1"].dir, "batches", "x", catalog.FileName("f-002").Shard().String()+".out")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text[3] ^= 1
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, node := range names[:2] {
			if got, err := tr.result("x", node, false); err == nil || strings.Contains(got, "f-003") {
				t.Errorf("%s: %v\n%s", node, err, got)
			}
		}
		if err := os.Truncate(path, 5); err != nil {
			t.Fatal(err)
		}
		for _, node := range names[:2] {
			if got, err := tr.result("x", node, false); err == nil || strings.Contains(got, "f-003") {
				t.Errorf("cut off, %s: %v\n%s", node, err, got)
			}
		}
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		for _, node := range names[:2] {
			if _, err := tr.result("x", node, false); err == nil || !strings.Contains(err.Error(), "not on the node that drove it") {
				t.Errorf("gone, %s: %v", node, err)
			}
		}
	})
}
