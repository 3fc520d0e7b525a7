package notices

import (
	"errors"

	"holdfast/catalog/agree"
)

// test puts a notice on its way that says only that it is a test.
func test(s *agree.State, b *Testing) (any, error) {
	a, err := address(s, b.Name)
	if err != nil {
		return nil, err
	}
	if err := agree.CheckName("notice", b.ID); err != nil {
		return nil, err
	}
	all, err := agree.List[Notice](s, prefixNotices(a.Name), "", 0)
	if err != nil {
		return nil, err
	}
	for i := range all {
		switch n := &all[i]; {
		case n.ID == b.ID:
			return nil, agree.Refuse(agree.Conflict, "there is a notice %s already", b.ID)
		case n.Test && !n.Ended() && s.At-n.First < ClaimLasts:
			return nil, agree.Refuse(agree.Conflict, "another test of %s is under way", a.Name)
		case n.Test:
			s.Delete(keyNotice(a.Name, n.ID))
		}
	}
	n := Notice{Address: a.Name, ID: b.ID, Test: true, Due: s.At, First: s.At, Next: s.At}
	return nil, errors.Join(s.Set(keyNotice(a.Name, n.ID), n), s.Event(Test, a.Name, "notice=%s", n.ID))
}

// claim gives a notice to the node that delivers it. Its value is the notice.
func claim(s *agree.State, b *Claiming) (any, error) {
	if err := s.SpeaksFor(b.Node); err != nil {
		return nil, err
	}
	a, err := address(s, b.Notice.Address)
	if err != nil {
		return nil, err
	}
	if err := agree.CheckName("notice", b.Notice.ID); err != nil {
		return nil, err
	}
	n, there, err := agree.Get[Notice](s, keyNotice(a.Name, b.Notice.ID))
	if err != nil {
		return nil, err
	}
	if !there {
		if n, err = begin(s, &a, &b.Notice); err != nil {
			return nil, err
		}
	}
	if n.Ended() || s.At < n.Next {
		return nil, agree.Refuse(agree.Conflict, "notice %s is not to be delivered now", n.ID)
	}
	n.Node, n.Tries, n.Next = b.Node, n.Tries+1, s.At+ClaimLasts
	return n, s.Set(keyNotice(a.Name, n.ID), n)
}

// begin makes a notice of what is not told yet, nor on its way.
func begin(s *agree.State, a *Address, asked *Notice) (Notice, error) {
	n := Notice{Address: a.Name, ID: asked.ID, Items: asked.Items, Report: asked.Report, Due: asked.Due, First: s.At,
		Next: s.At}
	if len(n.Items) > agree.MaxItems || len(n.Items) == 0 && !n.Report || n.Report != (a.When == Daily) {
		return n, agree.Refuse(agree.Invalid, "a notice of %d items to address %s, which is told %s", len(n.Items),
			a.Name, a.When)
	}
	state, _, err := agree.Get[State](s, keyState(a.Number))
	if err != nil {
		return n, err
	}
	if n.Due > s.At || a.When != AtOnce && n.Due <= state.Last {
		return n, agree.Refuse(agree.Conflict, "address %s is not to be told now", a.Name)
	}
	under, err := agree.List[Notice](s, prefixNotices(a.Name), "", 0)
	if err != nil {
		return n, err
	}
	if len(under) > MostNotices {
		return n, agree.Refuse(agree.Conflict, "%d notices to address %s are under way", len(under), a.Name)
	}
	for i := range n.Items {
		if err := untold(s, a, under, &n.Items[i]); err != nil {
			return n, err
		}
	}
	for i := range under {
		if a.When != AtOnce && !under[i].Test {
			return n, agree.Refuse(agree.Conflict, "a notice to address %s is under way", a.Name)
		}
	}
	return n, nil
}

