package gossip

import (
	"encoding/binary"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/memberlist"
)

func TestFactsSurviveEncoding(t *testing.T) {
	tests := []struct {
		name string
		in   Facts
	}{
		{"empty", Facts{ID: "x"}},
		{"full", Facts{ID: "x", Standing: Standing{Log: 1 << 62, Boot: 2, Term: 3, LastTerm: 4, LastIndex: 5},
			Name: "n", Replica: "r", Place: "Århus", Addresses: []string{"a:1", "b:2"},
			Roles: []string{"crawl", "vote"}, Free: math.MaxUint64, Total: 1, Load: 0.5, Version: "v", Raft: "y", Jobs: 9,
			Lacking: Lacking{Shards: 4096, Next: []uint16{0, 4095}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data, err := tt.in.encode()
			if err != nil {
				t.Fatal(err)
			}
			got, err := decodeFacts(tt.in.ID, append(data, "from a later version"...))
			if err != nil || !reflect.DeepEqual(got, tt.in) {
				t.Errorf("got %+v, %v", got, err)
			}
			if !same(got, tt.in) {
				t.Error("same says they differ")
			}
			earlier := len(data) - len(Lacking{Shards: tt.in.Lacking.Shards, Next: tt.in.Lacking.Next}.append(nil))
			before := earlier // the facts of earlier versions end before what is lacking, and before the standing
			for _, n := range tt.in.Standing.numbers() {
				earlier -= len(binary.AppendUvarint(nil, *n))
			}
			for n := range data {
				if n == earlier || n == before {
					continue
				}
				if _, err := decodeFacts("x", data[:n]); err == nil {
					t.Errorf("%d of %d bytes were accepted", n, len(data))
				}
			}
		})
	}
}

func TestChanges(t *testing.T) {
	node := func(s State, name string) Node { return Node{Facts: Facts{ID: "x", Name: name}, State: s} }
	tests := []struct {
		name        string
		before, now Node
		want        string
	}{
		{"new", node(Left, ""), node(Alive, "n"), "joined"},
		{"new and suspected", node(Left, ""), node(Suspected, "n"), "joined suspected"},
		{"new and dead", node(Left, ""), node(Failed, "n"), ""},
		{"nothing", node(Alive, "n"), node(Alive, "n"), ""},
		{"suspected", node(Alive, "n"), node(Suspected, "n"), "suspected"},
		{"still suspected", node(Suspected, "n"), node(Suspected, "n"), ""},
		{"recovered", node(Suspected, "n"), node(Alive, "m"), "updated recovered"},
		{"failed", node(Suspected, "n"), node(Failed, "n"), "failed"},
		{"left", node(Alive, "n"), node(Left, "n"), "left"},
		{"failed, then left", node(Failed, "n"), node(Left, "n"), ""},
		{"back", node(Failed, "n"), node(Alive, "n"), "joined"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, e := range changes(tt.before, tt.now) {
				got = append(got, string(e.Kind))
			}
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}

func TestUpdateForgetsWhoIsForgotten(t *testing.T) {
	g, err := New(Config{}, Facts{ID: "a"}, port{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	meta, err := Facts{Name: "bee"}.encode()
	if err != nil {
		t.Fatal(err)
	}
	events := g.update([]nodeState{{Name: "a"}, {Name: "b", Meta: meta}, {Name: "c", Meta: []byte("rubbish")}})
	if len(events) != 2 || events[0].Facts.Name != "bee" || events[1].Facts.ID != "c" {
		t.Errorf("events %+v", events)
	}
	events = g.update([]nodeState{{Name: "a"}, {Name: "c", State: memberlist.StateDead}})
	if len(events) != 2 || events[0].Kind != NodeFailed || events[1].Kind != NodeFailed {
		t.Errorf("events %+v", events)
	}
	if got := len(g.Nodes()); got != 2 {
		t.Errorf("%d nodes are known", got)
	}
}

func FuzzFacts(f *testing.F) {
	seed, err := Facts{Name: "n", Addresses: []string{"a"}, Roles: []string{"b"}, Free: 300}.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		facts, err := decodeFacts("x", data)
		if err != nil {
			return
		}
		again, err := facts.encode()
		if err != nil {
			return // a later version may say more than we can
		}
		back, err := decodeFacts("x", again)
		if err != nil || !same(back, facts) {
			t.Errorf("%+v became %+v, %v", facts, back, err)
		}
	})
}

// TestFactsWithoutRoomForShards names as many shards as fit, or none: the facts themselves are never refused for them.
func TestFactsWithoutRoomForShards(t *testing.T) {
	f := Facts{ID: "x", Lacking: Lacking{Shards: 100, Next: make([]uint16, 100)}}
	for name, want := range map[string]int{"n": MaxLacking, strings.Repeat("n", 440): 0} {
		f.Name = name
		data, err := f.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeFacts("x", data)
		if err != nil || got.Lacking.Shards != 100 || len(got.Lacking.Next) != want {
			t.Errorf("%d bytes of name: %+v, %v", len(name), got.Lacking, err)
		}
	}
}
