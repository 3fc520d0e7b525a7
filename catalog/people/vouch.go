package people

import (
	"encoding/json"
	"errors"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// Wanted is what a command would do, for May. Act is empty when it is not for people.
type Wanted struct {
	Act   Act
	Where Where
	Whose PersonID // whose own thing it is, for which she needs no right
}

// Named returns what an actor may do that the member names, and which person she is.
func (r View) Named(from agree.NodeID, actor string, local Role, now agree.Time) ([]Right, PersonID, error) {
	kind, id := ParseActor(actor)
	unknown := agree.Refuse(agree.Denied, "node %s proposes in the name of %s, who may not act", from,
		agree.Clip(actor, 100))
	switch kind {
	case LocalActor:
		if agree.NodeID(id) != from {
			return nil, "", unknown
		}
		return []Right{{Role: local}}, "", nil
	case PersonActor:
		p, err := r.Person(PersonID(id))
		if errors.Is(err, agree.ErrNotFound) || err == nil && p.State == Disabled {
			return nil, "", unknown
		}
		if err != nil || p.State != Active {
			return nil, p.ID, err
		}
		rights, err := r.rights(p.ID, now)
		return rights, p.ID, err
	case ProgramActor:
		token, err := agree.Found(agree.Get[AccessToken](r.Reader, keyAccess(id)))
		if errors.Is(err, agree.ErrNotFound) || err == nil && !token.usable(now) {
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

// AskedToChange returns what a change of a person would do: what is her own she may change herself.
func (r View) AskedToChange(body []byte) (Wanted, error) {
	var b PersonChange
	if read(body, &b) && b.Own() {
		return Wanted{Act: KeepPeople, Whose: b.ID}, nil
	}
	return Wanted{Act: KeepPeople}, nil
}

// AskedToAccept returns what the acceptance of an invitation would do.
func (r View) AskedToAccept(body []byte) (Wanted, error) {
	var b Acceptance
	if !read(body, &b) {
		return Wanted{Act: KeepPeople}, nil
	}
	bearer, _, err := r.Bearer(b.Invitation)
	return Wanted{Act: KeepPeople, Whose: bearer.Owner}, err
}

// AskedToEndSession returns what the end of a session would do: who has lost every right may sign out, too.
func (r View) AskedToEndSession(body []byte) (Wanted, error) {
	var b SessionEnd
	if json.Unmarshal(body, &b) != nil {
		return Wanted{Act: KeepOwn}, nil
	}
	kind, id := ParseActor(b.Owner)
	if kind != PersonActor {
		return Wanted{Act: KeepOwn}, nil
	}
	return Wanted{Act: KeepOwn, Whose: PersonID(id)}, nil
}

// AskedOfToken returns what a command about an access token would do: whose it is may do it.
func (r View) AskedOfToken(body []byte) (Wanted, error) {
	var b cluster.Named
	if !read(body, &b) {
		return Wanted{Act: KeepPeople}, nil
	}
	bearer, _, err := r.Bearer(b.ID)
	return Wanted{Act: KeepPeople, Whose: bearer.Owner}, err
}

func read[B any](body []byte, b *B) bool { return json.Unmarshal(body, b) == nil }
