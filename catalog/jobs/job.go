package jobs

import (
	"encoding/json"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/harvest"
)

// Recall returns the job as it is now, for an answer that is asked for again.
func Recall(r agree.Reader, id uint64) (any, error) {
	job, _, err := agree.Get[Job](r, keyJob(id))
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

// put stores the job and moves it from its old state's list to its own.
func put(s *agree.State, old JobState, j *Job) error {
	if old != j.State {
		if old != "" {
			s.Delete(keyJobState(old, j.ID))
		}
		s.Mark(keyJobState(j.State, j.ID))
	}
	return s.Set(keyJob(j.ID), j)
}

func createJob(s *agree.State, b *JobCreation) (any, error) {
	if len(b.Harvest) == 0 || len(b.Harvest) > 200 || len(b.Channel) > 64 {
		return nil, agree.Refuse(agree.Invalid,
			"a job needs a harvest's name of at most 200 bytes and a channel of at most 64")
	}
	if there, err := cluster.In(s).HasCollection(b.Collection); err != nil || !there {
		return nil, agree.OrNotFound(err, "no collection %q", agree.Clip(string(b.Collection), 64))
	}
	if b.Secret != nil && s.Cluster.Level < 2 {
		return nil, agree.UnknownField("secret")
	}
	spec, err := readSpec(b.Spec)
	if err != nil {
		return nil, err
	}
	j := Job{Harvest: b.Harvest, Collection: b.Collection, Channel: b.Channel, State: JobNew, Spec: spec}
	if b.Secret != nil {
		if err := checkSecret(s, b.Secret); err != nil {
			return nil, err
		}
		if err := putSecret(s, b.Secret); err != nil {
			return nil, err
		}
		j.Secret = b.Secret.ID
	}
	return create(s, &j, b.Submit)
}

// readSpec reads a job's spec. A stored spec must be readable again, whatever the command contained.
func readSpec(text []byte) (spec harvest.Job, err error) {
	if err := agree.DecodeStrict(text, &spec); err != nil {
		return spec, agree.Refuse(agree.Invalid, "job: %v", err)
	}
	stored, err := json.Marshal(&spec)
	if err == nil {
		err = json.Unmarshal(stored, new(harvest.Job))
	}
	if err != nil {
		return spec, agree.Refuse(agree.Invalid, "job: %v", err)
	}
	return spec, nil
}

// create gives the job the next number and stores it, NEW or SUBMITTED.
func create(s *agree.State, j *Job, submit bool) (any, error) {
	last, _, err := agree.Get[uint64](s, keyCount)
	if err != nil {
		return nil, err
	}
	j.ID, j.Created = last+1, s.At
	if submit {
		j.State, j.Submitted = JobSubmitted, s.At
	}
	if err := s.Set(keyCount, j.ID); err != nil {
		return nil, err
	}
	if err := sealNewJob(s, j.ID); err != nil {
		return nil, err
	}
	return j, put(s, "", j)
}

func submitJob(s *agree.State, b *JobRef) (any, error) {
	j, err := find(s, b.ID)
	if err != nil || j.State == JobSubmitted {
		return nil, err
	}
	if j.State != JobNew {
		return nil, agree.Refuse(agree.Conflict, "job %d is %s", j.ID, j.State)
	}
	j.State, j.Submitted = JobSubmitted, s.At
	return nil, put(s, JobNew, j)
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
	if j.Secret != "" {
		x, _, err := agree.Get[Secret](s, keySecret(j.Secret))
		if err != nil {
			return nil, err
		}
		if x.Box(&node) == nil {
			return nil, agree.Refuse(agree.Conflict, "job %d has secrets that node %s cannot open", j.ID, node.Name)
		}
	}
	j.Node = b.Node
	j.Attempt++
	return j, put(s, JobSubmitted, j)
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
	j.State, j.Started = JobStarted, s.At
	return nil, put(s, JobSubmitted, j)
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
	old := j.State
	j.State, j.Ended, j.Stats, j.Reason = end, s.At, b.Stats, agree.ClipReason(b.Reason)
	j.Stats.StopReason = agree.Clip(j.Stats.StopReason, 64)
	if end == JobDone {
		dropSecret(s, j)
	}
	return nil, put(s, old, j)
}

// loseJob frees the job for another node's claim; one that was to stop fails instead.
func loseJob(s *agree.State, b *JobEnd) (any, error) {
	j, err := fenced(s, b.ID, b.Node, b.Attempt)
	if err != nil {
		return nil, err
	}
	old := j.State
	if old != JobStarted && old != JobSubmitted {
		return nil, agree.Refuse(agree.Conflict, "job %d is %s", j.ID, j.State)
	}
	j.Reason = agree.ClipReason(b.Reason)
	if j.Wish == WishStop {
		j.State, j.Ended = JobFailed, s.At
	} else {
		j.State, j.Node, j.Started = JobSubmitted, "", 0
	}
	return nil, put(s, old, j)
}

// wishJob records what is wanted of the job; a job that no node has is stopped at once.
func wishJob(s *agree.State, b *JobWishing) (any, error) {
	switch b.Wish {
	case WishRun, WishPause, WishStop:
	default:
		return nil, agree.Refuse(agree.Invalid, "wish %q: want none, pause or stop", agree.Clip(string(b.Wish), 40))
	}
	j, err := find(s, b.ID)
	if err != nil {
		return nil, err
	}
	old := j.State
	if old != JobNew && old != JobSubmitted && old != JobStarted {
		return nil, agree.Refuse(agree.Conflict, "job %d is %s", j.ID, j.State)
	}
	j.Wish, j.WishReason = b.Wish, agree.ClipReason(b.Reason)
	if b.Wish == WishStop && j.Node == "" {
		j.State, j.Ended, j.Reason = JobFailed, s.At, "stopped before a node began it"
	}
	return nil, put(s, old, j)
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
		State: JobNew, Secret: old.Secret}
	if _, err := create(s, &j, true); err != nil {
		return nil, err
	}
	old.State, old.Next, old.Secret = JobResubmitted, j.ID, "" // the secret is the new job's
	return &j, put(s, JobFailed, old)
}

func rejectJob(s *agree.State, b *JobRef) (any, error) {
	j, err := find(s, b.ID)
	if err != nil || j.State == JobFailedRejected {
		return nil, err
	}
	if j.State != JobFailed {
		return nil, agree.Refuse(agree.Conflict, "job %d is %s", j.ID, j.State)
	}
	j.State = JobFailedRejected
	dropSecret(s, j)
	return nil, put(s, JobFailed, j)
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
	return nil
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
