package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/people"
)

// ofStaging are the commands about staged changes of the layout that carry these out, or try to.
var ofStaging = []agree.Rule{
	{Kind: cluster.StageLayout, Level: cluster.LevelOfStaging, Do: agree.With(stageLayout)},
	{Kind: cluster.ApplyLayout, Level: cluster.LevelOfStaging, Do: agree.With(applyLayout)},
}

// laid are the handlers that carry staged changes out: those by which they are carried out at once, with the gates of
// what waits for a second person.
var laid = func() map[Kind]agree.Handler {
	out := map[Kind]agree.Handler{}
	for _, rules := range [][]agree.Rule{cluster.Rules, gated(ofCluster)} {
		for i := range rules {
			switch k := rules[i].Kind; k {
			case UpdateMember, RemoveMember, SetReplica:
				out[k] = rules[i].Do
			}
		}
	}
	return out
}()

// unlessStaged has the rules refuse what is only staged, where changes of the layout always are.
func unlessStaged(rules []agree.Rule) []agree.Rule {
	rules = slices.Clone(rules)
	for i := range rules {
		switch r := &rules[i]; r.Kind {
		case UpdateMember:
			r.Do = agree.Unless(func(s *agree.State, b *MemberChange) error {
				if b.Weight == nil && b.Draining == nil {
					return nil
				}
				return cluster.OnlyStaged(s)
			}, r.Do)
		case RemoveMember:
			r.Do = agree.Unless(func(s *agree.State, b *MemberRemoval) error {
				if b.Lost {
					return nil
				}
				return cluster.OnlyStaged(s)
			}, r.Do)
		case SetReplica:
			r.Do = agree.Unless(func(s *agree.State, b *Replica) error {
				old, there, err := cluster.In(s).Replica(b.Name)
				if err != nil || !there || sameCollections(old.Collections, b.Collections) {
					return err
				}
				return cluster.OnlyStaged(s)
			}, r.Do)
		}
	}
	return rules
}

func sameCollections(a, b []CollectionName) bool {
	sorted := func(all []CollectionName) []CollectionName { return slices.Compact(slices.Sorted(slices.Values(all))) }
	return slices.Equal(sorted(a), sorted(b))
}

// errTried ends a trial.
var errTried = errors.New("only tried")

// stageLayout keeps a change for an apply. It is refused if it would be refused now, behind those that are staged.
func stageLayout(s *agree.State, b *cluster.StageChange) (any, error) {
	before, err := cluster.StagingIn(s)
	if err != nil {
		return nil, err
	}
	c, err := cluster.Stage(s, b)
	if err != nil {
		return nil, err
	}
	err = s.Try(func() error {
		for i := range before.Changes { // one that is refused now may be carried out later
			if err := s.Try(func() error { return layOut(s, &before.Changes[i]) }); !refused(err) {
				return err
			}
		}
		if err := changes(s, c); err != nil {
			return err
		}
		if err := layOut(s, c); err != nil {
			return err
		}
		return errTried
	})
	if err != errTried {
		return nil, staging(err)
	}
	return c, nil
}

// staging is the refusal of a change that is to be staged. One that waits for a second person is not staged.
func staging(err error) error {
	if r, is := err.(*agree.Refusal); is && r.Code == agree.Unapproved {
		return agree.Refuse(agree.Conflict,
			"this waits for a second person, and cannot be staged: ask for it without staging it, and it is proposed")
	}
	return err
}

// changes refuses a change after which all is as before.
func changes(s *agree.State, c *cluster.Staged) error {
	if c.Step == cluster.StepCollections {
		r, there, err := cluster.In(s).Replica(c.Replica)
		if err != nil || there && sameCollections(r.Collections, c.Collections) {
			return agree.OrConflict(err, "replica %s is to hold just these collections already", c.Replica)
		}
		return nil
	}
	m, there, err := cluster.In(s).Member(c.Node)
	if err != nil || !there {
		return agree.OrNotFound(err, "no member %q", agree.Clip(string(c.Node), 60))
	}
	switch {
	case c.Step == cluster.StepDrain && m.Draining:
		return agree.Refuse(agree.Conflict, "%s is draining already", m.Name)
	case c.Step == cluster.StepUndrain && !m.Draining:
		return agree.Refuse(agree.Conflict, "%s is not draining", m.Name)
	case c.Step == cluster.StepWeight && m.Weight == c.Weight:
		return agree.Refuse(agree.Conflict, "%s has weight %d already", m.Name, m.Weight)
	}
	return nil
}

