package agree

import (
	"encoding/json"
	"errors"
	"fmt"
)

const (
	// maxKeys bounds the keys one command writes; ownKeys of them are the clock's, the trail's and the window's.
	maxKeys = 1000
	ownKeys = 4
	// lastTime is the last millisecond of the year 9999: a later stamp is a mistake that could not be undone.
	lastTime Time = 253402300799999
)

// Apply carries out one command of the log and returns its answer. The error is the transaction's, or says
// that a stored value is damaged; whatever the bytes of data, there is no other, and a command that is
// refused changes nothing but the request window. index is the command's place in the log.
func (t *Table) Apply(tx Tx, index uint64, data []byte) (Result, error) {
	if len(data) > MaxBytes {
		return Result{Refusal: Refuse(Invalid, "command of %d bytes: at most %d", len(data), MaxBytes)}, nil
	}
	c, body, err := t.Read(data)
	if err != nil {
		return Result{Refusal: Refuse(Invalid, "command: %v", err)}, nil
	}
	s := newState(tx, index)
	s.body = body
	res, err := t.apply(s, &c)
	if err != nil {
		return Result{}, fmt.Errorf("apply %q: %w", string(c.Kind), err)
	}
	return res, nil
}

// apply answers from the window or carries the command out and remembers the answer.
func (t *Table) apply(s *State, c *Command) (Result, error) {
	var err error
	if s.Cluster, _, err = Get[Cluster](s, PrefixCluster); err != nil {
		return Result{}, err
	}
	known, err := t.isMember(s, c.Node)
	if err != nil {
		return Result{}, err
	}
	rule := t.rules[c.Kind]
	if known {
		if old, err := t.remembered(s, c); old != nil || err != nil {
			return deref(old), err
		}
	} else if c.Node != "" && (rule == nil || !rule.Founds && !rule.Joins) {
		return Result{Refusal: Refuse(Denied, "node %s is not a member", Clip(string(c.Node), 60))}, nil
	}
	res, number, err := s.carryOut(rule, c)
	if err != nil {
		return Result{}, err
	}
	// A member that the command made or removed: the window follows the member.
	if known, err = t.isMember(s, c.Node); err != nil {
		return Result{}, err
	}
	if known {
		if err := s.remember(c, res, number); err != nil {
			return Result{}, err
		}
	}
	return res, s.flush()
}

func deref(r *Result) Result {
	if r == nil {
		return Result{}
	}
	return *r
}

// carryOut carries out the rule and stages its changes, none if the command is refused. It also returns the number of
// a value that changes later, 0 if there is none.
func (s *State) carryOut(rule *Rule, c *Command) (Result, uint64, error) {
	value, err := s.attempt(rule, c)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		s.changed.clear()
		return Result{Refusal: refusal}, 0, nil
	}
	if err != nil {
		return Result{}, 0, err
	}
	var res Result
	if old, ok := value.(again); ok {
		return Result{Value: json.RawMessage(old), Repeated: true}, 0, nil
	}
	if value != nil {
		if res.Value, err = AppendJSON(nil, value); err != nil {
			return Result{}, 0, err
		}
	}
	if later, ok := value.(Recalled); ok {
		return res, later.RecallNumber(), nil
	}
	return res, 0, nil
}

func (s *State) attempt(rule *Rule, c *Command) (any, error) {
	if c.Version != 1 {
		return nil, Refuse(Unsupported, "command of version %d", c.Version)
	}
	founded := s.Cluster.ID != ""
	if rule == nil || !rule.Founds && rule.Level > s.Cluster.Level && founded {
		return nil, Refuse(Unsupported, "command %q is not known at level %d", Clip(string(c.Kind), 40),
			s.Cluster.Level)
	}
	if !founded && !rule.Founds {
		return nil, Refuse(NotFound, "there is no cluster yet")
	}
	if c.At < 0 || c.At > lastTime {
		return nil, Refuse(Invalid, "time %d is not between 1970 and 9999", c.At)
	}
	if len(c.Actor) > 200 {
		return nil, Refuse(Invalid, "actor of %d bytes: at most 200", len(c.Actor))
	}
	clock, _, err := Get[Time](s, keyClock)
	if err != nil {
		return nil, err
	}
	s.At, s.Stamp, s.Node, s.Actor = max(clock, c.At), c.At, c.Node, c.Actor
	if s.Actor == "" {
		s.Actor = string(c.Node)
	}
	value, err := rule.Do.run(s, c.Body)
	if err != nil {
		return nil, err
	}
	if s.At != clock {
		if err := s.Set(keyClock, s.At); err != nil {
			return nil, err
		}
	}
	if len(s.changed.all) > maxKeys-2 || s.changed.size() > MaxBytes {
		return nil, Refuse(Invalid, "it would write %d keys and %d bytes: at most %d and %d",
			len(s.changed.all), s.changed.size(), maxKeys-2, MaxBytes)
	}
	return value, nil
}
