package catalog_test

import (
	"fmt"
	"slices"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/batches"
)

// batchTown has people, and knows batches.
func batchTown(t *testing.T) *town {
	t.Helper()
	c := newTown(t)
	c.raiseTo(t, batches.Level)
	return c
}

func (c *town) batch(id string) batches.Batch {
	c.t.Helper()
	b, err := catalog.BatchesIn(c.view()).Batch(id)
	if err != nil {
		c.t.Fatalf("batch %s: %v", id, err)
	}
	return b
}

func asked(name string) batches.Beginning {
	return batches.Beginning{ID: name, Program: "files", Node: id("north-1")}
}

func TestBatchesNeedLevelFive(t *testing.T) {
	c := newTown(t)
	c.raiseTo(t, 4)
	for _, kind := range []catalog.Kind{batches.Open, batches.AddNames, batches.Wish, batches.Claim, batches.Release, batches.End} {
		c.refused(catalog.Unsupported, local, kind, map[string]any{})
	}
}

func TestWhatABatchIsAskedFor(t *testing.T) {
	c := batchTown(t)
	for name, change := range map[string]func(*batches.Beginning){
		"no id":                func(b *batches.Beginning) { b.ID = "" },
		"no program":           func(b *batches.Beginning) { b.Program = "" },
		"a program with a gap": func(b *batches.Beginning) { b.Program = "a b" },
		"a bad expression":     func(b *batches.Beginning) { b.Selection.Files = "(" },
		"two halves":           func(b *batches.Beginning) { b.Selection.Files = "a)|(?:b" },
		"a long list":          func(b *batches.Beginning) { b.Selection.Names = batches.MostNames + 1 },
		"less than nothing":    func(b *batches.Beginning) { b.Limits.Time = -1 },
	} {
		b := asked("x")
		change(&b)
		if r := c.as(local, batches.Open, b); r == nil || r.Code != catalog.Invalid {
			t.Errorf("%s: %v", name, r)
		}
	}
	for name, change := range map[string]func(*batches.Beginning){
		"a collection": func(b *batches.Beginning) {
			b.Selection.Collections = []catalog.CollectionName{"web", "nosuch"}
		},
		"a replica": func(b *batches.Beginning) { b.Selection.Replica = "nosuch" },
		"a node":    func(b *batches.Beginning) { b.Node = "nosuch" },
	} {
		b := asked("x")
		change(&b)
		if r := c.as(local, batches.Open, b); r == nil || r.Code != catalog.NotFound && r.Code != catalog.Denied {
			t.Errorf("%s that is not there: %v", name, r)
		}
	}
	c.does(local, batches.Open, asked("x"))
	c.does(local, batches.Open, asked("x")) // the same again
	other := asked("x")
	other.Program = "checksum"
	c.refused(catalog.Conflict, local, batches.Open, other)
	if b := c.batch("x"); b.State != batches.Running || b.Node != id("north-1") || b.Term != 1 || b.Begun == 0 {
		t.Errorf("%+v", b)
	}
}

// A list of names comes in parts; the batch runs when all are there.
func TestAListOfTenThousandNames(t *testing.T) {
	c := batchTown(t)
	b := asked("list")
	b.Selection.Names = 10_000
	c.does(local, batches.Open, b)
	var all []catalog.FileName
	for i := range b.Selection.Names {
		all = append(all, catalog.FileName(fmt.Sprintf("file-%05d.warc.gz", i)))
	}
	parts := slices.Collect(slices.Chunk(all, batches.PartNames))
	c.refused(catalog.Conflict, local, batches.AddNames, batches.Naming{ID: "list", Part: 2, Names: parts[1]})
	c.refused(catalog.Invalid, local, batches.AddNames, batches.Naming{ID: "list", Part: 1, Names: []catalog.FileName{"b", "a"}})
	c.refused(catalog.Invalid, local, batches.AddNames, batches.Naming{ID: "list", Part: 1, Names: []catalog.FileName{"a/b"}})
	c.refused(catalog.Conflict, local, batches.Wish, batches.Wishing{ID: "list", Wish: "pause"})
	for i, part := range parts {
		if one := c.batch("list"); one.State != batches.Opening {
			t.Fatalf("after %d parts it is %s", i, one.State)
		}
		c.does(local, batches.AddNames, batches.Naming{ID: "list", Part: i + 1, Names: part})
	}
	c.does(local, batches.AddNames, batches.Naming{ID: "list", Part: 10, Names: parts[9]}) // once more
	c.refused(catalog.Conflict, local, batches.AddNames, batches.Naming{ID: "list", Part: 11, Names: []catalog.FileName{"z"}})
	one := c.batch("list")
	got, err := catalog.BatchesIn(c.view()).Names(&one)
	if err != nil || one.State != batches.Running || !slices.Equal(got, all) {
		t.Errorf("%s with %d names: %v", one.State, len(got), err)
	}
}

