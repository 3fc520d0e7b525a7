package agree_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"holdfast/catalog/agree"
	"holdfast/internal/kv/memory"
)

// The commands of a subject that the engine was not made for: counters.
const (
	begin agree.Kind = "begin"
	count agree.Kind = "count"
	spoil agree.Kind = "spoil"
)

type counter struct {
	Name string `json:"name"`
	By   int    `json:"by,omitempty"`
	Loud bool   `json:"loud,omitempty"` // since level 2
}

// total is answered as it is by the time that somebody asks again.
type total struct{ N int }

func (t *total) RecallNumber() uint64 { return 7 }

func readTotal(r agree.Reader) (*total, error) {
	n, _, err := agree.Get[int](r, "total")
	return &total{n}, err
}

// counters is a table of one subject. Nodes whose ids begin with m are members.
var counters = agree.NewTable(agree.Subjects{
	Rules: [][]agree.Rule{agree.Rules, {
		{Kind: begin, Level: 1, Founds: true, Do: agree.With(func(s *agree.State, c *agree.Cluster) (any, error) {
			return nil, s.SetCluster(*c)
		})},
		{Kind: count, Level: 1, Do: agree.Widened[struct {
			Name string `json:"name"`
			By   int    `json:"by,omitempty"`
		}](2, agree.With(add))},
		{Kind: spoil, Level: 2, Do: agree.With(func(s *agree.State, c *counter) (any, error) {
			s.Mark("spoilt/" + c.Name)
			return nil, agree.Refuse(agree.Unsafe, "no")
		})},
	}},
	IsMember: func(_ agree.Reader, node agree.NodeID) (bool, error) { return node != "" && node[0] == 'm', nil },
	Recall:   func(r agree.Reader, _ uint64) (any, error) { return readTotal(r) },
})

func add(s *agree.State, c *counter) (any, error) {
	t, err := readTotal(s)
	if err != nil {
		return nil, err
	}
	t.N += c.By
	if err := s.Set("total", t.N); err != nil {
		return nil, err
	}
	return t, s.Event(count, c.Name, "by=%d", c.By)
}

// machine is a state to which commands are applied.
type machine struct {
	memory.Tx
	index uint64
}

func (m *machine) do(t *testing.T, c agree.Command, body string) agree.Result {
	t.Helper()
	m.index++
	c.Version, c.Body = 1, json.RawMessage(body)
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	res, err := counters.Apply(&m.Tx, m.index, data)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := new(machine)
	if r := m.do(t, agree.Command{Kind: count}, `{"name":"a"}`); r.Refusal == nil || r.Refusal.Code != agree.NotFound {
		t.Fatalf("before the beginning: %+v", r)
	}
	if r := m.do(t, agree.Command{Kind: begin, At: 1000, Node: "stranger"}, `{"id":"c","level":1}`); r.Refusal != nil {
		t.Fatal(r.Refusal)
	}
	return m
}

func (m *machine) total(t *testing.T) int {
	t.Helper()
	n, err := readTotal(&m.Tx)
	if err != nil {
		t.Fatal(err)
	}
	return n.N
}

// TestRetryIsAppliedOnce repeats requests: each is carried out once, and a value that changes later is answered as it is by
// then.
func TestRetryIsAppliedOnce(t *testing.T) {
	m := newMachine(t)
	ask := func(seq uint64) agree.Result {
		return m.do(t, agree.Command{Kind: count, Node: "m", Boot: 1, Seq: seq}, `{"name":"a","by":2}`)
	}
	first := ask(1)
	ask(2)
	again := ask(1)
	if string(first.Value) != `{"N":2}` || string(again.Value) != `{"N":4}` || m.total(t) != 4 {
		t.Errorf("answered %s, then %s; counted %d", first.Value, again.Value, m.total(t))
	}
	ask(agree.WindowSize + 2)
	if r := ask(2); r.Refusal == nil || r.Refusal.Code != agree.OutcomeUnknown {
		t.Errorf("below the window: %+v", r)
	}
	if r := m.do(t, agree.Command{Kind: count, Node: "x"}, `{}`); r.Refusal == nil || r.Refusal.Code != agree.Denied {
		t.Errorf("no member: %+v", r)
	}
}

// TestRefusedChangesNothing has a command stage a change and then be refused, and one that its cluster's level does not have.
func TestRefusedChangesNothing(t *testing.T) {
	m := newMachine(t)
	for level, want := range map[int]agree.Code{1: agree.Unsupported, 2: agree.Unsafe} {
		m.do(t, agree.Command{Kind: begin}, fmt.Sprintf(`{"id":"c","level":%d}`, level))
		if r := m.do(t, agree.Command{Kind: spoil}, `{"name":"a"}`); r.Refusal == nil || r.Refusal.Code != want {
			t.Errorf("at level %d: %+v", level, r)
		}
		if there, err := agree.HasAny(&m.Tx, "spoilt/"); err != nil || there {
			t.Errorf("at level %d a refused command has changed the state", level)
		}
	}
}

// TestWidenedBody sends a field that came with level 2.
func TestWidenedBody(t *testing.T) {
	m := newMachine(t)
	loud := `{"name":"a","by":1,"loud":true}`
	r := m.do(t, agree.Command{Kind: count}, loud)
	if r.Refusal == nil || r.Refusal.Message != `body: json: unknown field "loud"` {
		t.Errorf("at level 1: %+v", r)
	}
	m.do(t, agree.Command{Kind: begin}, `{"id":"c","level":2}`)
	if r := m.do(t, agree.Command{Kind: count}, loud); r.Refusal != nil || m.total(t) != 1 {
		t.Errorf("at level 2: %+v, counted %d", r, m.total(t))
	}
}

// TestTrailAndClock looks at what is kept around the commands.
func TestTrailAndClock(t *testing.T) {
	m := newMachine(t)
	for _, at := range []agree.Time{5000, 4000, 6000} { // the clock does not run back
		m.do(t, agree.Command{Kind: count, At: at, Actor: "ann"}, `{"name":"a","by":1}`)
	}
	view := agree.View{Reader: &m.Tx}
	events, err := view.Trail(0, 0)
	if err != nil || len(events) != 3 || events[1].At != 5000 || events[2].Actor != "ann" {
		t.Fatalf("the trail: %+v, %v", events, err)
	}
	if err := agree.VerifyEvents(events, agree.Digest{}); err != nil {
		t.Error(err)
	}
	events[1].Detail = "by=9"
	if err := agree.VerifyEvents(events, agree.Digest{}); !errors.Is(err, agree.ErrTrail) {
		t.Errorf("a changed event: %v", err)
	}
	if clock, err := view.Clock(); err != nil || clock != 6000 {
		t.Errorf("the clock is %d, %v", clock, err)
	}
}

// TestTwoRulesForAKind is a mistake of the program that shows as soon as it starts.
func TestTwoRulesForAKind(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a table with two rules for a kind was made")
		}
	}()
	agree.NewTable(agree.Subjects{Rules: [][]agree.Rule{agree.Rules, agree.Rules}})
}
