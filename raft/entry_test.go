package raft

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// adding returns the text of a command of a node that adds to a counter, or with more keys writes that many.
func adding(t testing.TB, seq uint64, keys, pad int) []byte {
	t.Helper()
	kind := addKind
	if keys > 1 {
		kind = fillKind
	}
	body, err := json.Marshal(tinyAdd{Key: "x", N: keys, Pad: make([]byte, pad)})
	if err != nil {
		t.Fatal(err)
	}
	data, err := command(catalog.Command{Version: 1, Kind: kind, Node: "a", Boot: 1, Seq: seq, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// machineAt returns a state machine on an empty state.
func machineAt(t testing.TB, machine Machine) (*fsm, *state) {
	t.Helper()
	s, err := openState(t.TempDir(), disk.New(), 4, true, func(string) error { return nil }, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return &fsm{room: roomy(), state: s, machine: machine, fail: func(err error) { t.Error(err) }}, s
}

// TestEntriesOfSeveralCommands applies the same commands one to an entry, and many to one: the answers are the same. Entries
// that were applied before change nothing, and a command that comes twice in one entry counts once.
func TestEntriesOfSeveralCommands(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 11))
	var texts [][]byte
	for seq := uint64(1); seq <= 600; seq++ {
		texts = append(texts, adding(t, seq, 1, 0))
		if random.IntN(5) == 0 {
			texts = append(texts, texts[len(texts)-1])
		}
	}
	var want []string
	for _, most := range []int{1, 2, 40, groupCommands} {
		f, _ := machineAt(t, tiny{})
		var got []string
		var logs []*hraft.Log
		for rest, index := texts, uint64(1); len(rest) > 0; index++ {
			var e entry
			for n := 1 + random.IntN(most); n > 0 && len(rest) > 0; n-- {
				e.add(nil, rest[0])
				rest = rest[1:]
			}
			logs = append(logs, &hraft.Log{Index: index, Term: 1, Type: hraft.LogCommand, Data: e.encode()})
		}
		half := f.ApplyBatch(logs[:len(logs)/2])
		for _, response := range append(half, f.ApplyBatch(logs[len(logs)/2:])...) {
			switch r := response.(type) {
			case outcome:
				got = append(got, string(r.result.Value))
			case []outcome:
				for _, o := range r {
					got = append(got, string(o.result.Value))
				}
			}
		}
		for _, response := range f.ApplyBatch(logs[:len(logs)/2]) {
			if o, ok := response.(outcome); !ok || !errors.Is(o.err, errAgain) {
				t.Errorf("an entry that was applied before is answered %+v, as if it were known what became of it", response)
				break
			}
		}
		if want == nil {
			want = got
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || got[len(got)-1] != "600" {
			t.Errorf("%d commands to an entry: answers %v, one by one %v", most, got, want)
		}
	}
}

// TestAnEntryThatWritesMuch has commands left out once their entry has written as much as fits, the same ones in whatever
// batch the entry is applied, and at the next try they are carried out.
func TestAnEntryThatWritesMuch(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]func(seq uint64) []byte{
		"keys":  func(seq uint64) []byte { return adding(t, seq, 900, 0) },
		"bytes": func(seq uint64) []byte { return adding(t, seq, 100, 1800) },
	} {
		t.Run(name, func(t *testing.T) {
			var e entry
			for seq := range uint64(8) {
				e.add(nil, text(seq+1))
			}
			deferred := func(before int) (out []int) {
				f, s := machineAt(t, tiny{})
				var logs []*hraft.Log
				for i := range before {
					data := adding(t, uint64(100+i), 300, 0)
					logs = append(logs, &hraft.Log{Index: uint64(i + 1), Term: 1, Type: hraft.LogCommand, Data: data})
				}
				logs = append(logs, &hraft.Log{Index: uint64(before + 1), Term: 1, Type: hraft.LogCommand, Data: e.encode()})
				responses := f.ApplyBatch(logs)
				for i, o := range responses[before].([]outcome) {
					if errors.Is(o.err, errDeferred) {
						out = append(out, i)
					} else if o.err != nil {
						t.Fatal(o.err)
					}
				}
				if at := s.store().applied.Load(); at != uint64(before+1) {
					t.Errorf("the state stands at %d", at)
				}
				again := f.ApplyBatch([]*hraft.Log{{Index: uint64(before + 2), Term: 1, Type: hraft.LogCommand, Data: e.texts[7]}})
				if o := again[0].(outcome); o.err != nil || string(o.result.Value) != "0" {
					t.Errorf("the last command alone: %+v", o)
				}
				return out
			}
			first := deferred(0)
			if len(first) == 0 || len(first) == 8 || first[len(first)-1] != 7 {
				t.Errorf("of eight commands were left out: %v", first)
			}
			if other := deferred(9); fmt.Sprint(other) != fmt.Sprint(first) {
				t.Errorf("in another batch were left out %v, not %v", other, first)
			}
		})
	}
}

// TestNoCommandIsLeftOutForLong offers the leader commands that write more together than fits one entry: all are answered at
// the first try, and each comes to the log twice at most.
func TestNoCommandIsLeftOutForLong(t *testing.T) {
	t.Parallel()
	c := lone(t)
	n := c.open("a")
	if err := n.Bootstrap(t.Context(), founding('a')); err != nil {
		t.Fatal(err)
	}
	a := c.run(n)
	c.eventually("it leads", a.IsLeader)
	before, _ := entriesOf(t, a.Node)
	commands := make([]catalog.Command, 64)
	for i := range commands {
		body := asText(t, tinyAdd{Key: fmt.Sprint("k", i), N: 900})
		commands[i] = catalog.Command{Version: 1, Kind: fillKind, Node: "a", Boot: n.storage.boot, Seq: uint64(i + 1), Body: []byte(body)}
	}
	for i, answer := range a.intake.submit(commands) {
		if answer.err != nil || answer.result.Refusal != nil {
			t.Errorf("command %d: %+v", i, answer)
		}
	}
	all, groups := entriesOf(t, a.Node)
	if groups == 0 || all-before > len(commands)+8 {
		t.Errorf("%d entries, %d with several commands", all-before, groups)
	}
}

// low is a state machine of a level without entries of several commands.
type low struct{ tiny }

func (low) Grouped(catalog.Reader) (bool, error) { return false, nil }

// TestEntriesThatNoLeaderMakes are refused as a whole and change nothing.
func TestEntriesThatNoLeaderMakes(t *testing.T) {
	t.Parallel()
	var e entry
	e.add(nil, adding(t, 1, 1, 0))
	e.add(nil, adding(t, 2, 1, 0))
	whole := e.encode()
	many := bytes.Repeat([]byte{1, '{'}, groupCommands+1)
	for name, c := range map[string]struct {
		machine Machine
		data    []byte
	}{
		"cut off":           {tiny{}, whole[:len(whole)-1]},
		"a length too long": {tiny{}, []byte{entryGroup, 0xff, 0xff, 0xff, 0xff, 0x0f, '{'}},
		"too many":          {tiny{}, append([]byte{entryGroup}, many...)},
		"below the level":   {low{}, whole},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := machineAt(t, c.machine)
			out := f.ApplyBatch([]*hraft.Log{{Index: 5, Term: 1, Type: hraft.LogCommand, Data: c.data}})
			o, one := out[0].(outcome)
			if !one || o.err != nil || o.result.Refusal == nil || o.result.Refusal.Code != catalog.Invalid {
				t.Errorf("answer %+v", out[0])
			}
			err := s.view(func(r reader) error {
				n, err := tinyCount(r, "x")
				if n != 0 {
					t.Errorf("the counter stands at %d", n)
				}
				return err
			})
			if err != nil || s.store().applied.Load() != 5 {
				t.Errorf("the state stands at %d, %v", s.store().applied.Load(), err)
			}
		})
	}
}