// Exactly one node drives a batch. Its word counts only while it does.
func TestWhoDrivesABatch(t *testing.T) {
	c := batchTown(t)
	c.does(local, batches.Open, asked("x"))
	north, south := batches.Holder{ID: "x", Node: id("north-1"), Term: 1}, batches.Holder{ID: "x", Node: id("south-1"), Term: 1}
	ending := func(node string, term uint64, state batches.State, s batches.Summary) *catalog.Refusal {
		return c.by(node, batches.End, batches.Ending{ID: "x", Node: id(node), Term: term, State: state, Summary: s}).Refusal
	}
	code := func(r *catalog.Refusal) catalog.Code {
		if r == nil {
			return ""
		}
		return r.Code
	}
	if r := c.by("south-1", batches.Claim, south).Refusal; code(r) != catalog.Conflict {
		t.Errorf("it is claimed while a node drives it: %v", r)
	}
	if r := c.by("south-1", batches.Release, south).Refusal; code(r) != catalog.Conflict {
		t.Errorf("another node's: %v", r)
	}
	if r := c.by("south-1", batches.Release, north).Refusal; r != nil {
		t.Fatal(r)
	}
	if r := c.by("south-1", batches.Claim, batches.Holder{ID: "x", Node: id("north-1"), Term: 1}).Refusal; code(r) != catalog.Denied {
		t.Errorf("claimed for another node: %v", r)
	}
	for range 2 {
		if r := c.by("south-1", batches.Claim, south).Refusal; r != nil {
			t.Fatal(r)
		}
	}
	if r := c.by("north-1", batches.Claim, north).Refusal; code(r) != catalog.Conflict {
		t.Errorf("claimed twice: %v", r)
	}
	whole := batches.Summary{Selected: 2, Files: 2}
	if r := ending("north-1", 1, batches.Done, whole); code(r) != catalog.Conflict {
		t.Errorf("the former driver ends it: %v", r)
	}
	for name, s := range map[string]batches.Summary{"nothing was selected": {}, "one is missing": {Selected: 2, Files: 1},
		"one failed": {Selected: 2, Files: 2, Failed: 1}, "more than there are": {Selected: 2, Files: 3}} {
		if r := ending("south-1", 2, batches.Done, s); code(r) != catalog.Conflict {
			t.Errorf("done, though %s: %v", name, r)
		}
	}
	for name, state := range map[string]batches.State{"stopped": batches.Stopped, "nothing": "", "opening": batches.Opening} {
		if r := ending("south-1", 2, state, whole); code(r) != catalog.Invalid {
			t.Errorf("it ends as %s: %v", name, r)
		}
	}
	c.does(local, batches.Wish, batches.Wishing{ID: "x", Wish: "pause"})
	if r := ending("south-1", 2, batches.Done, whole); code(r) != catalog.Conflict {
		t.Errorf("it is done while it is paused: %v", r)
	}
	c.does(local, batches.Wish, batches.Wishing{ID: "x", Wish: "run"})
	for range 2 {
		if r := ending("south-1", 2, batches.Done, whole); r != nil {
			t.Fatal(r)
		}
	}
	c.refused(catalog.Conflict, local, batches.Wish, batches.Wishing{ID: "x", Wish: "stop"})
	if r := ending("south-1", 2, batches.Stopped, whole); code(r) != catalog.Conflict && code(r) != catalog.Invalid {
		t.Errorf("the summary of a batch that was not stopped: %v", r)
	}
	if b := c.batch("x"); b.State != batches.Done || b.Summary.Files != 2 || b.Ended == 0 {
		t.Errorf("%+v", b)
	}
}

