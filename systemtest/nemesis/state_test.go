package nemesis

import (
	"slices"
	"testing"

	"holdfast/catalog"
)

// settled is what is found after a put of one file when all is well.
func settled() ([]Op, []Damage, Final) {
	whole := contents.Bytes("f", 0)
	views := []View{}
	reads := []Op{}
	for _, node := range []string{"north-1", "south-1"} {
		views = append(views, View{Node: node, Parts: map[string]string{"files": "[1]", "jobs": "[]"},
			Files: []File{{Name: "f", SHA256: Sum(whole), Holders: map[string]string{"north": "north-1", "south": "south-1"}}},
			Trail: []catalog.Event{}})
		read := at(8, 9, got("f", 0))
		read.Node = node
		reads = append(reads, read)
	}
	disk := func() Disk {
		return Disk{Files: map[string]string{"f": Sum(whole)}, Listed: map[string]string{"f": Sum(whole)}}
	}
	return []Op{at(0, 1, put("f", 0, 201))}, nil, Final{Views: views, Reads: reads, Disks: map[string]Disk{"north-1": disk(), "south-1": disk()},
		Ends: []End{{Node: "north-1", Meant: "killed", Code: -1}, {Node: "north-1", Meant: "stopped"}}, Logs: map[string]string{"north-1": "INFO started\n"}}
}

// TestCheckFinal plants a violation in a final state that has none.
func TestCheckFinal(t *testing.T) {
	bad := catalog.Event{Seq: 9, Act: string(catalog.JudgeCopies), Subject: "f/north", Detail: "bad filelist=OK checksum=CORRUPT votes="}
	tests := []struct {
		name  string
		plant func(ops *[]Op, damage *[]Damage, f *Final)
		want  string
	}{
		{"nothing", func(*[]Op, *[]Damage, *Final) {}, ""},
		{"no rest", func(_ *[]Op, _ *[]Damage, f *Final) { f.Unsettled = "1 file is owed" }, "does not settle"},
		{"not given out", func(_ *[]Op, _ *[]Damage, f *Final) { f.Reads[1].Status = 503 }, "acknowledged file lost"},
		{"given out wrong", func(_ *[]Op, _ *[]Damage, f *Final) { f.Reads[0].Sum = Sum(nil) }, "acknowledged file lost"},
		{"cut off", func(_ *[]Op, _ *[]Damage, f *Final) { f.Reads[0].Clean = false }, "acknowledged file lost"},
		{"not read", func(_ *[]Op, _ *[]Damage, f *Final) { f.Reads = f.Reads[:1] }, "acknowledged file not read"},
		{"a page not shown", func(_ *[]Op, _ *[]Damage, f *Final) {
			f.Reads = append(f.Reads, at(8, 9, Op{Act: Replay, Subject: "p.warc", Status: 404}))
		}, "acknowledged page lost"},
		{"another catalog", func(_ *[]Op, _ *[]Damage, f *Final) { f.Views[1].Parts["files"] = "[2]" }, "catalogs differ"},
		{"a part is missing", func(_ *[]Op, _ *[]Damage, f *Final) { delete(f.Views[1].Parts, "jobs") }, "catalogs differ"},
		{"a forged trail", func(_ *[]Op, _ *[]Damage, f *Final) { f.Views[1].Trail = []catalog.Event{{Seq: 1, Act: "x"}} }, "trail broken"},
		{"a copy turned bad", func(_ *[]Op, _ *[]Damage, f *Final) { f.Views[0].Trail = []catalog.Event{bad} }, "copy lost without a fault"},
		{"another file was damaged", func(_ *[]Op, d *[]Damage, f *Final) {
			f.Views[0].Trail, *d = []catalog.Event{bad}, []Damage{{Replica: "north", File: "g"}}
		}, "copy lost without a fault"},
		{"the disk has less", func(_ *[]Op, _ *[]Damage, f *Final) { delete(f.Disks["north-1"].Files, "f") }, "copy counted, not there"},
		{"the disk has other bytes", func(_ *[]Op, _ *[]Damage, f *Final) { f.Disks["north-1"].Files["f"] = Sum(nil) }, "copy counted, not there"},
		{"the disk has more", func(_ *[]Op, _ *[]Damage, f *Final) { f.Disks["north-1"].Files["g"] = Sum(nil) }, "bytes nobody asks about"},
		{"no line", func(_ *[]Op, _ *[]Damage, f *Final) { delete(f.Disks["south-1"].Listed, "f") }, "manifest wrong"},
		{"sha256sum complains", func(_ *[]Op, _ *[]Damage, f *Final) { f.Disks["south-1"] = with(f.Disks["south-1"], "f: FAILED", "") }, "sha256sum"},
		{"a part is left", func(_ *[]Op, _ *[]Damage, f *Final) {
			f.Disks["south-1"] = with(f.Disks["south-1"], "", "incoming/f.part")
		}, "left over"},
		{"died", func(_ *[]Op, _ *[]Damage, f *Final) { f.Ends[0].Meant = "" }, "process died"},
		{"stopped with an error", func(_ *[]Op, _ *[]Damage, f *Final) { f.Ends[1].Code = 70 }, "unclean stop"},
		{"crashed where it should refuse", func(_ *[]Op, _ *[]Damage, f *Final) { f.Ends[1] = End{Node: "north-1", Meant: "refused", Code: -1} }, "unclean refusal"},
		{"panic", func(_ *[]Op, _ *[]Damage, f *Final) { f.Logs["north-1"] += "panic: oh\n" }, "crash in the log"},
		{"race", func(_ *[]Op, _ *[]Damage, f *Final) { f.Logs["north-1"] += "WARNING: DATA RACE\n" }, "crash in the log"},
		{"bus error", func(_ *[]Op, _ *[]Damage, f *Final) { f.Logs["north-1"] += "[signal SIGBUS: bus error code=0x2]\n" }, "crash in the log"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ops, damage, final := settled()
			tt.plant(&ops, &damage, &final)
			found := CheckFinal(ops, damage, final)
			switch {
			case tt.want == "" && len(found) > 0:
				t.Errorf("found %v", found)
			case tt.want != "" && !slices.ContainsFunc(found, func(v Violation) bool { return v.Kind == tt.want }):
				t.Errorf("found %v, want %q", found, tt.want)
			}
		})
	}
}

func with(d Disk, sum, left string) Disk {
	if sum != "" {
		d.Sums = append(d.Sums, sum)
	}
	if left != "" {
		d.Leftover = append(d.Leftover, left)
	}
	return d
}

// TestDamageExplainsVerdicts has a copy judged bad that a fault made bad.
func TestDamageExplainsVerdicts(t *testing.T) {
	view := View{Trail: []catalog.Event{{Act: string(catalog.JudgeCopies), Subject: "f/north", Detail: "bad filelist=MISSING"}}}
	for _, d := range []Damage{{Replica: "north", File: "f"}, {Replica: "north"}} {
		if found := lostCopies([]Damage{d}, []View{view}); len(found) > 0 {
			t.Errorf("%v although %v", found, d)
		}
	}
}