// FuzzEntry reads anything as a log entry. What is read as several commands is written again as it stood.
func FuzzEntry(f *testing.F) {
	var e entry
	e.add(nil, []byte(`{"v":1}`))
	e.add(nil, []byte(`{"v":2}`))
	f.Add(e.encode())
	f.Add([]byte{entryGroup})
	f.Add([]byte{entryGroup, 0x80, 0x00})
	f.Fuzz(func(t *testing.T, data []byte) {
		if !isGroup(data) {
			return
		}
		commands, err := splitGroup(data)
		if err != nil || len(commands) < 2 {
			return
		}
		var e entry
		for _, c := range commands {
			e.add(nil, c)
		}
		again, err := splitGroup(e.encode())
		if err != nil || fmt.Sprint(again) != fmt.Sprint(commands) {
			t.Errorf("%x was read as %q and, written again, as %q, %v", data, commands, again, err)
		}
	})
}

// entriesOf counts the entries of the node's log, and those with several commands.
func entriesOf(t *testing.T, n *Node) (all, groups int) {
	t.Helper()
	first, err := n.storage.wal.FirstIndex()
	if err != nil {
		t.Fatal(err)
	}
	last, err := n.storage.wal.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	for i := max(first, 1); i <= last; i++ {
		var l hraft.Log
		if err := n.storage.wal.GetLog(i, &l); err != nil {
			t.Fatal(err)
		}
		if l.Type == hraft.LogCommand {
			all++
			if isGroup(l.Data) {
				groups++
			}
		}
	}
	return all, groups
}

// TestSeveralCommandsInAnEntryFromLevel3 adds files from many callers: each is answered, at level 2 one to an entry, from
// level 3 on several.
func TestSeveralCommandsInAnEntryFromLevel3(t *testing.T) {
	t.Parallel()
	c := lone(t)
	c.machine = theCatalog{}
	first := founding('a')
	var f catalog.Founding
	if err := json.Unmarshal(first.Body, &f); err != nil {
		t.Fatal(err)
	}
	f.Cluster.Level = 2
	first.Body = []byte(asText(t, f))
	n := c.open(benchID('a'))
	if err := n.Bootstrap(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	a := c.run(n)
	c.eventually("it leads", a.IsLeader)
	serial := int64(0)
	crowd := func() {
		var all sync.WaitGroup
		for range 200 {
			serial++
			i := serial
			all.Go(func() {
				if err := addFile(a.Node, i); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	crowd()
	all, groups := entriesOf(t, a.Node)
	if groups != 0 || all < 200 {
		t.Errorf("at level 2: %d of %d entries with several commands", groups, all)
	}
	result, err := a.Propose(t.Context(), catalog.RaiseLevel, catalog.LevelChange{Level: 3}, "test")
	if err != nil || result.Refusal != nil {
		t.Fatal(err, result.Refusal)
	}
	crowd()
	after, groups := entriesOf(t, a.Node)
	if groups == 0 || after-all >= 200 {
		t.Errorf("at level 3: %d more entries, %d with several commands", after-all, groups)
	}
	files := 0
	err = a.View(func(v catalog.View) error {
		all, err := v.Files("", "", 1000)
		files = len(all)
		return err
	})
	if err != nil || files != 400 {
		t.Errorf("%d of 400 files, %v", files, err)
	}
}

func asText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
