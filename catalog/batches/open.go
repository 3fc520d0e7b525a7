package batches

import (
	"errors"
	"maps"
	"regexp"
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/files"
)

// open makes a batch. Batches that ended long ago, and those whose list of names never came, make room for it.
func open(s *agree.State, b *Beginning) (any, error) {
	if err := b.check(s); err != nil {
		return nil, err
	}
	old, there, err := agree.Get[Batch](s, keyBatch(b.ID))
	if err != nil {
		return nil, err
	}
	if there {
		if old.By == s.Actor && old.Program == b.Program && old.Selection.same(&b.Selection) &&
			maps.Equal(old.Parameters, b.Parameters) && old.Limits == b.Limits {
			return &old, nil
		}
		return nil, agree.Refuse(agree.Conflict, "there is a batch %s already", b.ID)
	}
	if err := makeRoom(s); err != nil {
		return nil, err
	}
	one := &Batch{ID: b.ID, Program: b.Program, Parameters: b.Parameters, Selection: b.Selection, Limits: b.Limits,
		By: s.Actor, State: Opening, Node: b.Node, Term: 1, Opened: s.At}
	if b.Selection.Names == 0 {
		one.begin(s)
	}
	return one, errors.Join(s.Set(keyBatch(one.ID), one),
		s.Event(Open, one.ID, "program=%s collections=%d names=%d", one.Program, len(b.Selection.Collections),
			b.Selection.Names))
}

func (b *Batch) begin(s *agree.State) { b.State, b.Begun = Running, s.At }

func (b *Beginning) check(s *agree.State) error {
	if err := agree.CheckName("batch", b.ID); err != nil {
		return err
	}
	if err := agree.CheckName("program", b.Program); err != nil {
		return err
	}
	if len(b.Parameters) > mostParameters {
		return agree.Refuse(agree.Invalid, "%d parameters: at most %d", len(b.Parameters), mostParameters)
	}
	for _, name := range slices.Sorted(maps.Keys(b.Parameters)) {
		if err := agree.CheckName("parameter", name); err != nil {
			return err
		}
		if len(b.Parameters[name]) > mostText {
			return agree.Refuse(agree.Invalid, "parameter %s has %d bytes: at most %d", name,
				len(b.Parameters[name]), mostText)
		}
	}
	if b.Limits.Time < 0 || b.Limits.Output < 0 {
		return agree.Refuse(agree.Invalid, "a limit is below 0")
	}
	if _, err := cluster.Speaker(s, b.Node); err != nil {
		return err
	}
	return b.Selection.check(s)
}

func (x *Selection) check(s *agree.State) error {
	if x.Names < 0 || x.Names > MostNames {
		return agree.Refuse(agree.Invalid, "a list of %d names: 1 to %d", x.Names, MostNames)
	}
	if len(x.Files) > mostText {
		return agree.Refuse(agree.Invalid, "a regular expression of %d bytes: at most %d", len(x.Files), mostText)
	}
	if _, err := expression(x.Files); err != nil {
		return agree.Refuse(agree.Invalid, "%q is no regular expression", agree.Clip(x.Files, 100))
	}
	if err := agree.CheckItems(len(x.Collections)); err != nil && len(x.Collections) > 0 {
		return err
	}
	known := cluster.In(s)
	for _, name := range x.Collections {
		if _, there, err := known.Collection(name); err != nil || !there {
			return agree.OrNotFound(err, "no collection %q", agree.Clip(string(name), 64))
		}
	}
	if x.Replica != "" {
		if _, there, err := known.Replica(x.Replica); err != nil || !there {
			return agree.OrNotFound(err, "no replica %q", agree.Clip(string(x.Replica), 64))
		}
	}
	return nil
}

func (x *Selection) same(o *Selection) bool {
	return slices.Equal(x.Collections, o.Collections) && x.Replica == o.Replica && x.Files == o.Files &&
		x.Job == o.Job && x.Names == o.Names
}

// expression returns what the name of a file has to match, nil if any will do.
func expression(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	if _, err := regexp.Compile(text); err != nil {
		return nil, err
	}
	return regexp.Compile(`^(?:` + text + `)$`)
}

// dropAtOnce bounds how many old batches one command removes.
const dropAtOnce = 5

// makeRoom removes batches that ended long ago or never began, and refuses when there are too many all the same.
func makeRoom(s *agree.State) error {
	all, err := agree.List[Batch](s, PrefixBatches, "", 0)
	if err != nil {
		return err
	}
	dropped := 0
	for i := range all {
		b := &all[i]
		old := b.Ended != 0 && s.At-b.Ended > KeptFor || b.State == Opening && s.At-b.Opened > openFor
		if old && dropped < dropAtOnce && s.Room(b.Parts+8) {
			drop(s, b)
			dropped++
		}
	}
	if len(all)-dropped >= MostBatches {
		return agree.Refuse(agree.Conflict, "there are %d batches: they are kept for 30 days after their end", len(all))
	}
	return nil
}

func drop(s *agree.State, b *Batch) {
	for part := 1; part <= b.Parts; part++ {
		s.Delete(keyNames(b.ID, part))
	}
	s.Delete(keyBatch(b.ID))
}

// addNames adds a part of the list of names. A part that is there changes nothing. With the last one the batch runs.
func addNames(s *agree.State, b *Naming) (any, error) {
	one, err := batch(s, b.ID)
	if err != nil {
		return nil, err
	}
	if b.Part >= 1 && b.Part <= one.Parts {
		return one, nil
	}
	if one.State != Opening || b.Part != one.Parts+1 {
		return nil, agree.Refuse(agree.Conflict, "batch %s is %s, and has %d parts of its list", one.ID, one.State,
			one.Parts)
	}
	if len(b.Names) == 0 || len(b.Names) > PartNames || one.Named+len(b.Names) > one.Selection.Names {
		return nil, agree.Refuse(agree.Invalid, "a part of %d names: 1 to %d, and %d in all", len(b.Names), PartNames,
			one.Selection.Names)
	}
	for _, name := range b.Names {
		if err := name.Check(); err != nil {
			return nil, agree.Refuse(agree.Invalid, "%v", err)
		}
		if name <= one.Last {
			return nil, agree.Refuse(agree.Invalid, "name %s does not come behind %s", name, one.Last)
		}
		one.Last = name
	}
	one.Parts, one.Named = b.Part, one.Named+len(b.Names)
	if one.Named == one.Selection.Names {
		one.begin(s)
	}
	return one, errors.Join(s.Set(keyNames(one.ID, b.Part), names{b.Names}), s.Set(keyBatch(one.ID), one))
}

// names is a part of a list.
type names struct {
	Names []files.FileName `json:"names"`
}
