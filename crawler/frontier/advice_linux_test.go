package frontier

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMappingsOfTables(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line     string
		from, to uintptr
	}{
		{"7f01000-7f02000 rw-s 00000000 fe:00 17  /d/frontier/000012.sst", 0x7f01000, 0x7f02000},
		{"7f01000-7f02000 rw-s 00000000 fe:00 17  /d/frontier/000012.sst (deleted)", 0, 0},
		{"7f01000-7f02000 rw-s 00000000 fe:00 17  /d/other/000012.sst", 0, 0},
		{"7f01000-7f02000 rw-s 00000000 fe:00 17  /d/frontier/00001.mem", 0, 0},
		{"7f02000-7f01000 rw-s 00000000 fe:00 17  /d/frontier/000012.sst", 0, 0},
		{"zz-7f02000 rw-s 00000000 fe:00 17  /d/frontier/000012.sst", 0, 0},
		{"7f01000-7f02000 rw-p 00000000 00:00 0 ", 0, 0},
		{"/d/frontier/1.sst", 0, 0},
		{"", 0, 0},
	} {
		if from, to, ok := parseMapping([]byte(tt.line), "/d/frontier"); ok != (tt.to != 0) || ok && (from != tt.from || to != tt.to) {
			t.Errorf("%s: %x to %x, %v", tt.line, from, to, ok)
		}
	}
}

// Tables are marked as read at random ("rr" among the flags of their mappings).
func TestTablesAreAdvised(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	add(t, f, uri("h", 1))
	commit(t, f)
	if err := f.Close(); err != nil { // writes a table
		t.Fatal(err)
	}
	f = open(t, dir)
	defer f.Close()
	f.scanning.Wait()
	add(t, f, uri("h", 2))
	commit(t, f)
	found := false
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer smaps.Close()
	table := ""
	for s := bufio.NewScanner(smaps); s.Scan(); {
		line := s.Text()
		if _, _, ok := parseMapping([]byte(line), dir); ok {
			table = line
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && table != "" {
			found = true
			if !strings.Contains(fmt.Sprint(flags, " "), " rr ") {
				t.Errorf("%s: flags %s", table, flags)
			}
			table = ""
		}
	}
	if !found {
		t.Error("no table is mapped")
	}
}
