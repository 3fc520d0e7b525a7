package notices

import (
	"errors"
	"slices"
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// create makes an address.
func create(s *agree.State, b *Setting) (any, error) {
	a := b.Address
	if err := checkAddress(s, &a); err != nil {
		return nil, err
	}
	all, err := agree.Tails(s, PrefixAddresses, "", 0)
	if err != nil {
		return nil, err
	}
	if slices.Contains(all, a.Name) {
		return nil, agree.Refuse(agree.Conflict, "there is an address %s already", a.Name)
	}
	if len(all) >= MostAddresses {
		return nil, agree.Refuse(agree.Conflict, "there are %d addresses: at most %d", len(all), MostAddresses)
	}
	if a.Way == Webhook && a.Sealed == nil {
		return nil, agree.Refuse(agree.Invalid, "a webhook needs its URL and its secret, sealed")
	}
	number, _, err := agree.Get[uint64](s, keyNumbers)
	if err != nil {
		return nil, err
	}
	a.Number, a.Version, a.Created, a.Changed, a.By = number+1, 1, s.At, s.At, s.Actor
	if err := s.Set(keyNumbers, a.Number); err != nil {
		return nil, err
	}
	// A report has what comes from now on.
	if err := s.Set(keyState(a.Number), State{Last: s.At}); err != nil {
		return nil, err
	}
	return nil, errors.Join(s.Set(keyAddress(a.Name), a), s.Event(Create, a.Name, "%s", a.describe()))
}

// set puts an address in the place of the one of its version.
func set(s *agree.State, b *Setting) (any, error) {
	a := b.Address
	if err := checkAddress(s, &a); err != nil {
		return nil, err
	}
	old, err := address(s, a.Name)
	if err != nil {
		return nil, err
	}
	if a.Version != old.Version {
		return nil, agree.Refuse(agree.Conflict, "address %s is of version %d by now", a.Name, old.Version)
	}
	if a.Way != old.Way {
		return nil, agree.Refuse(agree.Invalid, "address %s is of the way %s: make another for another way", a.Name,
			old.Way)
	}
	if a.Way == Webhook && a.Sealed == nil {
		if a.To[0] != old.To[0] {
			return nil, agree.Refuse(agree.Invalid, "another host needs its URL and its secret, sealed")
		}
		a.Sealed = old.Sealed
	}
	a.Number, a.Version, a.Created, a.Changed, a.By = old.Number, old.Version+1, old.Created, s.At, s.Actor
	return nil, errors.Join(s.Set(keyAddress(a.Name), a), s.Event(Set, a.Name, "%s", a.describe()))
}

// remove removes an address and what is on its way there.
func remove(s *agree.State, b *Ref) (any, error) {
	a, err := address(s, b.Name)
	if err != nil {
		return nil, err
	}
	ids, err := agree.Tails(s, prefixNotices(a.Name), "", 0)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		s.Delete(keyNotice(a.Name, id))
	}
	s.Delete(keyState(a.Number))
	s.Delete(keyAddress(a.Name))
	return nil, s.Event(Remove, a.Name, "%s", a.describe())
}

func address(s *agree.State, name string) (Address, error) {
	a, there, err := agree.Get[Address](s, keyAddress(name))
	if err == nil && !there {
		err = agree.Refuse(agree.NotFound, "no address %q", agree.Clip(name, 64))
	}
	return a, err
}

// describe says in the trail what an address is, without secrets.
func (a *Address) describe() string {
	parts := []string{"way=" + string(a.Way), "to=" + strings.Join(a.To, ","), "when=" + string(a.When)}
	if a.Inside {
		parts = append(parts, "inside=true")
	}
	for _, p := range [][2]string{{"kinds", strings.Join(a.Kinds, ",")}, {"least", a.Least},
		{"collection", a.Collection}, {"place", a.Place}, {"hour", a.Hour}, {"zone", a.Zone}} {
		if p[1] != "" {
			parts = append(parts, p[0]+"="+agree.Clip(p[1], 500))
		}
	}
	return strings.Join(parts, " ")
}

// sealAgain gives an address's secret to more members, and takes the boxes of those that cannot open it any more.
func sealAgain(s *agree.State, b *Resealing) (any, error) {
	a, err := address(s, b.Name)
	if err != nil {
		return nil, err
	}
	if a.Sealed == nil || a.Sealed.ID != b.ID {
		return nil, agree.Refuse(agree.Conflict, "address %s has another secret by now", a.Name)
	}
	if err := checkBoxes(s, b.Boxes); err != nil {
		return nil, err
	}
	boxes := slices.Clone(b.Boxes)
	for _, old := range a.Sealed.Boxes {
		m, there, err := cluster.In(s).Member(old.Node)
		if err != nil {
			return nil, err
		}
		replaced := slices.ContainsFunc(b.Boxes, func(n Box) bool { return n.Node == old.Node })
		if there && !replaced && opens(&m, &old) {
			boxes = append(boxes, old)
		}
	}
	if len(boxes) == 0 {
		return nil, agree.Refuse(agree.Unsafe, "nobody could open the secret of address %s any more", a.Name)
	}
	slices.SortFunc(boxes, func(a, b Box) int { return strings.Compare(string(a.Node), string(b.Node)) })
	a.Sealed.Boxes = boxes
	return nil, s.Set(keyAddress(a.Name), a)
}
