package jobs

import (
	"cmp"
	"encoding/json"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/harvest"
)

// Recall returns the job as it is now, for an answer that is asked for again.
func Recall(r agree.Reader, id uint64) (any, error) {
	job, there, err := agree.Get[Job](r, keyJob(id))
	if err == nil && !there {
		var o Open
		if o, there, err = agree.Get[Open](r, keyOpen(id)); there {
			job = o.Job
		}
	}
	return &job, err
}

// find returns the job, or a refusal when there is none.
func find(s *agree.State, id uint64) (*Job, error) {
	j, there, err := agree.Get[Job](s, keyJob(id))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no job %d", id)
	}
	return &j, nil
}

func createJob(s *agree.State, b *JobCreation) (any, error) {
	if err := checkMade(s, b.Harvest, b.Collection, b.Channel); err != nil {
		return nil, err
	}
	if b.Secret != nil && s.Cluster.Level < 2 {
		return nil, agree.UnknownField("secret")
	}
	j := Job{Harvest: b.Harvest, Collection: b.Collection, Channel: b.Channel, State: JobNew}
	if s.Cluster.Level < LevelOfParts {
		spec, err := readSpec(b.Spec)
		if err != nil {
			return nil, err
		}
		j.Spec = spec
	} else if len(b.Spec) == 0 {
		return nil, agree.Refuse(agree.Invalid, "a job needs a spec")
	}
	if s.Cluster.Level < LevelOfParts {
		if err := j.keepSecret(s, b.Secret); err != nil {
			return nil, err
		}
		return create(s, &j, b.Submit)
	}
	id, err := nextNumber(s)
	if err != nil {
		return nil, err
	}
	j.ID = id
	if err := j.keepSecret(s, b.Secret); err != nil {
		return nil, err
	}
	if err := checkDomains(b.Domains); err != nil {
		return nil, err
	}
	j.Parts = &Parts{Of: id, Seeds: b.Seeds}
	if err := j.Parts.addText(s, b.Spec, b.Domains); err != nil {
		return nil, err
	}
	return begin(s, &j, id, b.Submit)
}

// readSpec reads a job's spec as programs do that know no level above 3, and returns it with all defaults. A stored
// spec must be readable again, whatever the command contained.
func readSpec(text []byte) (json.RawMessage, error) {
	var spec harvest.OldJob
	if err := agree.DecodeStrict(text, &spec); err != nil {
		return nil, agree.Refuse(agree.Invalid, "job: %v", err)
	}
	stored, err := json.Marshal(&spec)
	if err == nil {
		err = json.Unmarshal(stored, new(harvest.OldJob))
	}
	if err != nil {
		return nil, agree.Refuse(agree.Invalid, "job: %v", err)
	}
	return stored, nil
}

// nextNumber returns the number of a new job.
func nextNumber(s *agree.State) (uint64, error) {
	last, _, err := agree.Get[uint64](s, keyCount)
	if err != nil {
		return 0, err
	}
	return last + 1, s.Set(keyCount, last+1)
}

// create gives a job its number and stores it, NEW or SUBMITTED. Walks over old jobs that are under way come to it.
func create(s *agree.State, j *Job, submit bool) (any, error) {
	id, err := nextNumber(s)
	if err != nil {
		return nil, err
	}
	if err := sealNewJob(s, id); err != nil {
		return nil, err
	}
	if j.Parts == nil {
		if err := walkOn(s, id); err != nil {
			return nil, err
		}
	}
	return begin(s, j, id, submit)
}

// begin stores a new job.
func begin(s *agree.State, j *Job, id uint64, submit bool) (any, error) {
	j.ID, j.Created = id, s.At
	if submit {
		j.State, j.Submitted = JobSubmitted, s.At
	}
	if err := made(s, j); err != nil {
		return nil, err
	}
	return j, put(s, place{}, j)
}

// made notes of a new job with parts that it has secrets: this is asked when they are gone, too.
func made(s *agree.State, j *Job) error {
	if j.Parts != nil && len(j.AllSecrets()) > 0 {
		s.Mark(keySealed(j.ID))
	}
	return nil
}

func submitJob(s *agree.State, b *JobRef) (any, error) {
	j, err := find(s, b.ID)
	if err != nil || j.State == JobSubmitted {
		return nil, err
	}
	if j.State != JobNew {
		return nil, agree.Refuse(agree.Conflict, "job %d is %s", j.ID, j.State)
	}
	was := j.place()
	j.State, j.Submitted = JobSubmitted, s.At
	return nil, put(s, was, j)
}

