package catalog

import (
	"encoding/json"

	"holdfast/catalog/agree"
	"holdfast/catalog/approvals"
	"holdfast/catalog/files"
	"holdfast/catalog/people"
)

// ungated are the commands that wait for a second person, as they are carried out when one has granted them. No other
// road leads by their gates.
var ungated = func() map[Kind]agree.Handler {
	out := map[Kind]agree.Handler{}
	for _, rules := range [][]agree.Rule{files.Rules, ofCluster, ofApprovals} {
		for i := range rules {
			if _, waits := waiters[rules[i].Kind]; waits {
				out[rules[i].Kind] = rules[i].Do
			}
		}
	}
	return out
}()

// ofApprovals are the commands about approvals that carry acts out, but for those that need this table themselves.
var ofApprovals = []agree.Rule{
	{Kind: approvals.Set, Level: approvals.Level, Do: agree.With(setRule)},
}

// setRule changes which acts wait. Unless two people could approve anything, nothing is made to wait.
func setRule(s *agree.State, b *approvals.Setting) (any, error) {
	if len(b.Acts) > 0 {
		if err := enoughPeople(s, b.OtherPlace); err != nil {
			return nil, err
		}
	}
	return approvals.SetRule(s, b)
}

// enoughPeople refuses a rule under which no proposal could be granted.
func enoughPeople(s *agree.State, otherPlace bool) error {
	view := people.NewView(s)
	all, err := view.All()
	if err != nil {
		return err
	}
	n, places := 0, map[string]bool{}
	for i := range all {
		rights, _, err := view.Named(s.Node, all[i].ID.Actor(), "", s.At)
		if err != nil || people.May(rights, people.Approve, people.Where{}) != nil {
			if !refused(err) {
				return err
			}
			continue
		}
		n++
		if all[i].Institution != "" {
			places[all[i].Institution] = true
		}
	}
	if n < 2 || otherPlace && len(places) < 2 {
		return agree.Refuse(agree.Unsafe, "%d people may approve, of %d institutions: with fewer than two, nothing "+
			"could be granted", n, len(places))
	}
	return nil
}

// refused reports whether err is nil or a refusal.
func refused(err error) bool {
	_, is := err.(*agree.Refusal)
	return err == nil || is
}

// proposeAct keeps an act of the actor's for a second person.
func proposeAct(s *agree.State, b *approvals.Proposing) (any, error) {
	w, known := waiters[b.Kind]
	if !known {
		return nil, agree.Refuse(agree.Invalid, "command %q does not wait for anybody", agree.Clip(string(b.Kind), 40))
	}
	act, err := w.act(s, b.Body)
	if err != nil {
		return nil, err
	}
	if rule, err := approvals.RuleIn(s); err != nil || !rule.Waits(act.Class) {
		return nil, agree.OrConflict(err, "this does not wait for a second person: ask for it directly")
	}
	by, err := proposer(s, s.Actor)
	if err != nil {
		return nil, err
	}
	if err := mayDo(s, s.Actor, b.Kind, b.Body); err != nil {
		return nil, err
	}
	return approvals.Make(s, b, act, by)
}

// proposer returns the person behind an actor who proposes. The second one has to be another person, so that there has
// to be a first one.
func proposer(s *agree.State, actor string) (people.Person, error) {
	id, err := people.NewView(s).Behind(actor)
	if err != nil {
		return people.Person{}, err
	}
	p, there, err := agree.Get[people.Person](s, people.KeyOfPerson(id))
	if err != nil {
		return p, err
	}
	if id == "" || !there || p.State != people.Active {
		return p, agree.Refuse(agree.Denied, "%s is no active person, and no program of one: this waits for a second "+
			"person, and needs a first", agree.Clip(actor, 100))
	}
	return p, nil
}

