package runs

import (
	"unicode/utf8"

	"holdfast/catalog/agree"
	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
	"holdfast/catalog/jobs"
)

// beginRun begins the run of a harvest that is due. It counts whether or not its jobs succeed. A harvest has at most
// one run whose jobs are being made.
func beginRun(s *agree.State, b *Beginning) (any, error) {
	h, err := find(s, b.Number)
	if err != nil {
		return nil, err
	}
	switch {
	case !h.Active || h.Next != b.Date:
		return nil, agree.Refuse(agree.Conflict, "harvest %d is not due at %d", h.Number, b.Date)
	case s.At < b.Date:
		return nil, agree.Refuse(agree.Conflict, "harvest %d is due at %d: it is %d", h.Number, b.Date, s.At)
	case b.Next != 0 && (h.Kind == Snapshot || b.Next <= b.Date):
		return nil, agree.Refuse(agree.Invalid, "%d cannot be the next date of harvest %d", b.Next, h.Number)
	case len(b.Schedule) > harvests.MaxText || !utf8.ValidString(b.Schedule):
		return nil, agree.Refuse(agree.Invalid, "a schedule of %d bytes: want at most %d, of UTF-8", len(b.Schedule),
			harvests.MaxText)
	}
	if open, err := agree.HasAny(s, prefixOpenOf(h.Number)); err != nil || open {
		return nil, agree.OrConflict(err, "the jobs of a run of harvest %d are being made", h.Number)
	}
	there := h.Configurations
	if h.Kind == Snapshot {
		if there, err = domains.NewView(s).Count(h.Collection); err != nil {
			return nil, err
		}
	}
	was := h.Next
	h.Runs++
	h.Skipped += b.Skipped
	h.Next, h.Active, h.Ended = b.Next, b.Next != 0, b.Next == 0
	r := &Run{Harvest: h.Number, Number: h.Runs, Date: b.Date, Begun: s.At, Index: s.Index, There: there,
		State: Splitting, Definition: h.Asked, Schedule: b.Schedule}
	s.Mark(keyOpen(r.Harvest, r.Number))
	if err := s.Set(keyRun(r.Harvest, r.Number), r); err != nil {
		return nil, err
	}
	if err := put(s, was, h); err != nil {
		return nil, err
	}
	return r, s.Event(BeginRun, h.Name, "number=%d run=%d date=%d skipped=%d next=%d", h.Number, r.Number, r.Date,
		b.Skipped, h.Next)
}

// endRun ends the making of a run's jobs: none of them is open any more. The same end again changes nothing.
func endRun(s *agree.State, b *Ending) (any, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	r, there, err := agree.Get[Run](s, keyRun(b.Number, b.Run))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no run %d of harvest %d", b.Run, b.Number)
	}
	if r.State != Splitting {
		return &r, nil
	}
	made, _, err := notFound(jobs.NewView(s).Run(b.Number, b.Run))
	if err != nil {
		return nil, err
	}
	if made.Open != 0 || made.Jobs != b.Jobs {
		return nil, agree.Refuse(agree.Conflict, "run %d of harvest %d has %d jobs, and job %d is open", b.Run,
			b.Number, made.Jobs, made.Open)
	}
	h, there, err := agree.Get[Harvest](s, keyHarvest(b.Number))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no harvest %d", b.Number)
	}
	r.State, r.Ended, r.Jobs, r.Configurations = Made, s.At, b.Jobs, b.Configurations
	r.LeftOut, r.Busy, r.Gone, r.GoneNames = b.LeftOut, b.Busy, b.Gone, b.GoneNames
	s.Delete(keyOpen(b.Number, b.Run))
	if b.Error != "" {
		r.State, r.Error, r.Detail = Failed, agree.ClipReason(b.Error), agree.Clip(b.Detail, maxDetail)
		was := h.Next
		h.Active, h.Next, h.Error, h.Detail = false, 0, r.Error, r.Detail
		s.Mark(keyFailed(h.Number))
		if err := put(s, was, &h); err != nil {
			return nil, err
		}
	}
	if err := s.Set(keyRun(b.Number, b.Run), r); err != nil {
		return nil, err
	}
	return &r, s.Event(EndRun, h.Name, "number=%d run=%d jobs=%d configurations=%d gone=%d error=%s", h.Number,
		r.Number, r.Jobs, r.Configurations, r.Gone, agree.ClipReason(r.Error))
}

func (b *Ending) check() error {
	if b.Configurations < 0 || b.Busy < 0 || b.Gone < 0 || len(b.LeftOut) > maxReasons {
		return agree.Refuse(agree.Invalid, "the end of a run counts nothing below 0, and at most %d reasons",
			maxReasons)
	}
	if len(b.GoneNames) > MaxGone {
		return agree.Refuse(agree.Invalid, "the end of a run names at most %d configurations that were deleted",
			MaxGone)
	}
	for _, c := range b.GoneNames {
		if len(c.Domain) > 253 || len(c.Name) > 64 || !utf8.ValidString(string(c.Domain)+c.Name) {
			return agree.Refuse(agree.Invalid, "%q is no configuration", agree.Clip(c.Name, 64))
		}
	}
	for reason, n := range b.LeftOut {
		if n < 0 || len(reason) > 64 || !utf8.ValidString(reason) {
			return agree.Refuse(agree.Invalid, "left out: %d for %q", n, agree.Clip(reason, 64))
		}
	}
	return nil
}