// untold refuses an item that does not fit the state.
func untold(s *agree.State, a *Address, under []Notice, it *Item) error {
	if err := checkOf(&it.Of); err != nil {
		return err
	}
	key := it.Key()
	f, there, err := agree.Get[Fault](s, keyFault(key))
	if err != nil {
		return err
	}
	if !there || f.Round != it.Round || it.Cleared == f.Open() {
		return agree.Refuse(agree.Conflict, "alert %s is another by now", describe(&it.Of))
	}
	told, _, err := agree.Get[map[uint64]Told](s, keyTold(key))
	if err != nil {
		return err
	}
	if t := told[a.Number]; t.Round == it.Round && (t.Cleared || !it.Cleared) {
		return agree.Refuse(agree.Conflict, "address %s was told of alert %s", a.Name, describe(&it.Of))
	}
	for i := range under {
		for _, other := range under[i].Items {
			if other == *it {
				return agree.Refuse(agree.Conflict, "alert %s is on its way to address %s", describe(&it.Of), a.Name)
			}
		}
	}
	return nil
}

// settle keeps how a try ended. That something was told is kept whoever says so last.
func settle(s *agree.State, b *Outcome) (any, error) {
	if err := s.SpeaksFor(b.Node); err != nil {
		return nil, err
	}
	if len(b.Items) > agree.MaxItems {
		return nil, agree.CheckItems(len(b.Items))
	}
	a, err := address(s, b.Address)
	if err != nil {
		return nil, err
	}
	n, there, err := agree.Get[Notice](s, keyNotice(a.Name, b.ID))
	if err != nil {
		return nil, err
	}
	if b.Failed != "" {
		if !there || n.Ended() || n.Node != b.Node || n.Tries != b.Tries {
			return nil, agree.Refuse(agree.Conflict, "try %d of notice %s is not that node's any more", b.Tries,
				agree.Clip(b.ID, 64))
		}
		return nil, failed(s, &a, &n, agree.ClipReason(b.Failed))
	}
	if !there {
		n = Notice{Items: b.Items} // told without a quorum, or agreed already
	} else if n.Ended() {
		return nil, nil
	}
	return nil, told(s, &a, &n, there)
}

// told keeps that the receiver has accepted a notice.
func told(s *agree.State, a *Address, n *Notice, agreed bool) error {
	state, _, err := agree.Get[State](s, keyState(a.Number))
	if err != nil {
		return err
	}
	if n.Test {
		n.Told, n.Reason = s.At, ""
		err = s.Set(keyNotice(a.Name, n.ID), n)
	} else {
		if err = markTold(s, a, n, false); err == nil && agreed {
			s.Delete(keyNotice(a.Name, n.ID))
			state.Last, state.Told = max(state.Last, n.Due), state.Told+1
		}
	}
	state.GivenUp, state.Reason = 0, ""
	return errors.Join(err, s.Set(keyState(a.Number), state))
}

// failed lets a notice wait for its next try, or gives it up.
func failed(s *agree.State, a *Address, n *Notice, reason string) error {
	n.Reason, n.Next = reason, s.At+Pause(n.Tries)
	if !n.Test && s.At-n.First < TryFor {
		return s.Set(keyNotice(a.Name, n.ID), n)
	}
	state, _, err := agree.Get[State](s, keyState(a.Number))
	if err != nil {
		return err
	}
	if n.Test {
		n.GivenUp = s.At
		return s.Set(keyNotice(a.Name, n.ID), n)
	}
	s.Delete(keyNotice(a.Name, n.ID))
	state.GivenUp, state.Reason, state.Lost = s.At, reason, state.Lost+1
	state.Last = max(state.Last, n.Due)
	return errors.Join(markTold(s, a, n, true), s.Set(keyState(a.Number), state),
		s.Event(Settle, a.Name, "notice=%s given up after %d tries: %s", n.ID, n.Tries, reason))
}

// markTold keeps that an address knows of the items, or that it is not to be told of them any more.
func markTold(s *agree.State, a *Address, n *Notice, lost bool) error {
	for i := range n.Items {
		it := &n.Items[i]
		key := it.Key()
		f, there, err := agree.Get[Fault](s, keyFault(key))
		if err != nil {
			return err
		}
		if !there || it.Round > f.Round {
			continue
		}
		all, _, err := agree.Get[map[uint64]Told](s, keyTold(key))
		if err != nil {
			return err
		}
		was := all[a.Number]
		if it.Round < was.Round || it.Round == was.Round && was.Cleared {
			continue
		}
		if all == nil {
			all = map[uint64]Told{}
		}
		all[a.Number] = Told{Round: it.Round, At: s.At, Cleared: it.Cleared, Lost: lost}
		if err := s.Set(keyTold(key), all); err != nil {
			return err
		}
	}
	return nil
}
