package runs

import (
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
)

// find returns the harvest, or a refusal if there is none or it is being removed.
func find(s *agree.State, number uint64) (*Harvest, error) {
	h, there, err := agree.Get[Harvest](s, keyHarvest(number))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no harvest %d", number)
	}
	if h.Removing {
		return nil, agree.Refuse(agree.Conflict, "harvest %d is being removed", number)
	}
	return &h, nil
}

// put stores a harvest, and the date on which it is due.
func put(s *agree.State, was agree.Time, h *Harvest) error {
	if was != 0 && was != h.Next {
		s.Delete(keyDue(was, h.Number))
	}
	if h.Next != 0 {
		s.Mark(keyDue(h.Next, h.Number))
	}
	return s.Set(keyHarvest(h.Number), h)
}

// changed stores a harvest whose definition was changed.
func changed(s *agree.State, was agree.Time, h *Harvest) error {
	h.Version++
	h.Changed, h.By = s.At, s.Actor
	return put(s, was, h)
}

// CountFrom has no harvest get the number, or one before it.
func CountFrom(s *agree.State, number uint64) error {
	if number > 1<<63-1 {
		return agree.Refuse(agree.Invalid, "%d is the number of no harvest", number)
	}
	last, _, err := agree.Get[uint64](s, keyCount)
	if err != nil || number <= last {
		return err
	}
	return s.Set(keyCount, number)
}

func create(s *agree.State, b *Creation) (any, error) {
	switch b.Kind {
	case Selective, Event, Snapshot:
	default:
		return nil, agree.Refuse(agree.Invalid, "harvest of kind %q: want selective, event or snapshot",
			agree.Clip(string(b.Kind), 40))
	}
	if there, err := cluster.In(s).HasCollection(b.Collection); err != nil || !there {
		return nil, agree.OrNotFound(err, "no collection %q", agree.Clip(string(b.Collection), 64))
	}
	last, _, err := agree.Get[uint64](s, keyCount)
	if err != nil {
		return nil, err
	}
	h := &Harvest{Number: last + 1, Kind: b.Kind, Collection: b.Collection, Index: s.Index, Created: s.At}
	if err := s.Set(keyCount, h.Number); err != nil {
		return nil, err
	}
	if err := h.say(s, &b.Asked); err != nil {
		return nil, err
	}
	s.Mark(keyIn(h.Collection, h.Number))
	if err := changed(s, 0, h); err != nil {
		return nil, err
	}
	return h, s.Event(Create, h.Name, "number=%d kind=%s collection=%s", h.Number, h.Kind, h.Collection)
}

func set(s *agree.State, b *Change) (any, error) {
	h, err := find(s, b.Number)
	if err != nil {
		return nil, err
	}
	if h.Version != b.Version {
		return nil, agree.Refuse(agree.Conflict, "harvest %d was changed meanwhile: it has version %d", h.Number,
			h.Version)
	}
	was := h.Next
	if err := h.say(s, &b.Asked); err != nil {
		return nil, err
	}
	if h.Active {
		if err := h.due(b.Next); err != nil {
			return nil, err
		}
		if was != 0 && was <= s.At && h.Next > was {
			h.Skipped++ // it was due, and no run of it had begun
		}
	} else if b.Next != 0 {
		return nil, agree.Refuse(agree.Invalid, "harvest %d is not active, and has no date", h.Number)
	}
	if err := changed(s, was, h); err != nil {
		return nil, err
	}
	return h, s.Event(Set, h.Name, "number=%d version=%d", h.Number, h.Version)
}

// say gives a harvest what is said of it, and refuses what cannot be.
func (h *Harvest) say(s *agree.State, a *Asked) error {
	if err := h.check(a); err != nil {
		return err
	}
	if err := h.rename(s, a.Name); err != nil {
		return err
	}
	if err := domains.CheckFields(s, domains.OfHarvests, a.Fields); err != nil {
		return err
	}
	if err := h.checkUses(s, a); err != nil {
		return err
	}
	h.use(s, useChannel, h.Channel, a.Channel)
	h.use(s, useSchedule, h.Schedule, a.Schedule)
	h.use(s, useEarlier, numbered(h.Earlier), numbered(a.Earlier))
	domains.UseFields(s, domains.OfHarvests, agree.Hex(h.Number), h.Fields, a.Fields)
	h.Asked = *a
	return nil
}