// applyLayout carries out all that is staged, in its order; nothing, if any of it is refused.
func applyLayout(s *agree.State, b *cluster.ApplyChanges) (any, error) {
	all, err := cluster.Shown(s, b.Version)
	if err != nil {
		return nil, err
	}
	if len(all.Changes) == 0 {
		return nil, agree.Refuse(agree.Conflict, "nothing is staged")
	}
	for i := range all.Changes {
		c := &all.Changes[i]
		text, err := c.Text(s)
		if err != nil {
			return nil, err
		}
		err = layOut(s, c)
		if err == nil && !s.Room(8) {
			err = agree.Refuse(agree.Conflict, "one command cannot change that much: revert some of the changes, and "+
				"stage them afterwards")
		}
		if r, is := staging(err).(*agree.Refusal); is {
			return nil, agree.Refuse(r.Code, "change %d, %s, is refused, and nothing was done: %s", c.ID, text,
				r.Message)
		} else if err != nil {
			return nil, err
		}
	}
	return cluster.Applied(s, b, len(all.Changes))
}

// layOut carries out a staged change.
func layOut(s *agree.State, c *cluster.Staged) error {
	kind, body, err := commandOf(s, c)
	if err != nil {
		return err
	}
	text, err := agree.AppendJSON(nil, body)
	if err != nil {
		return fmt.Errorf("encode the staged change %d: %w", c.ID, err)
	}
	_, err = laid[kind].Run(s, text)
	return err
}

// commandOf returns the command that does at once what the change does.
func commandOf(s *agree.State, c *cluster.Staged) (Kind, any, error) {
	switch c.Step {
	case cluster.StepDrain, cluster.StepUndrain:
		on := c.Step == cluster.StepDrain
		return UpdateMember, MemberChange{ID: c.Node, Draining: &on}, nil
	case cluster.StepWeight:
		return UpdateMember, MemberChange{ID: c.Node, Weight: &c.Weight}, nil
	case cluster.StepRemove:
		return RemoveMember, MemberRemoval{ID: c.Node, Reason: c.Reason}, nil
	case cluster.StepCollections:
		r, there, err := cluster.In(s).Replica(c.Replica)
		if err != nil || !there {
			return "", nil, agree.OrNotFound(err, "no replica %q", agree.Clip(string(c.Replica), 64))
		}
		r.Collections = c.Collections
		return SetReplica, r, nil
	}
	return "", nil, agree.Refuse(agree.Unsupported, "step %q is not known", agree.Clip(string(c.Step), 40))
}

// Unlaid is a staged change that would be refused now.
type Unlaid struct {
	ID  uint64
	Why string
}

// Laid returns the view as it would be if all that is staged were carried out now, without what would be refused. What
// it shows is of this moment: it is for looking at, and nothing is decided by it.
func Laid(v View) (View, []Unlaid, error) {
	now, err := v.Clock()
	if err != nil {
		return View{}, nil, err
	}
	s, err := agree.Trial(v.ofFiles.Reader, now)
	if err != nil {
		return View{}, nil, err
	}
	all, err := cluster.StagingIn(s)
	if err != nil {
		return View{}, nil, err
	}
	var out []Unlaid
	for i := range all.Changes {
		err := s.Try(func() error { return layOut(s, &all.Changes[i]) })
		if !refused(err) {
			return View{}, nil, err
		}
		if err != nil {
			out = append(out, Unlaid{all.Changes[i].ID, staging(err).Error()})
		}
	}
	return NewView(s), out, nil
}

// askedOfStep says which act a change of the layout is, whether it is staged or carried out at once.
func askedOfStep(r People, step cluster.Step, node NodeID) (people.Wanted, error) {
	switch step {
	case cluster.StepRemove:
		return people.Wanted{Act: people.RemoveNode}, nil
	case cluster.StepCollections:
		return people.Wanted{Act: people.ChangeReplica}, nil
	}
	place, err := r.PlaceOf(node)
	return people.Wanted{Act: people.ChangeNode, Where: Where{Places: []string{place}}}, err
}

// askedOfStaging: who may do something may stage it.
func askedOfStaging(r People, _ NodeID, c *Command) (people.Wanted, error) {
	var b cluster.StageChange
	if json.Unmarshal(c.Body, &b) != nil {
		return people.Wanted{Act: people.ChangeReplica}, nil
	}
	return askedOfStep(r, b.Step, b.Node)
}

// MayApply refuses somebody with these rights who may not do each of the staged changes: who applies them does them.
func (r People) MayApply(rights []Right) error {
	if err := May(rights, people.ChangeLayout, Where{}); err != nil {
		return err
	}
	all, err := cluster.StagingIn(r.Reader)
	if err != nil {
		return err
	}
	for i := range all.Changes {
		c := &all.Changes[i]
		want, err := askedOfStep(r, c.Step, c.Node)
		if err != nil {
			return err
		}
		if err := May(rights, want.Act, want.Where); err != nil {
			return agree.Refuse(agree.Denied, "change %d, %s: %v", c.ID, c.Step, err)
		}
	}
	return nil
}
