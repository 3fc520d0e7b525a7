package jobs

import (
	"holdfast/catalog/agree"
)

// place is where a job is found.
type place struct {
	state JobState
	node  agree.NodeID // where it runs
	waits bool         // a node of its channel may claim it
	fresh bool         // of a harvest, and to be submitted
}

// place returns where the job is to be found as it is now.
func (j *Job) place() place {
	p := place{state: j.State}
	if j.busy() {
		p.node = j.Node
	}
	p.fresh = j.State == JobNew && j.Number != 0 && j.Wish == WishRun
	p.waits = j.State == JobSubmitted && j.Node == "" && j.Wish == WishRun
	return p
}

// put stores the job and moves it from where it was to where it is found now; was is empty for a new one.
func put(s *agree.State, was place, j *Job) error {
	now := j.place()
	if was.state != now.state {
		if was.state != "" {
			s.Delete(keyJobState(was.state, j.ID))
		}
		s.Mark(keyJobState(now.state, j.ID))
	}
	if j.Parts != nil {
		if err := list(s, was, now, j); err != nil {
			return err
		}
	}
	return s.Set(keyJob(j.ID), j)
}

// list moves a job that has parts in the lists that came with them.
func list(s *agree.State, was, now place, j *Job) error {
	if was.node != now.node {
		if was.node != "" {
			s.Delete(keyOn(was.node, j.ID))
		}
		if now.node != "" {
			s.Mark(keyOn(now.node, j.ID))
		}
	}
	if was.waits != now.waits {
		s.Marked(keyWaiting(j.Channel, j.ID), now.waits)
	}
	if was.fresh != now.fresh {
		s.Marked(keyNew(j.Channel, j.ID), now.fresh)
	}
	if was.state == now.state {
		return nil
	}
	if was.state == "" {
		s.Mark(prefixOfRun(j.Number, j.Run) + agree.Hex(j.ID))
		s.Mark(listedOf(j.Number) + left(j.ID))
		s.Mark(listedBy(j.Number, j.Run) + left(j.ID))
		s.Mark(listedChannel(j.Channel) + left(j.ID))
		if j.Parts.Of != j.ID {
			s.Mark(keyAgain(j.ID, j.Parts.Of))
		}
	} else {
		s.Delete(listedIn(was.state) + left(j.ID))
	}
	s.Mark(listedIn(now.state) + left(j.ID))
	c, _, err := agree.Get[counts](s, keyCounts)
	if err != nil {
		return err
	}
	c.move(was.state, -1)
	c.move(now.state, 1)
	return s.Set(keyCounts, c)
}

// counts are the numbers of jobs with parts, by state.
type counts struct {
	New            int `json:"new"`
	Submitted      int `json:"submitted"`
	Started        int `json:"started"`
	Done           int `json:"done"`
	Failed         int `json:"failed"`
	Resubmitted    int `json:"resubmitted"`
	FailedRejected int `json:"failedRejected"`
}

func (c *counts) move(state JobState, by int) {
	if n := c.of(state); n != nil {
		*n += by
	}
}

func (c *counts) of(state JobState) *int {
	switch state {
	case JobNew:
		return &c.New
	case JobSubmitted:
		return &c.Submitted
	case JobStarted:
		return &c.Started
	case JobDone:
		return &c.Done
	case JobFailed:
		return &c.Failed
	case JobResubmitted:
		return &c.Resubmitted
	case JobFailedRejected:
		return &c.FailedRejected
	}
	return nil
}

// States are all states of a job.
func States() []JobState {
	return []JobState{JobNew, JobSubmitted, JobStarted, JobDone, JobFailed, JobResubmitted, JobFailedRejected}
}
