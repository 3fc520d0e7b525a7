package replica

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

func TestAFullDiskStopsOnlyFilesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	p := newPulls(func(catalog.Shard) string { return "disk" }, roomy)
	begins := func(name string, size int64) bool {
		if p.start(catalog.File{Name: catalog.FileName(name), Size: size}, false) == nil {
			return false
		}
		p.end(catalog.FileName(name))
		return true
	}
	full := func(size int64) { p.fullDisk(catalog.File{Size: size}) }
	again := func(size int64) { p.roomAgain(catalog.File{Size: size}) }
	full(100)
	if begins("as large", 100) || begins("larger", 101) || !begins("smaller", 99) {
		t.Error("after a file of 100 bytes had no room")
	}
	again(50)
	if begins("as large", 100) {
		t.Error("room for 50 bytes says nothing about 100")
	}
	full(60)
	full(80)
	if begins("between", 70) || !begins("smaller", 59) {
		t.Error("after a file of 60 bytes had no room either")
	}
	again(60)
	if !begins("larger", 101) {
		t.Error("after there was room for the smallest that had none")
	}
}

// roomy is that there is room again.
func roomy(catalog.File) bool { return true }

// TestAFullDiskIsTriedAgainSoon has many files find a disk full at once, and again and again: the rest that follows does
// not grow with their number, and never gets long. As long as the disk is full, no file is tried.
func TestAFullDiskIsTriedAgainSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		room, looks := true, 0
		p := newPulls(func(catalog.Shard) string { return "/disk" }, func(catalog.File) bool { looks++; return room })
		for range 20 {
			p.fullDisk(catalog.File{Size: 1})
		}
		time.Sleep(fullPause)
		if !p.free(catalog.File{Name: "a", Size: 5}) {
			t.Errorf("files rest for longer than %v after 20 of them found the disk full", fullPause)
		}
		for range 100 {
			p.fullDisk(catalog.File{Size: 1})
			time.Sleep(longestFull)
			if !p.free(catalog.File{Name: "a", Size: 5}) {
				t.Fatalf("files rest for longer than %v", longestFull)
			}
		}
		room, looks = false, 0
		p.fullDisk(catalog.File{Size: 5})
		for range 120 {
			time.Sleep(longestFull)
			if p.free(catalog.File{Name: "a", Size: 5}) || !p.free(catalog.File{Name: "b", Size: 4}) {
				t.Fatal("a file is tried on a full disk, or a smaller one is not")
			}
		}
		if room = true; looks != 120 {
			t.Errorf("%d looks in two hours", looks)
		}
		time.Sleep(longestFull)
		if !p.free(catalog.File{Name: "a", Size: 5}) {
			t.Error("the file rests though there is room")
		}
	})
}

// TestAFullDiskStopsItsOwnShardsAlone: what belongs on another disk goes on.
func TestAFullDiskStopsItsOwnShardsAlone(t *testing.T) {
	t.Parallel()
	p := newPulls(func(n catalog.Shard) string { return []string{"one", "two", ""}[n%3] }, roomy)
	var files [3]catalog.File // one of each disk, and one of a shard that has none
	for i := 0; files[0].Name == "" || files[1].Name == "" || files[2].Name == ""; i++ {
		f := catalog.File{Name: catalog.FileName(fmt.Sprint("f", i)), Size: 100}
		files[f.Name.Shard()%3] = f
	}
	p.fullDisk(files[0])
	if p.free(files[0]) || !p.free(files[1]) || !p.free(files[2]) {
		t.Error("after the first disk was full")
	}
	p.fullDisk(files[2]) // no disk had room for a new shard
	if !p.free(files[1]) || p.free(files[2]) {
		t.Error("after no disk had room for a new shard")
	}
	p.roomAgain(files[1])
	if p.free(files[0]) || !p.free(files[2]) {
		t.Error("after there was room on the second disk")
	}
}

// TestShardsSpreadInProportionToRoom claims all shards on two disks, one of which has a third of the room. The store of a
// disk that has one GiB more than the other had them all.
func TestShardsSpreadInProportionToRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := storeConfig(dir)
	cfg.Roots = []string{dir + "/one", dir + "/two"}
	s := openStore(t, cfg, disk.New())
	claimed := func(first, second int64) (on [2]int) {
		for n := range catalog.Shard(catalog.Shards) {
			for i, room := range []int64{first, second} { // whatever the real disk has
				s.roots[i].promised = 0
				free, err := s.room(s.roots[i])
				if err != nil {
					t.Fatal(err)
				}
				s.roots[i].promised = free - room
			}
			r, _, err := s.choose(n, 1)
			if err != nil {
				t.Fatal(err)
			}
			again, _, err := s.choose(n, 1)
			if err != nil || again != r {
				t.Fatalf("shard %s goes to %s, then to %s, %v", n, r.path, again.path, err)
			}
			if strings.HasSuffix(r.path, "/one") {
				on[0]++
			} else {
				on[1]++
			}
		}
		return on
	}
	for _, tt := range []struct{ first, second int64 }{{1 << 40, 1<<40 + 1<<30}, {1 << 40, 3 << 40}, {0, 1 << 40}} {
		on := claimed(tt.first, tt.second)
		want := float64(catalog.Shards) * float64(tt.first) / float64(tt.first+tt.second)
		if off := float64(on[0]) - want; off > 150 || off < -150 {
			t.Errorf("rooms of %d and %d: %v shards, want about %.0f on the first", tt.first, tt.second, on, want)
		}
	}
}
