package approvals

import (
	"encoding/json"

	"holdfast/catalog/agree"
	"holdfast/catalog/people"
)

const (
	maxWaiting = 200     // proposals that wait
	maxBody    = 8 << 10 // bytes of a command that waits
	maxKept    = 1000    // proposals that do not wait any more
	dropAtOnce = 4
)

// RuleIn returns the rule that holds.
func RuleIn(r agree.Reader) (Rule, error) {
	rule, _, err := agree.Get[Rule](r, keyRule)
	return rule, err
}

// Waits refuses an act of the class while it waits for a second person. Every road to such an act leads by here.
func Waits(s *agree.State, class Class) error {
	if class == "" || s.Cluster.Level < Level {
		return nil
	}
	rule, err := RuleIn(s)
	if err != nil || !rule.Waits(class) {
		return err
	}
	return agree.Refuse(agree.Unapproved, "%s waits for a second person: it is proposed, and carried out when granted",
		class)
}

// SetRule changes the rule. Whether that may be done now, the catalog has asked.
func SetRule(s *agree.State, b *Setting) (*Rule, error) {
	old, err := RuleIn(s)
	if err != nil {
		return nil, err
	}
	if b.Version != old.Version {
		return nil, agree.Refuse(agree.Conflict, "the rule has changed since it was looked at: it is version %d now, "+
			"it was %d", old.Version, b.Version)
	}
	rule := Rule{OtherPlace: b.OtherPlace, Limit: b.Limit, Version: old.Version + 1, By: s.Actor, At: s.At}
	if rule.Limit == 0 {
		rule.Limit = DefaultLimit
	}
	if rule.Limit < LeastLimit || rule.Limit > MostLimit {
		return nil, agree.Refuse(agree.Invalid, "a proposal waits for an hour at least, and 90 days at most")
	}
	asked := map[Class]bool{}
	for _, class := range b.Acts {
		asked[class] = true
	}
	for _, class := range Classes() {
		if asked[class] {
			rule.Acts = append(rule.Acts, class)
		}
		delete(asked, class)
	}
	if len(asked) > 0 || len(b.Acts) > len(rule.Acts) {
		return nil, agree.Refuse(agree.Invalid, "acts %q: want some of %q, each once", b.Acts, Classes())
	}
	if err := s.Set(keyRule, rule); err != nil {
		return nil, err
	}
	return &rule, s.Event(Set, "", "acts=%q otherplace=%t limit=%d reason=%s", rule.Acts, rule.OtherPlace, rule.Limit,
		agree.ClipReason(b.Reason))
}