// Of a batch that was stopped, its driver says once what was processed until then; its state and end stay.
func TestTheSummaryOfAStoppedBatch(t *testing.T) {
	c := batchTown(t)
	c.does(local, batches.Open, asked("x"))
	sum := func(node string, files int64) *catalog.Refusal {
		return c.by(node, batches.End, batches.Ending{ID: "x", Node: id(node), Term: 1, State: batches.Stopped,
			Summary: batches.Summary{Selected: 9, Files: files}}).Refusal
	}
	if r := sum("north-1", 3); r == nil || r.Code != catalog.Invalid {
		t.Errorf("while it runs: %v", r)
	}
	c.does(local, batches.Wish, batches.Wishing{ID: "x", Wish: "stop", Reason: "enough"})
	stopped := c.batch("x")
	if r := sum("south-1", 3); r == nil || r.Code != catalog.Conflict {
		t.Errorf("by another node: %v", r)
	}
	for _, files := range []int64{3, 5} {
		if r := sum("north-1", files); r != nil {
			t.Fatal(r)
		}
	}
	if b := c.batch("x"); b.Summary == nil || b.Summary.Files != 3 || b.Summary.Selected != 9 || b.State != batches.Stopped ||
		b.Ended != stopped.Ended || b.Reason != "enough" {
		t.Errorf("%+v", b)
	}
}

// The time that a batch may run is without its pauses.
func TestPausesDoNotCount(t *testing.T) {
	c := batchTown(t)
	c.does(local, batches.Open, asked("x"))
	begun := c.batch("x").Begun
	wish := func(at catalog.Time, wish string) {
		c.now = begun + at
		c.does(local, batches.Wish, batches.Wishing{ID: "x", Wish: wish})
	}
	wish(1000, "pause")
	paused := c.batch("x")
	wish(9000, "run")
	on := c.batch("x")
	wish(9500, "pause")
	wish(9900, "stop")
	end := c.batch("x")
	first, rest := paused.Since-begun, end.Ended-on.Begun-on.PausedFor
	if paused.Passed(begun+8000) != first || on.Passed(begun+9400) > first+1000 || on.PausedFor < 7000 ||
		end.Passed(begun+1e6) >= rest || end.State != batches.Stopped {
		t.Errorf("paused %+v\non %+v\nend %+v", paused, on, end)
	}
}

// A curator of one collection runs batches over that one alone, and none over a new collection of the same name.
func TestWhoRunsABatch(t *testing.T) {
	c := batchTown(t)
	c.person("berta", curatorWeb)
	c.person("rita", catalog.Giving{Role: catalog.RoleReader})
	vouch := func(actor string, kind catalog.Kind, body any) bool {
		cmd := catalog.Command{Kind: kind, Actor: actor, Node: id("south-1"), Body: raw(t, body)}
		return c.people().Vouch(id("south-1"), &cmd, catalog.RoleAdmin, c.now) == nil
	}
	over := func(names ...catalog.CollectionName) batches.Beginning {
		b := asked("x")
		b.Selection.Collections = names
		return b
	}
	for name, tt := range map[string]struct {
		actor string
		body  batches.Beginning
		may   bool
	}{
		"her collection":    {"person:berta", over("web"), true},
		"another":           {"person:berta", over("radio"), false},
		"both":              {"person:berta", over("web", "radio"), false},
		"all":               {"person:berta", over(), false},
		"a nameless one":    {"person:berta", over(""), false},
		"a reader":          {"person:rita", over("web"), false},
		"the local token's": {catalog.Local(id("south-1")), over(), true},
		"a node by itself":  {string(id("south-1")), over("web"), false},
	} {
		if got := vouch(tt.actor, batches.Open, tt.body); got != tt.may {
			t.Errorf("%s: %t", name, got)
		}
	}
	c.does("person:berta", batches.Open, over("web"))
	all := asked("all")
	c.does(local, batches.Open, all)
	stop := func(name string) bool {
		return vouch("person:berta", batches.Wish, batches.Wishing{ID: name, Wish: "stop"})
	}
	if !stop("x") || stop("all") || vouch("person:rita", batches.Wish, batches.Wishing{ID: "x", Wish: "stop"}) {
		t.Error("who stops whose batch")
	}
	if vouch("person:berta", batches.Claim, batches.Holder{ID: "x"}) || vouch("person:berta", batches.End, batches.Ending{ID: "x"}) {
		t.Error("a person does what nodes do")
	}
	one := c.batch("x")
	c.does(local, catalog.RemoveCollection, catalog.CollectionRemoval{Collection: "web"})
	reach, err := catalog.BatchesIn(c.view()).Reach(&one)
	if err != nil || !slices.Equal(reach, []catalog.CollectionName{""}) || stop("x") {
		t.Errorf("of a collection that is gone: %q %v", reach, err)
	}
}

