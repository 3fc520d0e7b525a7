package jobs

import (
	"bytes"
	"unicode/utf8"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// Open is a job that is not whole yet: parts are added to it. Nobody sees it among the jobs until it is closed.
type Open struct {
	Job      Job  `json:"job"`
	Dropping bool `json:"dropping,omitempty"` // its parts are being removed
}

// Run is what is known of one run of a harvest that has a number.
type Run struct {
	Jobs uint64 `json:"jobs"`           // that were made whole
	Last uint64 `json:"last,omitempty"` // the number of the job that was opened last
	Open uint64 `json:"open,omitempty"` // the job that is not whole
}

// checkMade refuses a job of a collection or channel that cannot be.
func checkMade(s *agree.State, name string, collection cluster.CollectionName, channel string) error {
	if len(name) == 0 || len(name) > 200 || len(channel) > 64 {
		return agree.Refuse(agree.Invalid,
			"a job needs a harvest's name of at most 200 bytes and a channel of at most 64")
	}
	if s.Cluster.Level >= LevelOfParts && channel != "" {
		if err := CheckChannel(channel); err != nil {
			return err
		}
	}
	if there, err := cluster.In(s).HasCollection(collection); err != nil || !there {
		return agree.OrNotFound(err, "no collection %q", agree.Clip(string(collection), 64))
	}
	return nil
}

// openJob begins a job. A run of a harvest has at most one job that is not whole, and its jobs are opened one after the
// other: who does not know of the last is refused.
func openJob(s *agree.State, b *JobOpening) (any, error) {
	j, run, err := b.next(s)
	if err != nil {
		return nil, err
	}
	if b.Number != 0 {
		run.Open = j.ID
		if err := s.Set(keyRun(b.Number, b.Run), run); err != nil {
			return nil, err
		}
	}
	o := Open{Job: *j}
	return &o.Job, s.Set(keyOpen(j.ID), &o)
}

// next gives the job that an opening asks for its number, behind the last one of its run, and notes whose secrets it
// uses. Neither job nor run is stored.
func (b *JobOpening) next(s *agree.State) (*Job, *Run, error) {
	if err := checkMade(s, b.Harvest, b.Collection, b.Channel); err != nil {
		return nil, nil, err
	}
	if b.Number == 0 && (b.Run != 0 || b.After != 0) {
		return nil, nil, agree.Refuse(agree.Invalid, "a job of run %d needs the number of its harvest", b.Run)
	}
	if len(b.Template) > maxTemplate || !utf8.ValidString(b.Template) {
		return nil, nil, agree.Refuse(agree.Invalid, "a template's name and version have at most %d bytes of UTF-8",
			maxTemplate)
	}
	id, err := nextNumber(s)
	if err != nil {
		return nil, nil, err
	}
	var run Run
	if b.Number != 0 {
		if run, _, err = agree.Get[Run](s, keyRun(b.Number, b.Run)); err != nil {
			return nil, nil, err
		}
		if run.Last != b.After || run.Open != 0 {
			return nil, nil, agree.Refuse(agree.Conflict,
				"run %d of harvest %d: the last job is %d, and job %d is not whole",
				b.Run, b.Number, run.Last, run.Open)
		}
		run.Last = id
	}
	j := &Job{ID: id, Harvest: b.Harvest, Collection: b.Collection, Channel: b.Channel, State: JobNew,
		Created: s.At, Number: b.Number, Run: b.Run, Parts: &Parts{Of: id, Template: b.Template}}
	if err := j.keepSecret(s, b.Secret); err != nil {
		return nil, nil, err
	}
	return j, &run, j.useSecrets(s, b.Uses)
}

// findOpen returns the job that is not whole, or a refusal when there is none.
func findOpen(s *agree.State, id uint64) (*Open, error) {
	o, there, err := agree.Get[Open](s, keyOpen(id))
	if err == nil && there && o.Job.Parts == nil {
		there = false
	}
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no job %d that parts can be added to", id)
	}
	return &o, nil
}

// addPart adds a part to a job that is not whole. The same part again changes nothing; another with its number is
// refused.
func addPart(s *agree.State, b *JobAddition) (any, error) {
	if err := b.Part.check(); err != nil {
		return nil, err
	}
	o, err := findOpen(s, b.ID)
	if err != nil {
		return nil, err
	}
	parts := o.Job.Parts
	switch {
	case o.Dropping:
		return nil, agree.Refuse(agree.Conflict, "job %d is being dropped", b.ID)
	case b.Number >= 1 && b.Number <= parts.Count:
		return nil, samePart(s, b)
	case b.Number != parts.Count+1:
		return nil, agree.Refuse(agree.Conflict, "job %d has %d parts: the next is not %d", b.ID, parts.Count, b.Number)
	case b.Number > maxParts:
		return nil, agree.Refuse(agree.Invalid, "job %d has %d parts already", b.ID, parts.Count)
	}
	if b.Part.Kind == PartJob && parts.Count > 0 {
		last, err := NewView(s).part(parts.Of, parts.Count)
		if err != nil {
			return nil, err
		}
		if last.Kind != PartJob {
			return nil, agree.Refuse(agree.Invalid, "job %d: the text of the job comes before all other parts", b.ID)
		}
	}
	if b.Secret != nil {
		if n := len(o.Job.AllSecrets()); n >= MaxSecrets {
			return nil, agree.Refuse(agree.Invalid, "job %d has %d secrets already", b.ID, n)
		}
		id, err := KeepSecret(s, b.Secret, userJob(b.ID))
		if err != nil {
			return nil, err
		}
		parts.Secrets = append(parts.Secrets, id)
	}
	if err := o.Job.useSecrets(s, b.Uses); err != nil {
		return nil, err
	}
	if err := parts.add(s, &b.Part); err != nil {
		return nil, err
	}
	return nil, s.Set(keyOpen(b.ID), o)
}

