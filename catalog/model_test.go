package catalog_test

import (
	"fmt"
	"slices"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/files"

	"pgregory.net/rapid"
)

// model is the catalog as plain maps, with the rules of copies written down once more and simply.
type model struct {
	files   map[catalog.FileName]*modelFile
	holders map[string]string // "replica shard": node's name
	next    map[string]string
	members map[string]bool
}

type modelFile struct {
	source   string
	released bool
	removed  bool
	until    catalog.Time      // removed, and can be restored until then; 0: it is not
	copies   map[string]string // replica: "", done, failed, disputed
}

var modelReplicas = []string{"north", "south", "sums"}

func (f *modelFile) complete() bool {
	for _, r := range modelReplicas {
		if f.copies[r] != "done" {
			return false
		}
	}
	return true
}

// machine drives the catalog and the model with the same acts and compares.
type machine struct {
	*cluster
	m     model
	level int
}

func place(replica string, name catalog.FileName) string {
	return replica + " " + name.Shard().String()
}

func newMachine(t *rapid.T) *machine {
	k := &machine{cluster: emptyCluster(t), m: model{files: map[catalog.FileName]*modelFile{},
		holders: map[string]string{}, next: map[string]string{}, members: map[string]bool{"north-1": true}}}
	for _, name := range []string{"south-1", "sums-1", "north-2", "south-2"} {
		k.join(t, name)
		k.m.members[name] = true
	}
	if k.level = rapid.SampledFrom([]int{1, 2, files.LevelOfHidden}).Draw(t, "level"); k.level > 1 {
		k.raiseTo(t, k.level)
	}
	return k
}

// needed reports whether a copy that is owed goes before others: of a file whose source keeps it, or with less than two
// good copies of the bytes.
func (f *modelFile) needed() bool {
	good := 0
	for _, r := range []string{"north", "south"} {
		if f.copies[r] == "done" {
			good++
		}
	}
	return !f.released || good < 2
}

func names() []catalog.FileName { return []catalog.FileName{"f1", "f2", "f3", "f4", "f5"} }

func draw(t *rapid.T) (name catalog.FileName, node, replica string) {
	name = rapid.SampledFrom(names()).Draw(t, "file")
	node = rapid.SampledFrom([]string{"north-1", "north-2", "south-1", "south-2", "sums-1"}).Draw(t, "node")
	return name, node, string(member(node).Replica)
}

// expect fails unless the command was carried out exactly when the model says so.
func expect(t *rapid.T, res catalog.Result, ok bool, what string) {
	if r := refusal(res); (r == nil) != ok {
		t.Fatalf("%s: refusal %v, the model says carried out = %t", what, r, ok)
	}
}

func (k *machine) Add(t *rapid.T) {
	name, node, _ := draw(t)
	res := k.apply(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: 10, SHA256: digest(string(name)), Collection: "web", Source: id(node)}}})
	f := k.m.files[name]
	switch {
	case f == nil:
		expect(t, res, true, "add")
		k.m.files[name] = &modelFile{source: node, copies: map[string]string{}}
	case f.removed:
		expect(t, res, false, "add removed")
	default:
		expect(t, res, true, "add again")
		if !f.complete() && f.released {
			f.source, f.released = node, false
		}
	}
}

func (k *machine) Report(t *rapid.T) {
	name, node, replica := draw(t)
	failed := rapid.Bool().Draw(t, "failed")
	r := catalog.CopyReport{Name: name, State: catalog.UploadCompleted, SHA256: digest(string(name))}
	if failed {
		r.State = catalog.UploadFailed
	}
	res := k.apply(t, catalog.ReportCopies, catalog.CopyReports{Node: id(node), Copies: []catalog.CopyReport{r}})
	f, at := k.m.files[name], place(replica, name)
	holder := k.m.holders[at] == node
	if f == nil || f.removed || !holder && k.m.next[at] != node {
		expect(t, res, false, "report")
		return
	}
	if !holder {
		expect(t, res, true, "report of next")
		return
	}
	switch state := f.copies[replica]; {
	case state == "disputed" || state == "done" && failed:
		expect(t, res, false, "report of a disputed or done copy")
	case failed:
		expect(t, res, true, "failure")
		f.copies[replica] = "failed"
	default:
		expect(t, res, true, "completion")
		f.copies[replica] = "done"
	}
}

