package agree

import (
	"encoding/json"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Rule says how the commands of one kind are carried out.
type Rule struct {
	Kind  Kind
	Level int     // the cluster's level since which the kind is known
	Do    Handler // carries a command out
	// Body makes an empty body that reads itself, for kinds that come often; nil for others.
	Body func() Parser
	// Founds is for the command that makes an empty state a cluster, Joins for one that a node sends that is not a
	// member.
	Founds, Joins bool
}

// Handler carries out one kind of command. With makes one.
type Handler struct {
	body reflect.Type
	do   func(s *State, body json.RawMessage) (any, error)
}

// run carries a command out. It returns the result's value, a *Refusal, or the transaction's error.
func (h Handler) run(s *State, body json.RawMessage) (any, error) { return h.do(s, body) }

// Run carries out a command that another one has in it, for that one's handler.
func (h Handler) Run(s *State, body json.RawMessage) (any, error) { return h.run(s, body) }

// after is a handler that looks at a command first; what look returns is the answer, if it is an error.
func (h Handler) after(look func(s *State, raw json.RawMessage) error) Handler {
	return Handler{body: h.body, do: func(s *State, raw json.RawMessage) (any, error) {
		if err := look(s, raw); err != nil {
			return nil, err
		}
		return h.do(s, raw)
	}}
}

// With decodes a command's body for its handler, unless that is done. Unknown fields are refused: they come from a
// level that this cluster does not have.
func With[B any](do func(*State, *B) (any, error)) Handler {
	return Handler{body: reflect.TypeFor[B](), do: func(s *State, raw json.RawMessage) (any, error) {
		body, read := s.body.(*B)
		if !read {
			body = new(B)
			if err := DecodeStrict(raw, body); err != nil {
				return nil, Refuse(Invalid, "body: %v", err)
			}
		}
		return do(s, body)
	}}
}

// Widened is for a command whose body has more fields since a level than Old had. Below the level those fields are
// refused as programs of that level refuse them, before anything else about the command is looked at: what members
// answer and remember must be the same.
func Widened[Old any](level int, do Handler) Handler {
	return do.after(func(s *State, raw json.RawMessage) error {
		if s.Cluster.Level >= level {
			return nil
		}
		err := DecodeStrict(raw, new(Old))
		if err != nil && strings.HasPrefix(err.Error(), "json: unknown field") {
			return Refuse(Invalid, "body: %v", err)
		}
		return nil
	})
}

// Unless refuses a command before its handler looks at it, for a reason that the handler's subject does not know of.
func Unless[B any](reason func(*State, *B) error, do Handler) Handler {
	return do.after(func(s *State, raw json.RawMessage) error {
		body := new(B)
		if DecodeStrict(raw, body) != nil {
			return nil // the handler says what is wrong with it
		}
		return reason(s, body)
	})
}

// Subjects are the parts that a Table is made of.
type Subjects struct {
	// Rules are the rules of each subject. A kind is in one of them.
	Rules [][]Rule
	// IsMember reports whether a node belongs to the cluster.
	IsMember func(r Reader, node NodeID) (bool, error)
	// Recall returns the value that a Recalled result has by now.
	Recall func(r Reader, number uint64) (any, error)
}

// Table has the rules of all commands.
type Table struct {
	rules    map[Kind]*Rule
	isMember func(r Reader, node NodeID) (bool, error)
	recall   func(r Reader, number uint64) (any, error)
}

// NewTable makes a table of its subjects. A kind that is there twice is a mistake of the program, and panics.
func NewTable(of Subjects) *Table {
	t := &Table{rules: make(map[Kind]*Rule), isMember: of.IsMember, recall: of.Recall}
	for _, subject := range of.Rules {
		for i := range subject {
			r := &subject[i]
			if t.rules[r.Kind] != nil {
				panic("agree: two rules for " + string(r.Kind))
			}
			t.rules[r.Kind] = r
		}
	}
	t.rules[Guarded] = &Rule{Kind: Guarded, Level: LevelOfGuards, Do: With(t.guarded)}
	return t
}

// LevelOf returns the level a cluster must have for the command, and false when the kind is unknown.
func (t *Table) LevelOf(kind Kind) (int, bool) {
	if r := t.rules[kind]; r != nil {
		return r.Level, true
	}
	return 0, false
}

// Bodies has the kind of every command, in their order, with the type of its body.
func (t *Table) Bodies() iter.Seq2[Kind, reflect.Type] {
	return func(yield func(Kind, reflect.Type) bool) {
		for _, kind := range slices.Sorted(maps.Keys(t.rules)) {
			if !yield(kind, t.rules[kind].Do.body) {
				return
			}
		}
	}
}

// body returns the command's body when its kind comes often and it is in the form in which the programs write it.
func (t *Table) body(c *Command) any {
	r := t.rules[c.Kind]
	if r == nil || r.Body == nil {
		return nil
	}
	if body := r.Body(); body.ParseJSON(c.Body) {
		return body
	}
	return nil
}
