package soundness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/internal/kv/memory"
)

// pin is a state that counts who holds it.
type pin struct {
	*memory.Tx
	open *atomic.Int64
}

func (p pin) View(see func(catalog.View) error) error { return see(catalog.NewView(p.Tx)) }
func (p pin) Close()                                  { p.open.Add(-1) }

// world is a cluster of nodes that check their catalogs.
type world struct {
	nodes map[catalog.NodeID]*Checks
	dead  map[catalog.NodeID]bool
	open  atomic.Int64
}

func (w *world) Call(ctx context.Context, to catalog.NodeID, kind string, request []byte) ([]byte, error) {
	if w.dead[to] {
		return nil, errors.New("no route to it")
	}
	var r Request
	_ = json.Unmarshal(request, &r)
	var out any
	var err error
	switch c := w.nodes[to]; kind {
	case PinCall:
		out, err = c.Pin(ctx, "", struct{}{})
	case CheckCall:
		out, err = c.Begin(ctx, "", r)
	default:
		out, err = c.State(ctx, "", struct{}{})
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// stateOf is a small catalog with the members a, b and c.
func stateOf(t *testing.T) *memory.Tx {
	t.Helper()
	var tx memory.Tx
	index := uint64(0)
	apply := func(kind catalog.Kind, body any) {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		command, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, At: 1, Actor: "x", Body: text})
		if err != nil {
			t.Fatal(err)
		}
		index++
		if r, err := catalog.Apply(&tx, index, command); err != nil || r.Refusal != nil {
			t.Fatal(err, r.Refusal)
		}
	}
	key := []byte(strings.Repeat("k", 32))
	apply(catalog.Found, catalog.Founding{Cluster: catalog.Cluster{ID: "c", Name: "Test", Epoch: 1, Level: catalog.Level},
		Replicas:    []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive, Place: "n"}},
		Collections: []catalog.Collection{{Name: "web"}},
		Member:      catalog.Member{ID: catalog.Fingerprint(key), Name: "a", Key: key, Replica: "north", Level: catalog.Level}})
	return &tx
}

// newWorld has three nodes; change changes the state of each.
func newWorld(t *testing.T, indexes map[catalog.NodeID][]uint64, change func(catalog.NodeID, *memory.Tx)) *world {
	w := &world{nodes: map[catalog.NodeID]*Checks{}, dead: map[catalog.NodeID]bool{}}
	members := []catalog.Member{{ID: "a", Name: "a"}, {ID: "b", Name: "b"}, {ID: "c", Name: "c"}}
	for _, m := range members {
		tx := stateOf(t)
		if change != nil {
			change(m.ID, tx)
		}
		w.nodes[m.ID] = New(Config{Self: m.ID, Ask: w, Log: slog.New(slog.DiscardHandler),
			Linear: func(context.Context) error { return nil },
			View: func(see func(catalog.View) error) error {
				var list memory.Tx
				for _, m := range members {
					text, _ := json.Marshal(m)
					if err := list.Set([]byte("member/"+string(m.ID)), append([]byte{1}, text...)); err != nil {
						return err
					}
				}
				return see(catalog.NewView(&list))
			},
			Pin: func(context.Context, time.Duration, int) (map[uint64]Pinned, error) {
				out := map[uint64]Pinned{}
				for _, index := range indexes[m.ID] {
					w.open.Add(1)
					out[index] = pin{tx, &w.open}
				}
				return out, nil
			}})
	}
	return w
}

// checked runs a check over all nodes and returns what is wrong.
func (w *world) checked(t *testing.T) (api.CatalogCheck, []string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	for _, c := range w.nodes {
		go c.Run(ctx)
	}
	begun, err := Nodes{w.nodes["a"]}.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	now, err := Nodes{w.nodes["a"]}.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	is := begun.Follow(now)
	time.Sleep(2 * pinned)
	stop()
	synctest.Wait()
	if n := w.open.Load(); n != 0 {
		t.Errorf("%d states are still held", n)
	}
	return is, is.Problem()
}