func (k *machine) Release(t *rapid.T) {
	name, node, replica := draw(t)
	res := k.apply(t, catalog.ReleaseFiles, catalog.Releases{Node: id(node), Files: []catalog.FileName{name}})
	f, at := k.m.files[name], place(replica, name)
	if f == nil {
		expect(t, res, false, "release of nothing")
		return
	}
	source := f.source == node && !f.released
	keeps := k.m.holders[at] == node || k.m.next[at] == node
	ok := f.removed || f.complete() && (source || !keeps)
	expect(t, res, ok, "release")
	if ok && source {
		f.released = true
	}
}

func (k *machine) Find(t *rapid.T) {
	name, node, replica := draw(t)
	right := rapid.Bool().Draw(t, "right")
	finding := catalog.Finding{Name: name, FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: digest("bad")}
	if right {
		finding.Checksum, finding.Found = catalog.ChecksumOK, digest(string(name))
	}
	res := k.apply(t, catalog.FindCopies, catalog.Findings{Node: id(node), Files: []catalog.Finding{finding}})
	f := k.m.files[name]
	ok := f != nil && !f.removed && k.m.holders[place(replica, name)] == node && (f.copies[replica] == "done" || f.copies[replica] == "disputed")
	expect(t, res, ok, "finding")
	if ok {
		f.copies[replica] = "disputed"
		if right {
			f.copies[replica] = "done"
		}
	}
}

func (k *machine) Judge(t *rapid.T) {
	name, _, replica := draw(t)
	bad := rapid.Bool().Draw(t, "bad")
	res := k.apply(t, catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: name, Replica: catalog.ReplicaName(replica), Bad: bad}}})
	f := k.m.files[name]
	ok := f != nil && f.copies[replica] == "disputed"
	if ok && bad {
		ok = !f.released || f.copies["north"] == "done" || f.copies["south"] == "done"
	}
	expect(t, res, ok, "verdict")
	if ok {
		f.copies[replica] = "done"
		if bad {
			f.copies[replica] = "failed"
		}
	}
}

func (k *machine) Remove(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "seldom") != 0 {
		t.Skip("removals are drawn seldom, or no file would live long; rapid draws another action")
	}
	name, _, _ := draw(t)
	res := k.apply(t, catalog.RemoveFile, catalog.FileRemoval{Name: name, SHA256: digest(string(name))})
	f := k.m.files[name]
	expect(t, res, f != nil, "remove")
	switch {
	case f == nil || f.removed || f.until > 0:
	case k.level >= files.LevelOfHidden: // nothing changes for its copies until it is released
		f.until = k.now + 30*catalog.Day
	default:
		f.removed, f.copies = true, map[string]string{}
	}
}

// Restore takes a removal back.
func (k *machine) Restore(t *rapid.T) {
	name, _, _ := draw(t)
	res := k.apply(t, files.RestoreFile, files.Restoration{Name: name, SHA256: digest(string(name)), Reason: "test"})
	f := k.m.files[name]
	ok := f != nil && f.until > 0
	expect(t, res, ok, "restore")
	if ok {
		f.until = 0
	}
}

// Expire releases the bytes of a removed file, when the time to restore it is over.
func (k *machine) Expire(t *rapid.T) {
	name, _, _ := draw(t)
	if rapid.Bool().Draw(t, "later") {
		k.now += 31 * catalog.Day
	}
	res := k.apply(t, files.ExpireFiles, files.Expiry{Files: []catalog.FileName{name}})
	f := k.m.files[name]
	ok := f != nil && f.until > 0 && k.now >= f.until
	expect(t, res, ok, "expire")
	if ok {
		f.removed, f.until, f.copies = true, 0, map[string]string{}
	}
}

// LoseSource lets a node say that the bytes which it keeps as a source are wrong: it is none any more.
func (k *machine) LoseSource(t *rapid.T) {
	name, node, _ := draw(t)
	res := k.apply(t, catalog.FindSources, catalog.Findings{Node: id(node), Files: []catalog.Finding{
		{Name: name, FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: digest("bad")}}})
	f := k.m.files[name]
	ok := k.level >= 2 && f != nil && !f.removed && !f.released && f.source == node
	expect(t, res, ok, "lose the source")
	if ok {
		f.released = true
	}
}

// TakeSource lets a node that has the bytes take the place of a source that cannot give its own.
func (k *machine) TakeSource(t *rapid.T) {
	name, node, _ := draw(t)
	_, from, _ := draw(t)
	res := k.apply(t, catalog.TakeSources, catalog.Takeovers{Node: id(node), Files: []catalog.Takeover{
		{Name: name, SHA256: digest(string(name)), From: id(from), Why: "test"}}})
	f := k.m.files[name]
	ok := k.level >= 3 && f != nil && !f.removed && !f.complete() && !f.released && f.source == from
	expect(t, res, ok, "take the source")
	if ok {
		f.source = node
	}
}

