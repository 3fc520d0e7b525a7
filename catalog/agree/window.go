package agree

import "encoding/json"

// WindowSize is how many requests of a node's present boot are remembered with their answers.
const WindowSize = 512

// window is the record of a node's requests: its present boot, and the highest sequence seen in it.
type window struct {
	Boot uint64 `json:"boot"`
	Top  uint64 `json:"top"`
}

// answer is the result of one request. A result whose value changes later keeps the value's
// number instead, see Recalled.
type answer struct {
	Boot   uint64 `json:"boot"`
	Seq    uint64 `json:"seq"`
	Result Result `json:"result"`
	Number uint64 `json:"job,omitempty"` // jobs were the first such values
}

// asked is the request that an answer belongs to; the answer begins with it.
type asked struct {
	Boot uint64 `json:"boot"`
	Seq  uint64 `json:"seq"`
}

// remembered returns the answer when the request was seen before, an OutcomeUnknown refusal when that can no
// longer be said, and nil when the request is new.
func (t *Table) remembered(s *State, c *Command) (*Result, error) {
	w, ok, err := Get[window](s, keyWindow(c.Node))
	if err != nil || !ok || c.Boot > w.Boot {
		return nil, err
	}
	if c.Boot < w.Boot || w.Top >= WindowSize && c.Seq <= w.Top-WindowSize {
		return forgotten(c), nil
	}
	of, ok, err := Get[asked](s, keyAnswer(c.Node, c.Seq))
	if err != nil || !ok || of.Boot != c.Boot || of.Seq < c.Seq {
		return nil, err
	}
	if of.Seq > c.Seq {
		return forgotten(c), nil
	}
	old, _, err := Get[answer](s, keyAnswer(c.Node, c.Seq))
	if err != nil {
		return nil, err
	}
	if old.Number != 0 {
		now, err := t.recall(s, old.Number)
		if err != nil {
			return nil, err
		}
		if old.Result.Value, err = json.Marshal(now); err != nil {
			return nil, err
		}
	}
	return &old.Result, nil
}

// forgotten is the answer to a request that may or may not have been carried out.
func forgotten(c *Command) *Result {
	return &Result{Refusal: Refuse(OutcomeUnknown, "request %d of boot %d is below what is remembered of the node",
		c.Seq, c.Boot)}
}

// remember stages the request's answer.
func (s *State) remember(c *Command, res Result, number uint64) error {
	w, _, err := Get[window](s, keyWindow(c.Node))
	if err != nil {
		return err
	}
	if c.Boot != w.Boot {
		w = window{Boot: c.Boot}
	}
	w.Top = max(w.Top, c.Seq)
	if err := s.Set(keyWindow(c.Node), w); err != nil {
		return err
	}
	if number != 0 {
		res.Value = nil
	}
	return s.Set(keyAnswer(c.Node, c.Seq), answer{Boot: c.Boot, Seq: c.Seq, Result: res, Number: number})
}

// Forget drops all that is remembered of a node's requests.
func (s *State) Forget(node NodeID) error {
	slots, err := Tails(s, prefixAnswer(node), "", WindowSize)
	if err != nil {
		return err
	}
	for _, slot := range slots {
		s.Delete(prefixAnswer(node) + slot)
	}
	s.Delete(keyWindow(node))
	return nil
}
