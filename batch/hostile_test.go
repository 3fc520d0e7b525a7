package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"holdfast/catalog"
	"holdfast/catalog/batches"
	"holdfast/internal/disk"
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
		if err != nil || strings.Count(text, "\n") != 1 || strings.Count(text, "\t") != 1 || strings.ContainsRune(text, 0x1b) || !utf8.ValidString(text) {
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

// Files whose nodes do not answer wait in memory. So that these are not all of the archive's, a group of shards is done
// before the next one begins.
func TestFilesDoNotAllWaitAtOnce(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		tr.putMany(6)
		var shards []catalog.Shard
		for i := range 6 {
			shards = append(shards, catalog.FileName(fmt.Sprintf("f-%03d", i)).Shard())
		}
		slices.Sort(shards)
		north := tr.nodes["north-1"]
		for name := range north.files {
			if name.Shard() == shards[0] {
				delete(north.files, name) // the other nodes are away
			}
		}
		north.start()
		folder := filepath.Join(north.dir, "batches", "x")
		north.driver.cfg.Limits.Together = 2
		before := false
		p := Table{{Name: "p", OfFile: func(env *Env, _ io.Reader, out io.Writer) error {
			if env.File.Name.Shard() == shards[2] {
				_, err := os.Stat(indexPath(folder, shards[0]))
				before = err == nil
			}
			_, err := fmt.Fprintln(out, env.File.Name)
			return err
		}}}
		north.driver.cfg.Programs, north.worker.cfg.Programs = p, p
		tr.begin("x", "p", "north-1", nil)
		tr.wants("x", batches.Incomplete, 5, 1)
		if !before {
			t.Error("the third shard was begun before the first one was done")
		}
		if got, err := tr.result("x", "north-1", false); err != nil || strings.Count(got, "\n") != 5 {
			t.Errorf("%v %q", err, got)
		}
	})
}

func TestGroups(t *testing.T) {
	p := plan{shards: []catalog.Shard{1, 2, 3, 4, 5}, counts: []int64{3, 2, 9, 1, 4}}
	if got := fmt.Sprint(p.groups(5)); got != "[[001 002] [003] [004 005]]" {
		t.Error(got)
	}
	if got := fmt.Sprint((&plan{}).groups(5)); got != "[]" {
		t.Error(got)
	}
}

// An expression for lines cannot be one that takes hours for a line: nothing could break it off.
func TestALargeExpression(t *testing.T) {
	table := Programs(noTools())
	large := strings.Repeat(".{999}", 100)
	if _, _, err := table.Find("crawl-log", map[string]string{"match": large}); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("it is taken: %v", err)
	}
	for _, good := range []string{"", "^404 .*\\.example\\.org/", "(a|b)+c{1,200}"} {
		if _, _, err := table.Find("crawl-log", map[string]string{"match": good}); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	if _, _, err := table.Find("crawl-log", map[string]string{"match": "("}); err == nil {
		t.Error("( is taken")
	}
}

// A batch that is stopped while its plan is made does not keep its node from all others.
func TestAPlanIsBrokenOff(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		tr.putMany(1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		one := newDrive(newDriver(Config{Dir: t.TempDir(), Disk: disk.New(), Catalog: tr}, nil), batches.Batch{ID: "x"})
		if err := one.prepare(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// A page with any number of different words takes no more memory than a program may: it is cut.
func TestAPageOfManyWords(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "w%d ", i)
	}
	file := written(t, response("http://example.org/", "text/html", "", []byte(text.String())))
	for memory, want := range map[int64]int{1 << 10: 1000, 64 << 20: 5000} {
		p, values, err := Programs(noTools()).Find("words", nil)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := p.run(&Env{File: catalog.File{Name: "x.warc"}, Values: values, Memory: memory}, bytes.NewReader(file), &out); err != nil {
			t.Fatal(err)
		}
		var got page
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Words) != want || got.Cut != (want < 5000) || got.Damaged != "" {
			t.Errorf("with %d bytes: %d words, cut %t, %q", memory, len(got.Words), got.Cut, got.Damaged)
		}
	}
}

// Kept results are counted once, not by each who asks, and no folder is looked at but those of batches.
func TestProgressIsCountedOnce(t *testing.T) {
	in(t, func(t *testing.T, tr *trial) {
		tr.putMany(3)
		north := tr.nodes["north-1"]
		north.start()
		tr.begin("x", "files", "north-1", nil)
		tr.wants("x", batches.Done, 3, 0)
		north.stop()
		north.start()
		north.counting.Lock()
		if _, _, err := north.Progress("x"); !errors.Is(err, errCounting) {
			t.Errorf("while it is counted: %v", err)
		}
		north.counting.Unlock()
		if p, known, err := north.Progress("x"); err != nil || !known || p.Files != 3 {
			t.Errorf("%+v %t %v", p, known, err)
		}
		if err := os.RemoveAll(filepath.Join(north.dir, "batches", "x")); err != nil {
			t.Fatal(err)
		}
		if p, known, err := north.Progress("x"); err != nil || !known || p.Files != 3 {
			t.Errorf("again: %+v %t %v", p, known, err)
		}
		if _, known, err := north.Progress("../batches"); err == nil || known {
			t.Errorf("another folder: %v", err)
		}
	})
}

// Outputs that come at the same time do not each take the last room of the result.
func TestOutputsAtTheSameTime(t *testing.T) {
	sum := newTally()
	if !sum.hold(10, 6) || sum.hold(10, 5) || !sum.hold(10, 4) {
		t.Error("room is given away twice, or not at all")
	}
	sum.letGo(4)
	sum.spend(&entry{Length: 6})
	if sum.hold(10, 5) || !sum.hold(10, 4) || !sum.hold(0, 1<<40) || sum.now().Output != 6 {
		t.Errorf("%+v", sum)
	}
}
