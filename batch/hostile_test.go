package batch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/batches"
)

// with starts all nodes with a program of the test's own.
func (tr *trial) with(p Program) {
	for _, name := range names {
		n := tr.nodes[name]
		n.start()
		n.driver.cfg.Programs, n.worker.cfg.Programs = Table{p}, Table{p}
	}
}

// What a program says of a hostile file is bounded and one line, or the answer, and the index of the shard, could not
// be read: the other files would not be processed either.
func TestAFileThatFailsWithALongReason(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		tr.putMany(4)
		tr.with(Program{Name: "p", OfFile: func(env *Env, in io.Reader, out io.Writer) error {
			if env.File.Name == "f-001" {
				return errors.New("no record\nf-002\tmade up \x1b[2J\xff " + strings.Repeat("x", 2*longestHead))
			}
			_, err := fmt.Fprintln(out, env.File.Name)
			return err
		}})
		tr.nodes["south-1"].set(func() { delete(tr.nodes["south-1"].files, "f-001"); delete(tr.nodes["south-1"].files, "f-003") })
		tr.begin("x", "p", "south-1", nil)
		tr.wants("x", batches.Incomplete, 3, 1, "f-001: p: no record f-002 made up ")
		tr.wantsResult("x", "f-000\nf-002\nf-003\n")
		text, err := tr.result("x", "north-1", true)
		if err != nil || strings.Count(text, "\n") != 1 || strings.Count(text, "\t") != 1 || strings.ContainsAny(text, "\x1b\xff") {
			t.Errorf("%v %.200q", err, text)
		}
	})
}

// A node that gives long reasons does not keep a batch from ending.
func TestANodeThatGivesLongReasons(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		tr.putMany(1)
		north := tr.nodes["north-1"]
		delete(north.files, "f-000")
		north.start()
		long := strings.Repeat("x", longestHead-100)
		north.driver.cfg.Nodes = &liar{t, []string{`{"file":"f-000","failed":"copy","why":"` + long + `"}` + "\n", `{"end":true}` + "\n"}}
		tr.begin("x", "checksum", "north-1", nil)
		tr.wants("x", batches.Incomplete, 0, 1, "xxx")
		if _, err := tr.result("x", "north-1", true); err != nil {
			t.Error(err)
		}
	})
}

// The results of a shard that are gone from the disk are missing in the result: it is not given as if it were whole.
func TestAResultWithoutAShard(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		tr.putMany(4)
		tr.startAll()
		tr.begin("x", "checksum", "north-1", nil)
		tr.wants("x", batches.Done, 4, 0)
		folder := filepath.Join(tr.nodes["north-1"].dir, "batches", "x")
		if err := os.Remove(filepath.Join(folder, catalog.FileName("f-002").Shard().String()+".index")); err != nil {
			t.Fatal(err)
		}
		for _, node := range names {
			if text, err := tr.result("x", node, false); err == nil {
				t.Errorf("%s gives the rest as the whole: %s", node, text)
			}
		}
	})
}

// A batch that ends at a limit says of each file that is not in its result that it is not: those of a shard that was
// under way, and those that were never asked for.
func TestWhatALimitLeavesOut(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		shard := catalog.FileName("f-0").Shard()
		var same []catalog.FileName // files of one shard
		for i := 0; len(same) < 3; i++ {
			if name := catalog.FileName(fmt.Sprint("f-", i)); name.Shard() == shard {
				same = append(same, name)
				tr.put(name, "content")
			}
		}
		tr.put("other-1", "content")
		tr.with(Program{Name: "p", OfFile: func(env *Env, in io.Reader, out io.Writer) error {
			if env.File.Name == same[2] {
				time.Sleep(time.Minute)
			}
			_, err := fmt.Fprintln(out, env.File.Name)
			return err
		}})
		tr.begin("x", "p", "north-1", func(b *batches.Beginning) { b.Limits.Time = 10_000 })
		b := tr.wants("x", batches.Incomplete, 1, 3, "the time limit of the batch has passed")
		text, err := tr.result("x", "south-1", false)
		if err != nil || text != "other-1\n" || b.Summary.Output != int64(len(text)) {
			t.Errorf("%v %q %+v", err, text, b.Summary)
		}
		text, err = tr.result("x", "south-1", true)
		for _, name := range same {
			if err != nil || !strings.Contains(text, string(name)+"\tthe time limit of the batch has passed") {
				t.Errorf("%s: %v %q", name, err, text)
			}
		}
	})
}

// An index that the disk has damaged is made again: it does not keep the batch from ending.
func TestADamagedIndexIsMadeAgain(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		tr.putMany(1)
		tr.startAll()
		tr.begin("x", "files", "north-1", func(b *batches.Beginning) { b.Selection.Names = 1 })
		path := indexPath(filepath.Join(tr.nodes["north-1"].dir, "batches", "x"), catalog.FileName("f-000").Shard())
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"batch":"x","files":1}`+"\n{\x00"), 0o600); err != nil {
			t.Fatal(err)
		}
		tr.does(batches.AddNames, batches.Naming{ID: "x", Part: 1, Names: []catalog.FileName{"f-000"}})
		tr.wants("x", batches.Done, 1, 0)
		tr.wantsResult("x", "f-000\t18\tweb\n")
	})
}
