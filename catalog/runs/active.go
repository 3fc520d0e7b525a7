package runs

import (
	"holdfast/catalog/agree"
)

// due gives an active harvest its next date.
func (h *Harvest) due(next agree.Time) error {
	if next <= 0 || next < h.Start {
		return agree.Refuse(agree.Invalid, "harvest %d needs a next date that is not before its start", h.Number)
	}
	h.Next, h.Ended = next, false
	return nil
}

// activate makes a harvest wait for its next date. One that the system deactivated because of an error begins afresh.
func activate(s *agree.State, b *Activation) (any, error) {
	h, err := find(s, b.Number)
	if err != nil {
		return nil, err
	}
	switch {
	case h.Version != b.Version:
		return nil, agree.Refuse(agree.Conflict, "harvest %d was changed meanwhile: it has version %d", h.Number,
			h.Version)
	case h.Active:
		return nil, agree.Refuse(agree.Conflict, "harvest %d is active", h.Number)
	case h.Kind != Snapshot && h.Configurations == 0:
		return nil, agree.Refuse(agree.Conflict, "harvest %d has no configurations: add some first", h.Number)
	}
	if h.Kind == Snapshot && h.Runs > 0 {
		last, _, err := agree.Get[Run](s, keyRun(h.Number, h.Runs))
		if err != nil {
			return nil, err
		}
		if last.State != Failed || last.Jobs > 0 { // else it is as if it had not run
			return nil, agree.Refuse(agree.Conflict, "snapshot %d has run; make another one that continues it",
				h.Number)
		}
	}
	if err := h.due(b.Next); err != nil {
		return nil, err
	}
	if h.Error != "" {
		s.Delete(keyFailed(h.Number))
	}
	h.Active, h.Since, h.Error, h.Detail = true, min(s.At, h.Next), "", ""
	if err := changed(s, 0, h); err != nil {
		return nil, err
	}
	return h, s.Event(Activate, h.Name, "number=%d next=%d", h.Number, h.Next)
}

// deactivate has a harvest run no more. A run whose jobs are being made goes on. The error of one that the system
// deactivated is settled by that: its run keeps it.
func deactivate(s *agree.State, b *Ref) (any, error) {
	h, err := find(s, b.Number)
	if err != nil || !h.Active && h.Error == "" {
		return h, err
	}
	if h.Error != "" {
		s.Delete(keyFailed(h.Number))
	}
	was := h.Next
	h.Active, h.Next, h.Error, h.Detail = false, 0, "", ""
	if err := changed(s, was, h); err != nil {
		return nil, err
	}
	return h, s.Event(Deactivate, h.Name, "number=%d reason=%s", h.Number, agree.ClipReason(b.Reason))
}

// removeChunk is how many configurations of a harvest one command removes.
const removeChunk = 400

// remove removes a harvest that never ran, some of its configurations with each command. The answer is whether
// something is left; then it is asked for again.
func remove(s *agree.State, b *Ref) (any, error) {
	h, there, err := agree.Get[Harvest](s, keyHarvest(b.Number))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no harvest %d", b.Number)
	}
	if h.Active {
		return nil, agree.Refuse(agree.Conflict, "harvest %d is active: deactivate it first", h.Number)
	}
	if h.Runs > 0 {
		return nil, agree.Refuse(agree.Conflict, "harvest %d has run: its history stays, and it with it", h.Number)
	}
	if !h.Removing {
		h.Removing = true
		if err := s.Event(Remove, h.Name, "number=%d reason=%s", h.Number, agree.ClipReason(b.Reason)); err != nil {
			return nil, err
		}
	}
	some, err := NewView(s).Configurations(h.Number, Configuration{}, removeChunk)
	if err != nil {
		return nil, err
	}
	for _, c := range some {
		h.drop(s, c)
	}
	if h.Configurations > 0 {
		return true, s.Set(keyHarvest(h.Number), h)
	}
	h.use(s, useChannel, h.Channel, "")
	h.use(s, useSchedule, h.Schedule, "")
	h.use(s, useEarlier, numbered(h.Earlier), "")
	h.forget(s)
	return false, nil
}