// samePart refuses an addition unless the job has exactly this part.
func samePart(s *agree.State, b *JobAddition) error {
	stored, err := s.Get([]byte(keyPart(b.ID, b.Number)))
	if err != nil {
		return err
	}
	want, err := encodePart(&b.Part)
	if err != nil {
		return err
	}
	if !bytes.Equal(stored, want) {
		return agree.Refuse(agree.Conflict, "job %d has another part %d", b.ID, b.Number)
	}
	return nil
}

// closeJob makes a job whole: NEW, or SUBMITTED if that is asked for. From then on only its state changes.
func closeJob(s *agree.State, b *JobClosing) (any, error) {
	if there, err := agree.Has(s, keyJob(b.ID)); err != nil || there {
		if err != nil {
			return nil, err
		}
		return closedAlready(s, b)
	}
	o, err := findOpen(s, b.ID)
	if err != nil {
		return nil, err
	}
	j := &o.Job
	if o.Dropping || j.Parts.Count == 0 || j.Parts.Count != b.Parts || j.Parts.Sum != b.Sum {
		return nil, agree.Refuse(agree.Conflict, "job %d has %d parts, and they are not those that were meant", b.ID,
			j.Parts.Count)
	}
	if first, err := NewView(s).part(j.Parts.Of, 1); err != nil || first.Kind != PartJob {
		return nil, agree.OrConflict(err, "job %d does not begin with the text of a job", b.ID)
	}
	if there, err := cluster.In(s).HasCollection(j.Collection); err != nil || !there {
		return nil, agree.OrNotFound(err, "no collection %q", j.Collection)
	}
	if b.Submit {
		j.State, j.Submitted = JobSubmitted, s.At
	}
	if j.Number != 0 {
		if err := closeInRun(s, j, 1); err != nil {
			return nil, err
		}
	}
	s.Delete(keyOpen(j.ID))
	if err := made(s, j); err != nil {
		return nil, err
	}
	return j, put(s, place{}, j)
}

// closedAlready answers who asks again to close a job: the same parts, or a refusal.
func closedAlready(s *agree.State, b *JobClosing) (any, error) {
	j, err := find(s, b.ID)
	if err != nil {
		return nil, err
	}
	if j.Parts == nil || j.Parts.Of != j.ID || j.Parts.Count != b.Parts || j.Parts.Sum != b.Sum {
		return nil, agree.Refuse(agree.Conflict, "job %d is whole, with other parts", b.ID)
	}
	return j, nil
}

// closeInRun notes in the job's run that the job is no longer open.
func closeInRun(s *agree.State, j *Job, whole uint64) error {
	run, _, err := agree.Get[Run](s, keyRun(j.Number, j.Run))
	if err != nil {
		return err
	}
	run.Jobs += whole
	if run.Open == j.ID {
		run.Open = 0
	}
	return s.Set(keyRun(j.Number, j.Run), run)
}

// How many parts one command removes at most, after how many bytes of parts it stops, and how many keys it changes
// besides those of parts and secrets.
const (
	dropChunk = 500
	dropBytes = 1 << 20
	closeKeys = 8
)

// drop removes the last parts, as many as one command may, and the job from the lists of their domains.
func (h *Parts) drop(s *agree.State) error {
	for read, n := 0, 0; n < dropChunk && read < dropBytes && h.Count > 0; n++ {
		value, err := s.Get([]byte(keyPart(h.Of, h.Count)))
		if err != nil {
			return err
		}
		p, err := decodePart(value)
		if err != nil {
			return err
		}
		if !s.Room(len(p.Domains) + closeKeys) {
			return nil
		}
		for _, domain := range p.Domains {
			s.Delete(keyDomain(domain, h.Of))
		}
		s.Delete(keyPart(h.Of, h.Count))
		h.Count--
		read += len(value)
	}
	return nil
}

// dropJob removes a job that is not whole, some of its parts with each command. Its answer is how many are left; with
// none the job is gone.
func dropJob(s *agree.State, b *JobRef) (any, error) {
	o, err := findOpen(s, b.ID)
	if err != nil {
		return nil, err
	}
	j := &o.Job
	o.Dropping = true
	if err := j.Parts.drop(s); err != nil {
		return nil, err
	}
	if j.Parts.Count > 0 || !s.Room(2*len(j.AllSecrets())+closeKeys) {
		return max(j.Parts.Count, 1), s.Set(keyOpen(j.ID), o)
	}
	if j.Number != 0 {
		if err := closeInRun(s, j, 0); err != nil {
			return nil, err
		}
	}
	s.Delete(keyOpen(j.ID))
	return 0, j.freeSecrets(s)
}
