package catalog

import (
	"encoding/json"
	"errors"

	"holdfast/catalog/agree"
)

// Vouch refuses a command that another member forwards in the name of somebody who may not do it. Without it, a member
// could propose anything in any name. It is asked from level 3 on, by who leads, before the command is in the log. What
// members propose by themselves goes in their own names, and what only people decide does not.
//
// It looks at what the actor may, not at whether the actor asked: a member that is taken over can still act in the name
// of a person whose id it knows. local is the role that the local token of the forwarding member has at the one that
// leads, empty for none.
func (r People) Vouch(from NodeID, c *Command, local Role, now Time) error {
	want, err := r.askedOf(from, c)
	if err != nil {
		return err
	}
	own := c.Actor == "" || c.Actor == string(from)
	if own && want.act == "" { // nearly all that is forwarded
		return nil
	}
	cluster, _, err := agree.Get[Cluster](r, PrefixCluster)
	if err != nil || cluster.Level < LevelOfPeople {
		return err
	}
	if own {
		return agree.Refuse(agree.Denied, "command %q is for people: node %s does not propose it by itself", string(c.Kind), from)
	}
	rights, self, err := r.named(from, c.Actor, local, now)
	if err != nil {
		return err
	}
	switch {
	case want.act == "":
		return agree.Refuse(agree.Denied, "command %q is for nodes: %s does not propose it", string(c.Kind), agree.Clip(c.Actor, 100))
	case want.whose != "" && want.whose == self: // one's own account, or one's own invitation
		return nil
	}
	return May(rights, want.act, want.where)
}

// wanted is what a command would do, for May. act is empty when it is not for people.
type wanted struct {
	act   Act
	where Where
	whose PersonID // whose own thing it is, for which she needs no right
}

// named returns what an actor may do that the member names, and which person she is.
func (r People) named(from NodeID, actor string, local Role, now Time) ([]Right, PersonID, error) {
	kind, id := ParseActor(actor)
	unknown := agree.Refuse(agree.Denied, "node %s proposes in the name of %s, who may not act", from, agree.Clip(actor, 100))
	switch kind {
	case LocalActor:
		if NodeID(id) != from {
			return nil, "", unknown
		}
		return []Right{{Role: local}}, "", nil
	case PersonActor:
		p, err := r.Person(PersonID(id))
		if errors.Is(err, ErrNotFound) || err == nil && p.State == Disabled {
			return nil, "", unknown
		}
		if err != nil || p.State == Invited {
			return nil, p.ID, err
		}
		rights, err := r.rights(p.ID, now)
		return rights, p.ID, err
	case ProgramActor:
		token, err := agree.Found(agree.Get[AccessToken](r, keyAccess(id)))
		if errors.Is(err, ErrNotFound) || err == nil && !token.usable(now) {
			return nil, "", unknown
		}
		if err != nil {
			return nil, "", err
		}
		caller, err := r.Caller(token, now)
		if errors.Is(err, ErrDisabled) || err == nil && caller.Actor != actor {
			return nil, "", unknown
		}
		return caller.Rights, "", err
	}
	return nil, "", unknown
}

// askedOf returns what the command would do. A body that cannot be read is refused when it is applied.
func (r People) askedOf(from NodeID, c *Command) (wanted, error) {
	switch c.Kind {
	case RaiseLevel:
		return wanted{act: ChangeLevel}, nil
	case SetReplica, RemoveReplica:
		return wanted{act: ChangeReplica}, nil
	case SetCollection, RemoveCollection:
		return wanted{act: ChangeCollection}, nil
	case CreateToken, RevokeToken:
		return wanted{act: InviteNode}, nil
	case RemoveMember:
		return wanted{act: RemoveNode}, nil
	case RemoveFile, LoseFile:
		return wanted{act: EraseFile}, nil
	case UpdateMember:
		return r.askedOfMember(from, c)
	case CreateJob, WishJob, ResubmitJob, RejectJob:
		return r.askedOfJob(c)
	}
	return r.askedOfPeople(c)
}

// askedOfMember: what a node says of itself is its own affair.
func (r People) askedOfMember(from NodeID, c *Command) (wanted, error) {
	var b MemberChange
	if json.Unmarshal(c.Body, &b) == nil && b.ID == from && (c.Actor == "" || c.Actor == string(from)) {
		return wanted{}, nil
	}
	place, err := r.PlaceOf(b.ID)
	return wanted{act: ChangeNode, where: Where{Places: []string{place}}}, err
}

// PlaceOf returns the place at which a member stands, empty when there is no such member.
func (r People) PlaceOf(id NodeID) (string, error) {
	m, there, err := r.Member(id)
	if err != nil || !there {
		return "", err
	}
	in, _, err := r.Replica(m.Replica)
	return in.Place, err
}

func (r People) askedOfJob(c *Command) (wanted, error) {
	var b struct {
		ID         uint64         `json:"id"`
		Collection CollectionName `json:"collection"`
	}
	if json.Unmarshal(c.Body, &b) != nil {
		return wanted{act: RunJob}, nil
	}
	if c.Kind != CreateJob {
		j, there, err := agree.Get[Job](r, keyJob(b.ID))
		if err != nil || !there {
			return wanted{act: RunJob}, err
		}
		b.Collection = j.Collection
	}
	return wanted{act: RunJob, where: Where{Collections: []CollectionName{b.Collection}}}, nil
}

func (r People) askedOfPeople(c *Command) (wanted, error) {
	switch c.Kind {
	case InvitePerson, ReinvitePerson, DisablePerson, EnablePerson, GiveGrant, EndGrant:
		return wanted{act: KeepPeople}, nil
	case MakeToken, TakeToken:
		return wanted{act: KeepOwn}, nil // the command itself is refused for more than the owner's rights
	case ChangePerson:
		var b PersonChange
		if json.Unmarshal(c.Body, &b) == nil && b.Own() {
			return wanted{act: KeepPeople, whose: b.ID}, nil
		}
		return wanted{act: KeepPeople}, nil
	case AcceptInvitation:
		var b Acceptance
		if json.Unmarshal(c.Body, &b) != nil {
			return wanted{act: KeepPeople}, nil
		}
		bearer, _, err := r.Bearer(b.Invitation)
		return wanted{act: KeepPeople, whose: bearer.Owner}, err
	case CreateAccess, RevokeAccess:
		var b Named
		if json.Unmarshal(c.Body, &b) != nil {
			return wanted{act: KeepPeople}, nil
		}
		bearer, _, err := r.Bearer(b.ID)
		return wanted{act: KeepPeople, whose: bearer.Owner}, err
	}
	return wanted{}, nil
}
