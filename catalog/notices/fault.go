package notices

import (
	"unicode/utf8"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// report keeps which alerts began and which ended. Items that do not fit the state change nothing.
func report(s *agree.State, b *Reporting) (any, error) {
	if err := agree.CheckItems(len(b.Raised) + len(b.Cleared)); err != nil {
		return nil, err
	}
	if err := s.SpeaksFor(b.Node); err != nil {
		return nil, err
	}
	m, there, err := cluster.In(s).Member(b.Node)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no member %q", agree.Clip(string(b.Node), 60))
	}
	for i := range b.Raised {
		r := &b.Raised[i]
		if err := checkRaising(&m, r); err != nil {
			return nil, err
		}
		if err := raise(s, r); err != nil {
			return nil, err
		}
	}
	for i := range b.Cleared {
		c := &b.Cleared[i]
		if err := checkOf(&c.Of); err != nil {
			return nil, err
		}
		if c.Node != "" && c.Node != m.Name {
			// What a node saw that is no member any more, others clear.
			if _, taken, err := cluster.In(s).Named(c.Node); err != nil || taken {
				return nil, orDenied(err, &m, c.Node)
			}
		}
		if err := clearFault(s, c); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func checkRaising(m *cluster.Member, r *Raising) error {
	if err := checkOf(&r.Of); err != nil {
		return err
	}
	if r.Node != "" && r.Node != m.Name {
		return orDenied(nil, m, r.Node)
	}
	if !isSeverity(r.Severity) {
		return agree.Refuse(agree.Invalid, "severity %q: want look or bad", agree.Clip(r.Severity, 20))
	}
	if len(r.Parameters) > mostParameters {
		return agree.Refuse(agree.Invalid, "%d parameters: at most %d", len(r.Parameters), mostParameters)
	}
	for name, value := range r.Parameters {
		if !isWord(name) || len(value) > mostSubject || !utf8.ValidString(value) {
			return agree.Refuse(agree.Invalid, "a parameter of %s is no text of at most %d bytes", r.Kind, mostSubject)
		}
	}
	return nil
}

func orDenied(err error, m *cluster.Member, node string) error {
	if err != nil {
		return err
	}
	return agree.Refuse(agree.Denied, "node %s does not report what node %s alone sees", m.Name, node)
}

func raise(s *agree.State, r *Raising) error {
	key := r.Key()
	f, there, err := agree.Get[Fault](s, keyFault(key))
	if err != nil || there && (f.Open() || r.Round != 0 && r.Round <= f.Round) {
		return err
	}
	if !there {
		rounds, _, err := agree.Get[uint64](s, keyRounds)
		if err != nil || r.Round != 0 && r.Round <= rounds {
			return err
		}
		f.Round = rounds
		count, _, err := agree.Get[int](s, keyCount)
		if err != nil || count >= MostFaults {
			return err
		}
		if err := s.Set(keyCount, count+1); err != nil {
			return err
		}
	}
	since := s.At
	if r.Since > 0 && r.Since < s.At {
		since = r.Since
	}
	return s.Set(keyFault(key), Fault{Of: r.Of, Severity: r.Severity, Parameters: r.Parameters, Round: f.Round + 1,
		Since: since, Raised: s.At})
}

// clearFault ends a fault, and that it is acknowledged.
func clearFault(s *agree.State, c *Clearing) error {
	key := c.Key()
	f, there, err := agree.Get[Fault](s, keyFault(key))
	if err != nil || !there || !f.Open() || c.Round != 0 && c.Round < f.Round {
		return err
	}
	f.Cleared = s.At
	if err := s.Set(keyFault(key), f); err != nil {
		return err
	}
	known, err := agree.Has(s, keyAcknowledged(key))
	if known {
		s.Delete(keyAcknowledged(key))
	}
	return err
}

// drop removes what is old, with what was told of it. What is not old stays.
func drop(s *agree.State, b *Dropping) (any, error) {
	if err := agree.CheckItems(len(b.Faults) + len(b.Tests)); err != nil {
		return nil, err
	}
	count, _, err := agree.Get[int](s, keyCount)
	if err != nil {
		return nil, err
	}
	rounds, _, err := agree.Get[uint64](s, keyRounds)
	if err != nil {
		return nil, err
	}
	for i := range b.Faults {
		key := b.Faults[i].Key()
		f, there, err := agree.Get[Fault](s, keyFault(key))
		if err != nil {
			return nil, err
		}
		if !there || f.Open() || s.At-f.Cleared < KeptFor {
			continue
		}
		s.Delete(keyFault(key))
		s.Delete(keyTold(key))
		count, rounds = count-1, max(rounds, f.Round)
	}
	for _, t := range b.Tests {
		n, there, err := agree.Get[Notice](s, keyNotice(t.Address, t.ID))
		if err != nil {
			return nil, err
		}
		if there && n.Test && s.At-n.First >= TestKept {
			s.Delete(keyNotice(t.Address, t.ID))
		}
	}
	if err := s.Set(keyCount, count); err != nil {
		return nil, err
	}
	return nil, s.Set(keyRounds, rounds)
}

// acknowledge keeps that somebody knows of a fault that lasts.
func acknowledge(s *agree.State, b *Acknowledging) (any, error) {
	if err := checkOf(&b.Of); err != nil {
		return nil, err
	}
	if b.Note == "" || len(b.Note) > 500 || !agree.Readable(b.Note) {
		return nil, agree.Refuse(agree.Invalid, "a note of 1 to 500 bytes of readable text says why")
	}
	if b.Until <= s.At || b.Until > s.At+AcknowledgedMost {
		return nil, agree.Refuse(agree.Invalid, "until: want a time within the next %d days", AcknowledgedMost/day)
	}
	f, there, err := agree.Get[Fault](s, keyFault(b.Key()))
	if err != nil {
		return nil, err
	}
	if !there || !f.Open() {
		return nil, agree.Refuse(agree.NotFound, "there is no alert %s: nodes report what they see within a minute",
			describe(&b.Of))
	}
	is := Acknowledgement{Of: b.Of, Round: f.Round, By: s.Actor, At: s.At, Until: b.Until, Note: b.Note}
	if err := s.Set(keyAcknowledged(b.Key()), is); err != nil {
		return nil, err
	}
	return is, s.Event(Acknowledge, subjectOf(&b.Of), "kind=%s node=%s until=%d note=%s", b.Kind, b.Node, b.Until,
		b.Note)
}

// withdraw takes it back that a fault is acknowledged.
func withdraw(s *agree.State, b *Of) (any, error) {
	if err := checkOf(b); err != nil {
		return nil, err
	}
	there, err := agree.Has(s, keyAcknowledged(b.Key()))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "alert %s is not acknowledged", describe(b))
	}
	s.Delete(keyAcknowledged(b.Key()))
	return nil, s.Event(Withdraw, subjectOf(b), "kind=%s node=%s", b.Kind, b.Node)
}

// describe says which alert is meant.
func describe(o *Of) string {
	text := o.Kind
	if o.Subject != "" {
		text += " of " + agree.Clip(o.Subject, 100)
	}
	if o.Node != "" {
		text += " on node " + o.Node
	}
	return text
}

// subjectOf is what an event of the trail is about.
func subjectOf(o *Of) string {
	switch {
	case o.Subject != "":
		return agree.Clip(o.Subject, 200)
	case o.Node != "":
		return o.Node
	}
	return o.Kind
}
