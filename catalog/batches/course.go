package batches

import (
	"errors"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

func batch(s *agree.State, id string) (*Batch, error) {
	b, there, err := agree.Get[Batch](s, keyBatch(id))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no batch %q", agree.Clip(id, 64))
	}
	return &b, nil
}

// wish pauses, resumes or stops a batch. What is so already stays as it is.
func wish(s *agree.State, b *Wishing) (any, error) {
	one, err := batch(s, b.ID)
	if err != nil {
		return nil, err
	}
	reason := agree.ClipReason(b.Reason)
	switch {
	case b.Wish == "stop" && one.State == Stopped, b.Wish == "pause" && one.State == Paused,
		b.Wish == "run" && one.State == Running:
		return one, nil
	case b.Wish != "stop" && b.Wish != "pause" && b.Wish != "run":
		return nil, agree.Refuse(agree.Invalid, "wish %q: run, pause or stop", agree.Clip(b.Wish, 40))
	case one.State.Ended():
		return nil, agree.Refuse(agree.Conflict, "batch %s has ended: it is %s", one.ID, one.State)
	case b.Wish == "stop":
		one.resume(s)
		one.State, one.Reason, one.Ended = Stopped, reason, s.At
	case one.State == Opening:
		return nil, agree.Refuse(agree.Conflict, "batch %s has not begun: its list of names is not complete", one.ID)
	case b.Wish == "pause":
		one.State, one.Reason, one.Since = Paused, reason, s.At
	default:
		one.resume(s)
		one.State, one.Reason = Running, reason
	}
	return one, errors.Join(s.Set(keyBatch(one.ID), one), s.Event(Wish, one.ID, "wish=%s reason=%s", b.Wish, reason))
}

// resume counts a pause that ends now.
func (b *Batch) resume(s *agree.State) {
	if b.State == Paused {
		b.PausedFor += max(0, s.At-b.Since)
		b.Since = 0
	}
}

// claim gives a batch that nobody drives to a node.
func claim(s *agree.State, b *Holder) (any, error) {
	one, err := batch(s, b.ID)
	if err != nil {
		return nil, err
	}
	if _, err := cluster.Speaker(s, b.Node); err != nil {
		return nil, err
	}
	if one.Node == b.Node && one.Term == b.Term+1 { // the same again
		return one, nil
	}
	if one.State.Ended() || one.Node != "" || one.Term != b.Term {
		return nil, agree.Refuse(agree.Conflict, "batch %s is %s in term %d, and is not to be claimed", one.ID,
			one.State, one.Term)
	}
	one.Node, one.Term = b.Node, one.Term+1
	return one, s.Set(keyBatch(one.ID), one)
}

// release takes a batch from a node that is lost. Any member may say so, as the one that leads does.
func release(s *agree.State, b *Holder) (any, error) {
	one, err := batch(s, b.ID)
	if err != nil {
		return nil, err
	}
	if one.State.Ended() || one.Node != b.Node || one.Node == "" || one.Term != b.Term {
		return nil, agree.Refuse(agree.Conflict, "batch %s is %s in term %d, and not driven by that node", one.ID,
			one.State, one.Term)
	}
	one.Node = ""
	return one, errors.Join(s.Set(keyBatch(one.ID), one), s.Event(Release, one.ID, "node=%s term=%d", b.Node, b.Term))
}

// end keeps how a batch ended, if its driver says so. It is done only when every selected file was processed. Of a
// batch that somebody stopped, the driver says what was processed until then.
func end(s *agree.State, b *Ending) (any, error) {
	one, err := batch(s, b.ID)
	if err != nil {
		return nil, err
	}
	if err := s.SpeaksFor(b.Node); err != nil {
		return nil, err
	}
	if one.Node != b.Node || one.Term != b.Term {
		return nil, agree.Refuse(agree.Conflict, "batch %s is not driven by that node in term %d", one.ID, b.Term)
	}
	stopped := one.State == Stopped && b.State == Stopped && one.Summary == nil
	if one.State == b.State && !stopped {
		return one, nil
	}
	if one.State != Running && !stopped {
		return nil, agree.Refuse(agree.Conflict, "batch %s is %s", one.ID, one.State)
	}
	if err := b.check(one); err != nil {
		return nil, err
	}
	if one.Summary = &b.Summary; !stopped {
		one.State, one.Reason, one.Ended = b.State, agree.ClipReason(b.Reason), s.At
	}
	return one, errors.Join(s.Set(keyBatch(one.ID), one), s.Event(End, one.ID,
		"state=%s files=%d failed=%d output=%d", one.State, b.Summary.Files, b.Summary.Failed, b.Summary.Output))
}

func (b *Ending) check(one *Batch) error {
	t := &b.Summary
	if t.Selected < 0 || t.Files < 0 || t.Failed < 0 || t.Bytes < 0 || t.Output < 0 ||
		int64(len(t.Failures)) > t.Failed || len(t.Failures) > MostFailures || len(t.Nodes) > MostShares {
		return agree.Refuse(agree.Invalid, "the summary of batch %s does not hold", one.ID)
	}
	switch b.State {
	case Done:
		if t.Selected == 0 || t.Files != t.Selected || t.Failed != 0 {
			return agree.Refuse(agree.Conflict, "batch %s is not done: %d of %d files are processed", one.ID, t.Files,
				t.Selected)
		}
	case Incomplete:
	case Stopped:
		if one.State != Stopped {
			return agree.Refuse(agree.Invalid, "batch %s was not stopped: it is %s", one.ID, one.State)
		}
	default:
		return agree.Refuse(agree.Invalid, "a batch does not end as %q", agree.Clip(string(b.State), 40))
	}
	for i := range t.Failures {
		f := &t.Failures[i]
		if err := f.Name.Check(); err != nil {
			return agree.Refuse(agree.Invalid, "%v", err)
		}
		f.Reason = agree.ClipReason(f.Reason)
	}
	return nil
}