func (k *machine) Assign(t *rapid.T) {
	name, node, replica := draw(t)
	res := k.apply(t, catalog.AssignShards, catalog.Assignment{Replica: catalog.ReplicaName(replica), Shards: []catalog.Shard{name.Shard()}, Node: id(node)})
	expect(t, res, true, "assign")
	at := place(replica, name)
	if holder := k.m.holders[at]; holder == "" || holder == node {
		k.m.holders[at], k.m.next[at] = node, ""
	} else {
		k.m.next[at] = node
	}
}

func (k *machine) Switch(t *rapid.T) {
	name, node, replica := draw(t)
	var root catalog.Root
	for _, other := range names() {
		if f := k.m.files[other]; f != nil && !f.removed && other.Shard() == name.Shard() {
			root = root.Add(catalog.RootOf(other, 10, digest(string(other))))
		}
	}
	wrong := rapid.Bool().Draw(t, "wrong")
	if wrong {
		root.Files++
	}
	res := k.apply(t, catalog.SwitchShard, catalog.Switch{Replica: catalog.ReplicaName(replica), Shard: name.Shard(), Node: id(node), Root: root})
	at := place(replica, name)
	already := k.m.holders[at] == node && k.m.next[at] == ""
	ok := already || k.m.next[at] == node && !wrong
	expect(t, res, ok, "switch")
	if ok && !already {
		k.m.holders[at], k.m.next[at] = node, ""
	}
}

// Check compares every list and count of the catalog with the model.
func (k *machine) Check(t *rapid.T) {
	v := k.view()
	due, kept := map[string][]string{}, map[string][]string{}
	var disputed []string
	for _, replica := range modelReplicas {
		var totals catalog.Totals
		var owed, needed []string
		for _, name := range names() {
			f := k.m.files[name]
			if f == nil || f.removed {
				continue
			}
			totals.Files++
			totals.Bytes += 10
			switch f.copies[replica] {
			case "done", "disputed":
				totals.Good++
			default:
				totals.Owed++
				owed = append(owed, string(name))
				if f.needed() {
					needed = append(needed, string(name))
				}
			}
			if f.copies[replica] == "disputed" {
				totals.Disputed++
				disputed = append(disputed, string(name))
			}
		}
		got, _ := v.Totals(catalog.ReplicaName(replica))
		same(t, "totals of "+replica, got, totals)
		some, _, _ := v.Owed(catalog.ReplicaName(replica), nil, catalog.Cursor{}, 100)
		sameNames(t, "owed by "+replica, some, owed)
		if cluster, _ := v.Cluster(); cluster.Level < 2 {
			needed = nil
		}
		some, _ = v.Needed(catalog.ReplicaName(replica), nil, "", 100)
		sameNames(t, "needed by "+replica, some, needed)
	}
	slices.Sort(disputed)
	all, _ := v.Disputed("", 100)
	sameNames(t, "disputed", all, slices.Compact(disputed))
	for name, f := range k.m.files {
		if f.released {
			continue
		}
		kept[f.source] = append(kept[f.source], string(name))
		if f.removed || f.complete() {
			due[f.source] = append(due[f.source], string(name))
		}
	}
	for node := range k.m.members {
		some, _ := v.Sourced(id(node), "", 100)
		sameNames(t, "sourced by "+node, some, kept[node])
		some, _ = v.Releases(id(node), "", 100)
		var live []catalog.File
		for _, f := range some {
			if f.Removed == 0 || !f.Released && f.Source == id(node) {
				live = append(live, f)
			}
		}
		sameNames(t, "due at "+node, live, due[node])
	}
	if _, err := catalog.VerifyTrail(k); err != nil {
		t.Fatal(err)
	}
}

func same(t *rapid.T, what string, got, want any) {
	if got != want {
		t.Fatalf("%s: %+v, the model says %+v", what, got, want)
	}
}

func sameNames(t *rapid.T, what string, files []catalog.File, want []string) {
	var got []string
	for _, f := range files {
		got = append(got, string(f.Name))
	}
	slices.Sort(got)
	slices.Sort(want)
	same(t, what, fmt.Sprint(got), fmt.Sprint(want))
}

// TestModel plays random acts on the catalog and on a plain model, which must agree after each.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){"add": k.Add, "report": k.Report, "completion": k.Report, "release": k.Release,
			"find": k.Find, "judge": k.Judge, "remove": k.Remove, "assign": k.Assign, "switch": k.Switch, "restore": k.Restore, "expire": k.Expire, "lose the source": k.LoseSource,
			"take the source": k.TakeSource, "": k.Check})
	})
}
