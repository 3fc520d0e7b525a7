package catalog

import (
	"encoding/json"
	"errors"

	"holdfast/catalog/agree"
	"holdfast/catalog/approvals"
	"holdfast/catalog/cluster"
	"holdfast/catalog/files"
	"holdfast/catalog/jobs"
	"holdfast/catalog/people"
)

// Vouch refuses a command that another member forwards in the name of somebody who may not do it. Without it, a
// member could propose anything in any name. The leader calls it from level 3 on, before the command is in the log.
// Members make their own proposals in their own names, and acts that only people decide are refused in a member's
// name.
//
// It checks what the actor may do, not whether the actor asked for it: a member that is taken over can still act in
// the name of a person whose id it knows. local is the role that the forwarding member's local token has on the
// leader, empty for none.
func (r People) Vouch(from NodeID, c *Command, local Role, now Time) error {
	c = approvals.Inner(agree.Unguarded(c)) // who proposes an act has to be one who may do it
	var want people.Wanted
	if question := asked[c.Kind]; question != nil {
		var err error
		if want, err = question(r, from, c); err != nil {
			return err
		}
	}
	own := c.Actor == "" || c.Actor == string(from)
	if own && want.Act == "" { // nearly all that is forwarded
		return nil
	}
	state, _, err := agree.Get[Cluster](r.Reader, PrefixCluster)
	if err != nil || state.Level < LevelOfPeople {
		return err
	}
	if own {
		return agree.Refuse(agree.Denied, "command %q is for people: node %s does not propose it by itself",
			string(c.Kind), from)
	}
	rights, self, err := r.Named(from, c.Actor, local, now)
	if err != nil {
		return err
	}
	switch {
	case want.Act == "":
		return agree.Refuse(agree.Denied, "command %q is for nodes: %s does not propose it", string(c.Kind),
			agree.Clip(c.Actor, 100))
	case want.Whose != "" && want.Whose == self: // one's own account, or one's own invitation
		return nil
	}
	if c.Kind == cluster.ApplyLayout {
		return r.MayApply(rights)
	}
	return May(rights, want.Act, want.Where)
}

// question finds what a command would do. A body that cannot be read is refused when it is applied.
type question func(r People, from NodeID, c *Command) (people.Wanted, error)

// is answers with an act that touches nothing that it is measured by.
func is(act Act) question {
	return func(People, NodeID, *Command) (people.Wanted, error) { return people.Wanted{Act: act}, nil }
}

// askedOfBody answers by what people have to do with what the command carries.
func askedOfBody(of func(people.View, []byte) (people.Wanted, error)) question {
	return func(r People, _ NodeID, c *Command) (people.Wanted, error) { return of(r.ofPeople, c.Body) }
}

// askedOfMember: what a node says of itself is its own affair.
func askedOfMember(r People, from NodeID, c *Command) (people.Wanted, error) {
	var b MemberChange
	if json.Unmarshal(c.Body, &b) == nil && b.ID == from && (c.Actor == "" || c.Actor == string(from)) {
		return people.Wanted{}, nil
	}
	place, err := r.PlaceOf(b.ID)
	return people.Wanted{Act: people.ChangeNode, Where: Where{Places: []string{place}}}, err
}

// askedOfAudit: an audit of all replicas is one of every place.
func askedOfAudit(r People, _ NodeID, c *Command) (people.Wanted, error) {
	want := people.Wanted{Act: people.CheckCopies}
	var b files.AuditNote
	if json.Unmarshal(c.Body, &b) != nil || b.Replica == "" {
		return want, nil
	}
	replica, err := cluster.NewView(r.Reader).Replica(b.Replica)
	if errors.Is(err, ErrNotFound) {
		return want, nil
	}
	want.Where.Places = []string{replica.Place}
	return want, err
}

func askedOfJob(r People, _ NodeID, c *Command) (people.Wanted, error) {
	want := people.Wanted{Act: people.RunJob}
	var b struct {
		ID         uint64         `json:"id"`
		Collection CollectionName `json:"collection"`
		Uses       []string       `json:"uses"`
	}
	if json.Unmarshal(c.Body, &b) != nil {
		return want, nil
	}
	if len(b.Uses) > 0 {
		return want, agree.Refuse(agree.Denied, "only the leader makes jobs with secrets of templates and "+
			"configurations")
	}
	if c.Kind != CreateJob && c.Kind != jobs.OpenJob {
		view := jobs.NewView(r.Reader)
		j, err := view.Job(b.ID)
		if errors.Is(err, ErrNotFound) {
			var open jobs.Open
			open, err = view.OpenJob(b.ID)
			j = open.Job
		}
		if errors.Is(err, ErrNotFound) {
			return want, nil
		}
		if err != nil {
			return want, err
		}
		b.Collection = j.Collection
	}
	want.Where.Collections = []CollectionName{b.Collection}
	return want, nil
}