// claimJob gives a submitted job to the first node that asks; the same node may ask again.
func claimJob(s *agree.State, b *JobRef) (any, error) {
	node, err := cluster.Speaker(s, b.Node)
	if err != nil {
		return nil, err
	}
	j, err := find(s, b.ID)
	if err != nil {
		return nil, err
	}
	if j.State == JobSubmitted && j.Node == b.Node {
		return j, nil
	}
	if j.State != JobSubmitted || j.Node != "" {
		return nil, agree.Refuse(agree.Conflict, "job %d is %s at %q", j.ID, j.State, j.Node)
	}
	if j.Wish != WishRun {
		return nil, agree.Refuse(agree.Conflict, "job %d is to %s", j.ID, j.Wish)
	}
	if err := mayServe(s, &node, j); err != nil {
		return nil, err
	}
	for _, name := range j.AllSecrets() {
		x, _, err := agree.Get[Secret](s, keySecret(name))
		if err != nil {
			return nil, err
		}
		if x.Box(&node) == nil {
			return nil, agree.Refuse(agree.Conflict, "job %d has secrets that node %s cannot open", j.ID, node.Name)
		}
	}
	was := j.place()
	j.Node = b.Node
	j.Attempt++
	return j, put(s, was, j)
}

// fenced returns the job when the node's attempt is its present one.
func fenced(s *agree.State, id uint64, node agree.NodeID, attempt int) (*Job, error) {
	j, err := find(s, id)
	if err != nil {
		return nil, err
	}
	if node == "" || j.Node != node || j.Attempt != attempt {
		return nil, agree.Refuse(agree.Conflict, "job %d is %s with attempt %d at %q, not attempt %d at %q",
			id, j.State, j.Attempt, j.Node, attempt, agree.Clip(string(node), 60))
	}
	return j, nil
}

func startJob(s *agree.State, b *JobRef) (any, error) {
	if err := s.SpeaksFor(b.Node); err != nil {
		return nil, err
	}
	j, err := fenced(s, b.ID, b.Node, b.Attempt)
	if err != nil || j.State == JobStarted {
		return nil, err
	}
	if j.State != JobSubmitted {
		return nil, agree.Refuse(agree.Conflict, "job %d is %s", j.ID, j.State)
	}
	was := j.place()
	j.State, j.Started = JobStarted, s.At
	return nil, put(s, was, j)
}

func finishJob(s *agree.State, b *JobEnd) (any, error) {
	if err := s.SpeaksFor(b.Node); err != nil {
		return nil, err
	}
	j, err := fenced(s, b.ID, b.Node, b.Attempt)
	if err != nil {
		return nil, err
	}
	end := JobDone
	if b.Failed {
		end = JobFailed
	}
	if j.State == end {
		return nil, nil
	}
	if j.State != JobStarted && j.State != JobSubmitted {
		return nil, agree.Refuse(agree.Conflict, "job %d is %s", j.ID, j.State)
	}
	if !b.Failed && (b.HarvestError != nil || b.UploadError != nil) {
		return nil, agree.Refuse(agree.Invalid, "job %d is not done with an error", j.ID)
	}
	if err := j.count(s, b.Statistics); err != nil {
		return nil, err
	}
	was := j.place()
	j.State, j.Ended, j.Stats = end, s.At, b.Stats
	j.Stats.StopReason = agree.Clip(j.Stats.StopReason, 64)
	blame(s, j, b)
	if end == JobDone {
		if err := j.freeSecrets(s); err != nil {
			return nil, err
		}
	}
	return nil, put(s, was, j)
}

// blame keeps what was wrong with an attempt: from level 4 on in two fields, before in one.
func blame(s *agree.State, j *Job, b *JobEnd) {
	if s.Cluster.Level < LevelOfParts {
		j.Reason = agree.ClipReason(b.Reason)
		return
	}
	j.Reason, j.HarvestError, j.UploadError = "", b.HarvestError.clipped(), b.UploadError.clipped()
	if j.HarvestError == nil && j.UploadError == nil {
		j.HarvestError = (&Fault{Short: b.Reason, Detail: b.Reason}).clipped()
	}
}

// loseJob frees the job for another node's claim; one that was to stop fails instead.
func loseJob(s *agree.State, b *JobEnd) (any, error) {
	j, err := fenced(s, b.ID, b.Node, b.Attempt)
	if err != nil {
		return nil, err
	}
	if !j.busy() {
		return nil, agree.Refuse(agree.Conflict, "job %d is %s", j.ID, j.State)
	}
	if err := j.lose(s); err != nil {
		return nil, err
	}
	was := j.place()
	blame(s, j, b)
	if j.Wish == WishStop {
		j.State, j.Ended = JobFailed, s.At
	} else {
		j.State, j.Node, j.Started = JobSubmitted, "", 0
	}
	return nil, put(s, was, j)
}