// Which files a batch processes.
func TestSelection(t *testing.T) {
	b := batches.Batch{Begun: 100}
	file := catalog.File{Name: "7-1-a.warc.gz", Added: 50, Collection: "web", Job: 7,
		Copies: []catalog.Copy{{Replica: "one"}, {Replica: "old", Surplus: true}}}
	for name, tt := range map[string]struct {
		of   batches.Selection
		file func(*catalog.File)
		in   bool
	}{
		"any":                  {in: true},
		"its name":             {of: batches.Selection{Files: `7-.*\.warc\.gz`}, in: true},
		"part of its name":     {of: batches.Selection{Files: `warc`}},
		"either":               {of: batches.Selection{Files: `x|7-1-a.warc.gz`}, in: true},
		"either, at the end":   {of: batches.Selection{Files: `gz|x`}},
		"its collection":       {of: batches.Selection{Collections: []catalog.CollectionName{"a", "web"}}, in: true},
		"another":              {of: batches.Selection{Collections: []catalog.CollectionName{"radio"}}},
		"its job":              {of: batches.Selection{Job: 7}, in: true},
		"another job":          {of: batches.Selection{Job: 8}},
		"its replica":          {of: batches.Selection{Replica: "one"}, in: true},
		"a former replica":     {of: batches.Selection{Replica: "old"}},
		"no replica of it":     {of: batches.Selection{Replica: "two"}},
		"one that came later":  {file: func(f *catalog.File) { f.Added = 101 }},
		"one that went before": {file: func(f *catalog.File) { f.Removed = 100 }},
		"one that went later":  {file: func(f *catalog.File) { f.Removed = 101 }, in: true},
		"one that was lost":    {file: func(f *catalog.File) { f.Lost = 60 }, in: true},
	} {
		b, f := b, file
		if b.Selection = tt.of; tt.file != nil {
			tt.file(&f)
		}
		x, err := batches.NewSelector(&b)
		if err != nil || x.Selects(&f) != tt.in {
			t.Errorf("%s: %t %v", name, x.Selects(&f), err)
		}
	}
	b.Selection.Files = `7-metadata-\d+\.warc`
	if x, err := batches.NewSelector(&b); err != nil || x.Prefix() != "7-metadata-" {
		t.Errorf("prefix %q %v", x.Prefix(), err)
	}
}

// Batches that ended long ago, and lists that never came, make room.
func TestBatchesAreNotKeptForEver(t *testing.T) {
	c := batchTown(t)
	c.does(local, batches.Open, asked("old"))
	c.does(local, batches.Wish, batches.Wishing{ID: "old", Wish: "stop"})
	list := asked("list")
	list.Selection.Names = 2
	c.does(local, batches.Open, list)
	c.does(local, batches.AddNames, batches.Naming{ID: "list", Part: 1, Names: []catalog.FileName{"a"}})
	c.does(local, batches.Open, asked("runs"))
	c.now += batches.KeptFor + 2*60*60*1000
	c.does(local, batches.Open, asked("new"))
	all, err := catalog.BatchesIn(c.view()).Batches()
	var names []string
	for _, b := range all {
		names = append(names, b.ID)
	}
	if err != nil || !slices.Equal(names, []string{"new", "runs"}) {
		t.Errorf("%q %v", names, err)
	}
}