// check refuses what no harvest of this kind can be, whatever else there is.
func (h *Harvest) check(a *Asked) error {
	snapshot := h.Kind == Snapshot
	for _, limit := range []*int64{a.Objects, a.Bytes} {
		if limit != nil && *limit < 0 {
			return agree.Refuse(agree.Invalid, "limit %d: want 0 or more, or none for no limit", *limit)
		}
	}
	switch {
	case a.Name == "" || len(a.Name) > maxName || !utf8.ValidString(a.Name) || strings.TrimSpace(a.Name) != a.Name ||
		strings.ContainsFunc(a.Name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return agree.Refuse(agree.Invalid, "harvest %q: want a readable name of 1 to %d bytes, without white space at "+
			"its ends", agree.Clip(a.Name, 100), maxName)
	case snapshot && a.Schedule != "":
		return agree.Refuse(agree.Invalid, "a snapshot harvest runs once and has no schedule")
	case !snapshot && a.Schedule == "":
		return agree.Refuse(agree.Invalid, "%s harvests need a schedule", h.Kind)
	case !snapshot && (a.Objects != nil || a.Bytes != nil || a.MaxTime != 0 || a.Earlier != 0):
		return agree.Refuse(agree.Invalid, "only a snapshot harvest has limits of its own, or continues another")
	case a.MaxTime < 0 || a.Start < 0:
		return agree.Refuse(agree.Invalid, "a time is below 0")
	case len(a.Audience) > maxAudience || !utf8.ValidString(a.Audience):
		return agree.Refuse(agree.Invalid, "audience of %d bytes: want at most %d, of UTF-8", len(a.Audience),
			maxAudience)
	case len(a.Comments) > maxComments || !utf8.ValidString(a.Comments):
		return agree.Refuse(agree.Invalid, "comments of %d bytes: want at most %d, of UTF-8", len(a.Comments),
			maxComments)
	}
	return nil
}

// checkUses refuses a channel, a schedule or an earlier snapshot that the harvest cannot use.
func (h *Harvest) checkUses(s *agree.State, a *Asked) error {
	v := harvests.NewView(s)
	if a.Channel != "" {
		c, there, err := notFound(v.Channel(a.Channel))
		if err != nil || !there {
			return agree.OrNotFound(err, "no channel %q", agree.Clip(a.Channel, 64))
		}
		if c.Snapshot != (h.Kind == Snapshot) {
			return agree.Refuse(agree.Invalid, "channel %s is not for %s harvests", c.Name, h.Kind)
		}
	}
	if a.Schedule != "" {
		if _, there, err := notFound(v.Definition(harvests.Schedule, a.Schedule)); err != nil || !there {
			return agree.OrNotFound(err, "no schedule %q", agree.Clip(a.Schedule, 64))
		}
	}
	return h.checkEarlier(s, a.Earlier)
}

// checkEarlier refuses to continue what is no snapshot, or has not run, or follows from this harvest.
func (h *Harvest) checkEarlier(s *agree.State, number uint64) error {
	if number == 0 {
		return nil
	}
	if number == h.Number {
		return agree.Refuse(agree.Invalid, "a snapshot does not continue itself")
	}
	if h.Runs > 0 && number != h.Earlier {
		return agree.Refuse(agree.Conflict, "harvest %d has run: what it continues stays", h.Number)
	}
	earlier, err := find(s, number)
	if err != nil {
		return err
	}
	switch {
	case earlier.Kind != Snapshot:
		return agree.Refuse(agree.Invalid, "harvest %d is %s: only a snapshot is continued", number, earlier.Kind)
	case earlier.Collection != h.Collection:
		return agree.Refuse(agree.Invalid, "snapshot %d is of collection %s", number, earlier.Collection)
	case earlier.Runs == 0:
		return agree.Refuse(agree.Conflict, "snapshot %d has not run yet: there is nothing to continue", number)
	}
	return nil
}

// rename gives the harvest its name, which no other has.
func (h *Harvest) rename(s *agree.State, name string) error {
	if h.Name == name {
		return nil
	}
	other, there, err := agree.Get[uint64](s, keyName(name))
	if err != nil || there {
		return agree.OrConflict(err, "harvest %d has the name %q already", other, agree.Clip(name, 100))
	}
	if h.Name != "" {
		s.Delete(keyName(h.Name))
	}
	h.Name = name
	return s.Set(keyName(name), h.Number)
}

// use notes what the harvest uses, in place of what it used.
func (h *Harvest) use(s *agree.State, what, was, is string) {
	if was == is {
		return
	}
	if was != "" {
		s.Delete(keyUse(what, was, h.Number))
	}
	if is != "" {
		s.Mark(keyUse(what, is, h.Number))
	}
}

// notFound parts what is not there from other errors.
func notFound[T any](v T, err error) (T, bool, error) {
	if err == agree.ErrNotFound {
		return v, false, nil
	}
	return v, err == nil, err
}

func hexText(text string) string { return hex.EncodeToString([]byte(text)) }

func numbered(number uint64) string {
	if number == 0 {
		return ""
	}
	return agree.Hex(number)
}