// Make keeps a proposal of the person's. The act was weighed, and she may do it.
func Make(s *agree.State, b *Proposing, act Act, by people.Person) (*Proposal, error) {
	rule, err := RuleIn(s)
	if err != nil {
		return nil, err
	}
	if len(b.Body) > maxBody {
		return nil, agree.Refuse(agree.Invalid, "a command of %d bytes cannot wait: at most %d", len(b.Body), maxBody)
	}
	if err := makeRoom(s); err != nil {
		return nil, err
	}
	last, _, err := agree.Get[uint64](s, keyCount)
	if err != nil {
		return nil, err
	}
	var said struct {
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal(b.Body, &said); err != nil {
		return nil, agree.Refuse(agree.Invalid, "body: %v", err)
	}
	p := Proposal{ID: last + 1, Act: act, Kind: b.Kind, Body: b.Body, Reason: agree.ClipReason(said.Reason),
		By: s.Actor, Person: by.ID, Place: by.Institution, OtherPlace: rule.OtherPlace, Epoch: s.Cluster.Epoch,
		Made: s.At, Until: s.At + rule.Limit, State: Waiting}
	if p.Sum, err = p.sum(); err != nil {
		return nil, err
	}
	if err := s.Set(keyCount, p.ID); err != nil {
		return nil, err
	}
	if err := s.Set(keyProposal(p.ID), p); err != nil {
		return nil, err
	}
	s.Mark(keyWaiting(p.ID))
	return &p, s.Event(Propose, agree.Hex(p.ID),
		"kind=%s class=%s subject=%s files=%d bytes=%d sha256=%s sum=%s reason=%s", p.Kind, p.Class, p.Subject,
		p.Files, p.Bytes, p.SHA256, p.Sum, p.Reason)
}

// makeRoom drops proposals that are over, and refuses another one while very many wait.
func makeRoom(s *agree.State) error {
	ids, err := waiting(s)
	if err != nil {
		return err
	}
	n := 0
	for _, id := range ids {
		p, there, err := agree.Get[Proposal](s, keyProposal(id))
		if err != nil {
			return err
		}
		if n++; there && p.Late(s.At) {
			s.Delete(keyWaiting(id))
			n--
		}
	}
	if n >= maxWaiting {
		return agree.Refuse(agree.Conflict, "%d proposals wait for a second person: no more", n)
	}
	tails, err := agree.Tails(s, prefixProposals, "", 0)
	if err != nil {
		return err
	}
	dropped := 0
	for i := 0; i < len(tails)-maxKept && dropped < dropAtOnce; i++ {
		if waits, err := agree.Has(s, prefixWaiting+tails[i]); err != nil || waits {
			if err != nil {
				return err
			}
			continue
		}
		s.Delete(prefixProposals + tails[i])
		dropped++
	}
	return nil
}

// Ready returns the proposal that a decision is about, if it still waits.
func Ready(s *agree.State, b *Decision) (Proposal, error) {
	p, there, err := agree.Get[Proposal](s, keyProposal(b.ID))
	if err != nil || !there {
		return p, agree.OrNotFound(err, "no proposal %d", b.ID)
	}
	switch {
	case p.Sum != b.Sum:
		return p, agree.Refuse(agree.Conflict, "proposal %d is another one than was looked at", p.ID)
	case p.State != Waiting:
		return p, agree.Refuse(agree.Conflict, "proposal %d of %s, from place %q, was %s already", p.ID, p.Person,
			p.Place, p.State)
	case p.Late(s.At):
		return p, agree.Refuse(agree.Conflict,
			"proposal %d of %s, from place %q, expired: it has to be made again", p.ID, p.Person, p.Place)
	}
	return p, nil
}

// Settle keeps what became of a proposal.
func Settle(s *agree.State, p *Proposal, state State, act agree.Kind, why string) (*Proposal, error) {
	p.State, p.Decided, p.DecidedBy, p.Why = state, s.At, s.Actor, agree.ClipReason(why)
	if err := s.Set(keyProposal(p.ID), *p); err != nil {
		return nil, err
	}
	s.Delete(keyWaiting(p.ID))
	return p, s.Event(act, agree.Hex(p.ID), "kind=%s subject=%s by=%s sum=%s reason=%s", p.Kind, p.Subject, p.By, p.Sum,
		p.Why)
}

// deny ends a proposal without carrying it out. Who made it withdraws it.
func deny(s *agree.State, b *Decision) (any, error) {
	p, err := Ready(s, b)
	if err != nil {
		return nil, err
	}
	who, err := people.NewView(s).Behind(s.Actor)
	if err != nil {
		return nil, err
	}
	if who == p.Person {
		return nil, agree.Refuse(agree.Denied, "proposal %d is your own: withdraw it", p.ID)
	}
	return Settle(s, &p, Denied, Deny, b.Reason)
}

// withdraw is for the person who made the proposal, and her programs.
func withdraw(s *agree.State, b *Decision) (any, error) {
	p, err := Ready(s, b)
	if err != nil {
		return nil, err
	}
	who, err := people.NewView(s).Behind(s.Actor)
	if err != nil {
		return nil, err
	}
	if who == "" || who != p.Person {
		return nil, agree.Refuse(agree.Denied, "proposal %d is not yours: deny it", p.ID)
	}
	return Settle(s, &p, Withdrawn, Withdraw, b.Reason)
}
