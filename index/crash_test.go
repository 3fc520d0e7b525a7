package index

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/cdx"
	"holdfast/internal/seed"
)

const (
	crashDir   = "HOLDFAST_TEST_INDEX_DIR"
	crashPages = 300 // captures in each file of the crash test
)

// crashFile is the n-th file that the crash test adds.
func crashFile(n int) (string, *archive) {
	var a archive
	for i := range crashPages {
		a.page("2026-01-01T00:00:00Z", fmt.Sprintf("http://host%d.example/page-%d", n, i), fmt.Sprintf("%d %d", n, i))
	}
	return fmt.Sprintf("file-%06d.warc.gz", n), &a
}

// TestCrashVictim adds and removes files until it is killed. It does nothing unless TestKill started it.
func TestCrashVictim(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		return
	}
	x, err := Open(Config{Dir: dir, MemoryMiB: 16}, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Println("error", err)
		return
	}
	for n := x.Status().Files; ; n++ {
		for {
			if name, _ := crashFile(n); !x.Has(name) {
				break
			}
			n++
		}
		name, file := crashFile(n)
		fmt.Println("adding", name)
		if err := x.Add(context.Background(), name, file.open); err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println("added", name)
		if n%5 == 4 {
			fmt.Println("removing", name)
			if err := x.Remove(name); err != nil {
				fmt.Println("error", err)
				return
			}
			fmt.Println("removed", name)
		}
	}
}

// A process killed at any moment leaves each file's captures all there or not
// at all, those acknowledged there, and nothing that a purge does not find.
func TestKill(t *testing.T) {
	// Not parallel: a process that begins holds the locks of the databases that other tests have open, for a moment.
	random := seed.Rand(t)
	dir := filepath.Join(t.TempDir(), "index")
	state := map[string]string{} // what was last said of each file
	for range 4 {
		runVictim(t, "TestCrashVictim", dir, 2+random.IntN(12), time.Duration(random.IntN(4000))*time.Microsecond, state)
		checkAfterKill(t, dir, state)
	}
}

// runVictim lets the victim say some lines, then go on a little, and kills it.
func runVictim(t *testing.T, test, dir string, lines int, more time.Duration, state map[string]string) {
	t.Helper()
	victim := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	victim.Env = append(os.Environ(), crashDir+"="+dir)
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	for n := 0; said.Scan(); n++ {
		what, name, _ := strings.Cut(said.Text(), " ")
		if what == "error" {
			t.Error(said.Text())
		}
		if strings.HasPrefix(name, "file-") || what == "loaded" {
			state[name] = what
		}
		if n == lines {
			<-time.After(more) // the victim is in the middle of something then
			victim.Process.Kill()
		}
	}
	io.Copy(io.Discard, out)
	victim.Wait()
}

func checkAfterKill(t *testing.T, dir string, state map[string]string) {
	t.Helper()
	x, err := Open(Config{Dir: dir, MemoryMiB: 16}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	files := 0
	for name, said := range state {
		var n int
		fmt.Sscanf(name, "file-%d", &n)
		got := len(ask(t, x, cdx.Query{URL: fmt.Sprintf("http://host%d.example/", n), Match: cdx.Host}, nil))
		has := x.Has(name)
		if has {
			files++
		}
		if has && got != crashPages || !has && got != 0 {
			t.Errorf("%s, last heard %q: %d of %d captures, has %v", name, said, got, crashPages, has)
		}
		if said == "added" && !has || said == "removed" && has {
			t.Errorf("%s: %s was acknowledged, but has is %v", name, said, has)
		}
	}
	if err := x.Purge(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, x); got != files*crashPages*2 {
		t.Errorf("%d entries for %d files, want %d", got, files, files*crashPages*2)
	}
	if got := x.Status(); got.Files != files || got.Purging != 0 {
		t.Errorf("status %+v, want %d files", got, files)
	}
}
