package jobs

import (
	"bytes"

	"holdfast/catalog/agree"
)

// Walk is the walk over the jobs from before level 4, which gives them parts.
type Walk struct {
	Jobs  uint64 `json:"jobs"`            // the number of the last of them
	After uint64 `json:"after"`           // the walk has come to this one
	Piece int    `json:"piece,omitempty"` // how many parts of the next one are written already
	Done  uint64 `json:"done,omitempty"`  // the command of the log with which all jobs had parts
}

// BeginWalk begins the walk over the jobs that there are.
func BeginWalk(s *agree.State) error {
	last, there, err := agree.Get[uint64](s, keyCount)
	if err != nil || !there {
		return err
	}
	return s.Set(PrefixWalk, Walk{Jobs: last})
}

// walkOn lets a walk that is under way see a new job without parts: one that replaces a job that the walk has not
// reached.
func walkOn(s *agree.State, id uint64) error {
	w, there, err := agree.Get[Walk](s, PrefixWalk)
	if err != nil || !there {
		return err
	}
	w.Jobs = id
	return s.Set(PrefixWalk, w)
}

// walkMost is how many jobs one step of the walk looks at.
const walkMost = 100

// walkKeys is how many keys it changes at most for one of them.
const walkKeys = 16

// walkStep takes the walk one step on: over some small jobs, or over one part of a large one.
func walkStep(s *agree.State, b *WalkStep) (any, error) {
	w, there, err := agree.Get[Walk](s, PrefixWalk)
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "there are no jobs from before level %d", LevelOfParts)
	}
	if w.Done != 0 || b.After != w.After || b.Piece != w.Piece {
		return nil, agree.Refuse(agree.Conflict, "the walk has come to job %d, part %d", w.After, w.Piece)
	}
	sealing, there, err := agree.Get[Sealing](s, PrefixSealing)
	if err != nil {
		return nil, err
	}
	if there && sealing.Done == 0 {
		return nil, agree.Refuse(agree.Conflict, "the secrets of old jobs are not all sealed yet")
	}
	if err := w.step(s); err != nil {
		return nil, err
	}
	return nil, s.Set(PrefixWalk, w)
}

func (w *Walk) step(s *agree.State) error {
	size := 0
	for range walkMost {
		next, err := agree.List[Job](s, PrefixJobs, agree.Hex(w.After), 1)
		if err != nil {
			return err
		}
		if len(next) == 0 || next[0].ID > w.Jobs {
			w.After, w.Done = w.Jobs, s.Index
			return nil
		}
		j := &next[0]
		if j.Parts != nil {
			w.After = j.ID
			continue
		}
		if size > 0 && size+len(j.Spec) > MaxPartBytes || !s.Room(walkKeys) {
			return nil
		}
		size += len(j.Spec)
		if from := w.Piece * MaxPartBytes; len(j.Spec) > from+MaxPartBytes {
			w.Piece++
			return putPiece(s, j.ID, w.Piece, j.Spec[from:from+MaxPartBytes])
		}
		if err := convert(s, j, w.Piece); err != nil {
			return err
		}
		w.After, w.Piece = j.ID, 0
	}
	return nil
}

func putPiece(s *agree.State, id uint64, n int, text []byte) error {
	value, err := encodePart(&Part{Kind: PartJob, Text: string(text)})
	if err == nil {
		s.Put(keyPart(id, n), value)
	}
	return err
}

// convert gives a job its head and the last of its parts; the others were written before.
func convert(s *agree.State, j *Job, written int) error {
	text := j.Spec
	if len(text) == 0 {
		text = []byte("null")
	}
	parts := &Parts{Of: j.ID}
	for n := 1; n <= written; n++ {
		value, err := s.Get([]byte(keyPart(j.ID, n)))
		if err != nil {
			return err
		}
		parts.Count, parts.Sum = n, nextSum(parts.Sum, value)
		parts.Bytes += MaxPartBytes
	}
	if err := parts.addText(s, text[written*MaxPartBytes:], nil); err != nil {
		return err
	}
	if bytes.Contains(text, []byte("[sealed ")) {
		s.Mark(keySealed(j.ID))
	}
	j.Spec, j.Parts = nil, parts
	if j.Reason != "" {
		j.HarvestError, j.Reason = (&Fault{Short: j.Reason, Detail: j.Reason}).clipped(), ""
	}
	if err := list(s, place{}, j.place(), j); err != nil {
		return err
	}
	return s.Set(keyJob(j.ID), j)
}