// mayDo refuses unless the actor may do the act by what it is allowed now.
func mayDo(s *agree.State, actor string, kind Kind, body json.RawMessage) error {
	want, err := asked[kind](PeopleIn(NewView(s)), s.Node, &Command{Kind: kind, Actor: actor, Body: body})
	if err != nil {
		return err
	}
	rights, _, err := people.NewView(s).Named(s.Node, actor, "", s.At)
	if err != nil {
		return err
	}
	return May(rights, want.Act, want.Where)
}

// grantAct carries out what somebody else has proposed: now, if it still is what was proposed, and both may do it.
func grantAct(s *agree.State, b *approvals.Decision) (any, error) {
	p, err := approvals.Ready(s, b)
	if err != nil {
		return nil, err
	}
	if err := mayGrant(s, &p); err != nil {
		return nil, err
	}
	w, known := waiters[p.Kind]
	if !known {
		return nil, agree.Refuse(agree.Unsupported, "command %q is not known", p.Kind)
	}
	act, err := w.act(s, p.Body)
	if !refused(err) {
		return nil, err
	}
	if err != nil || !act.Same(p.Act) || p.Epoch != s.Cluster.Epoch {
		return nil, agree.Refuse(agree.Stale, "proposal %d of %s, from place %q, is about %s as it was; that has "+
			"changed since: it has to be made again", p.ID, p.Person, p.Place, p.Subject)
	}
	granted, err := approvals.Settle(s, &p, approvals.Granted, approvals.Grant, b.Reason)
	if err != nil {
		return nil, err
	}
	granter := s.Actor
	s.Actor = p.By
	_, err = ungated[p.Kind].Run(s, p.Body)
	s.Actor = granter
	return granted, err
}

// againFor is how long nobody grants what somebody proposed who has invited her again.
const againFor = 30 * people.Day

// herself refuses a grant in the name of a person whom the proposer has invited again, or who has a node's local token:
// whoever invites somebody is shown what gives a token of hers.
func herself(s *agree.State, p *approvals.Proposal, second people.PersonID) error {
	for _, by := range []people.PersonID{p.Person, ""} {
		at, err := people.NewView(s).InvitedAgain(second, by)
		if err != nil {
			return err
		}
		if at != 0 && (s.At < at || s.At-at < againFor) {
			return agree.Refuse(agree.Denied, "you were invited again within the last 30 days, by who made proposal "+
				"%d or with a node's local token: somebody else has to grant it", p.ID)
		}
	}
	return nil
}

// mayGrant refuses who is not a second person with the right to do the act, and what the first one may not do any more.
func mayGrant(s *agree.State, p *approvals.Proposal) error {
	kind, id := people.ParseActor(s.Actor)
	if kind != people.PersonActor {
		return agree.Refuse(agree.Denied, "a person grants a proposal herself: not a program, a node, or who has a "+
			"node's local token")
	}
	if people.PersonID(id) == p.Person {
		return agree.Refuse(agree.Denied, "proposal %d is your own: another person has to grant it", p.ID)
	}
	first, err := proposer(s, p.By)
	if err != nil {
		return err
	}
	if first.ID != p.Person { // the program is somebody else's now
		return agree.Refuse(agree.Denied, "proposal %d was made by a program that belongs to somebody else now", p.ID)
	}
	second, err := proposer(s, s.Actor)
	if err != nil {
		return err
	}
	if err := herself(s, p, second.ID); err != nil {
		return err
	}
	rule, err := approvals.RuleIn(s)
	if err != nil {
		return err
	}
	if (p.OtherPlace || rule.OtherPlace) && (second.Institution == "" || p.Place == "" ||
		second.Institution == p.Place || second.Institution == first.Institution) {
		return agree.Refuse(agree.Denied, "proposal %d is from place %q, and you are of place %q: it needs a person "+
			"of another place", p.ID, p.Place, second.Institution)
	}
	if err := mayDo(s, s.Actor, p.Kind, p.Body); err != nil {
		return err
	}
	if err := mayDo(s, p.By, p.Kind, p.Body); err != nil {
		if !refused(err) {
			return err
		}
		return agree.Refuse(agree.Denied, "%s, who made proposal %d, may not do it any more: %v", p.Person, p.ID, err)
	}
	return nil
}
