package catalog

import (
	"fmt"
	"iter"
	"reflect"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// What only the tests look at.

// Bodies has the kind of every command, in their order, with the type of its body.
func Bodies() iter.Seq2[Kind, reflect.Type] { return table.Bodies() }

// MemberByName returns the member of that name, or ErrNotFound.
func (v View) MemberByName(name string) (Member, error) {
	id, err := agree.Found(cluster.In(v.ofFiles.Reader).Named(name))
	if err != nil {
		return Member{}, err
	}
	return v.Member(id)
}

// VerifyTrail checks the whole trail and returns the number of events. A trail that was pruned begins with the
// first event left; an error about its contents wraps ErrTrail.
func VerifyTrail(r Reader) (int, error) {
	const page = 1000
	var last Event
	for n := 0; ; {
		after := ""
		if n > 0 {
			after = agree.Hex(last.Seq)
		}
		events, err := agree.List[Event](r, PrefixTrail, after, page)
		if err != nil {
			return n, err
		}
		if n > 0 && len(events) > 0 && events[0].Seq != last.Seq+1 {
			return n, fmt.Errorf("event %d follows event %d: %w", events[0].Seq, last.Seq, ErrTrail)
		}
		if err := VerifyEvents(events, last.Hash); err != nil {
			return n, err
		}
		if n += len(events); len(events) > 0 {
			last = events[len(events)-1]
		}
		if len(events) == page {
			continue
		}
		h, _, err := agree.Get[struct {
			Seq  uint64
			Hash Digest
		}](r, "trailhead")
		if err == nil && (h.Seq != last.Seq || h.Hash != last.Hash) {
			err = fmt.Errorf("last event is %d, should be %d: %w", last.Seq, h.Seq, ErrTrail)
		}
		return n, err
	}
}