// A check is a success only if every node has checked the same index, found nothing, and has the same catalog.
func TestEveryNodeChecksItsOwnCatalog(t *testing.T) {
	all := func(indexes ...uint64) map[catalog.NodeID][]uint64 {
		return map[catalog.NodeID][]uint64{"a": indexes, "b": indexes, "c": indexes}
	}
	of := func(who catalog.NodeID, key, value string) func(catalog.NodeID, *memory.Tx) {
		return func(node catalog.NodeID, tx *memory.Tx) {
			if node == who {
				_ = tx.Set([]byte(key), []byte(value))
			}
		}
	}
	for name, try := range map[string]struct {
		indexes map[catalog.NodeID][]uint64
		change  func(catalog.NodeID, *memory.Tx)
		dead    catalog.NodeID
		index   uint64
		want    string
	}{
		"all alike":     {indexes: all(5, 7), index: 7},
		"one in common": {indexes: map[catalog.NodeID][]uint64{"a": {5, 9}, "b": {3, 5, 8}, "c": {5, 7}}, index: 5},
		"one is behind": {indexes: map[catalog.NodeID][]uint64{"a": {7}, "b": {7}, "c": {4}}, index: 7, want: "c: not checked: unreachable (it has not kept its state of index 7)"},
		"one is dead":   {indexes: all(7), dead: "b", index: 7, want: "b: not checked: unreachable"},
		"one differs":   {indexes: all(7), change: of("c", "once/x", "\x01{}"), index: 7, want: "the nodes have different catalogs: a "},
		"one is wrong":  {indexes: all(7), change: of("b", "owed/north/000/nosuch", "\x01"), index: 7, want: "b: owed/north/000/nosuch: is there, but no entry"},
		"all are wrong alike": {indexes: all(7), change: func(_ catalog.NodeID, tx *memory.Tx) {
			_ = tx.Set([]byte("totals/north"), []byte("\x01{\"files\":3}"))
		}, index: 7, want: "a: totals/north: says"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, try.indexes, try.change)
				w.dead[try.dead] = true
				is, problems := w.checked(t)
				text := strings.Join(problems, "\n")
				if is.Index != try.index || len(is.Nodes) != 3 || (try.want == "") != (text == "") || !strings.Contains(text, try.want) {
					t.Errorf("index %d, %d nodes:\n%s", is.Index, len(is.Nodes), text)
				}
			})
		})
	}
}

// What a node says of another check than the one that was begun is no answer, and what is still at work is no success.
func TestAnEarlierCheckIsNoAnswer(t *testing.T) {
	begun := api.CatalogCheck{Index: 7, Nodes: []api.NodeCheck{{Node: "a", Name: "a", State: Running, Index: 7, Began: time.Unix(9, 0)}}}
	for what, now := range map[string][]api.NodeCheck{
		"of another index": {{Node: "a", Name: "a", State: Done, Index: 6, Began: time.Unix(9, 0), Digest: "x"}},
		"of before":        {{Node: "a", Name: "a", State: Done, Index: 7, Began: time.Unix(8, 0), Digest: "x"}},
		"started again":    {{Node: "a", Name: "a", State: Idle}}, "gone": {},
		"at work": {{Node: "a", Name: "a", State: Running, Index: 7, Began: time.Unix(9, 0)}},
		"stopped": {{Node: "a", Name: "a", State: Stopped, Index: 7, Began: time.Unix(9, 0)}},
	} {
		is := begun.Follow(api.CatalogCheck{Nodes: now})
		if problems := is.Problem(); len(problems) == 0 {
			t.Errorf("%s: a success", what)
		}
	}
	done := begun.Follow(api.CatalogCheck{Nodes: []api.NodeCheck{{Node: "a", Name: "a", State: Done, Index: 7, Began: time.Unix(9, 0), Digest: "x"}}})
	if problems := done.Problem(); len(problems) > 0 {
		t.Errorf("%q", problems)
	}
	if none := (&api.CatalogCheck{}).Problem(); !slices.Contains(none, "there is no node") {
		t.Error(fmt.Sprint(none))
	}
}