// How many milliseconds a job has for its stop: if nothing else is said, and at most.
const (
	stopWithin = 10 * 60 * 1000
	stopMost   = 7 * 24 * 60 * 60 * 1000
)

// wishJob records what is wanted of the job; a job that no node has is stopped at once.
func wishJob(s *agree.State, b *JobWishing) (any, error) {
	switch b.Wish {
	case WishRun, WishPause, WishStop:
	default:
		return nil, agree.Refuse(agree.Invalid, "wish %q: want none, pause or stop", agree.Clip(string(b.Wish), 40))
	}
	if b.Within < 0 || b.Within > stopMost || b.Within != 0 && b.Wish != WishStop {
		return nil, agree.Refuse(agree.Invalid,
			"a deadline of %d ms: only a job that is to stop has one, of at most %d ms", b.Within, stopMost)
	}
	j, err := find(s, b.ID)
	if err != nil {
		return nil, err
	}
	if j.State != JobNew && !j.busy() {
		return nil, agree.Refuse(agree.Conflict, "job %d is %s", j.ID, j.State)
	}
	was := j.place()
	j.Wish, j.WishReason, j.WishBy = b.Wish, agree.ClipReason(b.Reason), 0
	if b.Wish == WishStop && s.Cluster.Level >= LevelOfParts {
		j.WishBy = s.At + agree.Time(cmp.Or(b.Within, stopWithin))
	}
	if b.Wish == WishStop && j.Node == "" {
		j.State, j.Ended = JobFailed, s.At
		blame(s, j, &JobEnd{Reason: "stopped before a node began it"})
	}
	return nil, put(s, was, j)
}

// resubmitJob makes a new job of a failed one.
func resubmitJob(s *agree.State, b *JobRef) (any, error) {
	old, err := find(s, b.ID)
	if err != nil {
		return nil, err
	}
	if old.State == JobResubmitted {
		return find(s, old.Next)
	}
	if old.State != JobFailed {
		return nil, agree.Refuse(agree.Conflict, "job %d is %s", old.ID, old.State)
	}
	j := Job{Harvest: old.Harvest, Collection: old.Collection, Channel: old.Channel, Spec: old.Spec,
		State: JobNew, Secret: old.Secret, Number: old.Number, Run: old.Run}
	if old.Parts != nil {
		parts := *old.Parts
		j.Parts, old.Parts.Secrets = &parts, nil
	}
	if _, err := create(s, &j, true); err != nil {
		return nil, err
	}
	j.passSecrets(s, old.ID)
	was := old.place()
	old.State, old.Next, old.Secret = JobResubmitted, j.ID, "" // the secrets are the new job's
	return &j, put(s, was, old)
}

func rejectJob(s *agree.State, b *JobRef) (any, error) {
	j, err := find(s, b.ID)
	if err != nil || j.State == JobFailedRejected {
		return nil, err
	}
	if j.State != JobFailed {
		return nil, agree.Refuse(agree.Conflict, "job %d is %s", j.ID, j.State)
	}
	was := j.place()
	j.State = JobFailedRejected
	if err := j.freeSecrets(s); err != nil {
		return nil, err
	}
	return nil, put(s, was, j)
}

// NoneOf refuses while a job of the collection may bring files still.
func NoneOf(s *agree.State, name cluster.CollectionName) error {
	for _, state := range []JobState{JobNew, JobSubmitted, JobStarted, JobFailed} {
		jobs, err := NewView(s).Jobs(state, 0, 0)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			if job.Collection == name {
				return agree.Refuse(agree.Conflict, "job %d of collection %s is %s", job.ID, name, job.State)
			}
		}
	}
	open, err := agree.List[Open](s, PrefixOpen, "", 0)
	for i := range open {
		if open[i].Job.Collection == name {
			return agree.Refuse(agree.Conflict, "job %d of collection %s is being made", open[i].Job.ID, name)
		}
	}
	return err
}

// apart is how many job numbers are left out when the epoch is raised: more than a lost majority can have given to
// jobs that the state from which the cluster goes on has never seen.
const apart = 100_000

// SkipNumbers leaves out the numbers that jobs may have which only others have seen: they are not given again, for the
// files of a job's attempts bear its number in their names.
func SkipNumbers(s *agree.State) error {
	last, _, err := agree.Get[uint64](s, keyCount)
	if err != nil {
		return err
	}
	return s.Set(keyCount, (last/apart+2)*apart)
}
