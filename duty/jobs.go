package duty

import (
	"fmt"
	"slices"
	"time"

	"holdfast/catalog"
)

const jobPage = 100

// Contacts is what the leader knows of when it last heard from each node.
type Contacts struct {
	Since time.Time                    // when it became leader: leases are counted again from here
	Heard map[catalog.NodeID]time.Time // when a node last acknowledged it; its own node is to be among them
}

// LostJobs lists the attempts whose nodes were not heard from for lease and margin: until then, a node that is cut
// off continues under its lease. The times must carry the monotonic clock.
func LostJobs(view catalog.View, contacts Contacts, now time.Time, lease, margin time.Duration) ([]catalog.JobEnd, error) {
	var out []catalog.JobEnd
	for _, state := range []catalog.JobState{catalog.JobSubmitted, catalog.JobStarted} {
		err := eachJob(view, state, func(j *catalog.Job) bool {
			if j.Node == "" {
				return true
			}
			last := contacts.Since
			if heard := contacts.Heard[j.Node]; heard.After(last) {
				last = heard
			}
			if silence := now.Sub(last); silence > lease+margin {
				out = append(out, catalog.JobEnd{ID: j.ID, Node: j.Node, Attempt: j.Attempt, Stats: j.Stats,
					Reason: fmt.Sprintf("node not heard from for %s", silence.Truncate(time.Second))})
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Claims lists the submitted jobs, the oldest first, that node self may claim for its free slots: those without
// a channel and those of its channels, whose secrets it can open.
func Claims(view catalog.View, self catalog.NodeID, free int, channels []string) ([]catalog.JobRef, error) {
	var out []catalog.JobRef
	if free <= 0 {
		return nil, nil
	}
	var failed error
	err := eachJob(view, catalog.JobSubmitted, func(j *catalog.Job) bool {
		if j.Node != "" || j.Wish != catalog.WishRun || j.Channel != "" && !slices.Contains(channels, j.Channel) {
			return true
		}
		var opens bool
		if opens, failed = CanOpen(view, j, self); opens {
			out = append(out, catalog.JobRef{ID: j.ID, Node: self})
		}
		return failed == nil && len(out) < free
	})
	if err == nil {
		err = failed
	}
	return out, err
}

// Running lists the jobs whose present attempt is node self's: those that it continues after a restart.
func Running(view catalog.View, self catalog.NodeID) ([]catalog.Job, error) {
	var out []catalog.Job
	for _, state := range []catalog.JobState{catalog.JobSubmitted, catalog.JobStarted} {
		err := eachJob(view, state, func(j *catalog.Job) bool {
			if j.Node == self {
				out = append(out, *j)
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b catalog.Job) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return out, nil
}

// eachJob visits the jobs of a state in pages until visit returns false.
func eachJob(view catalog.View, state catalog.JobState, visit func(*catalog.Job) bool) error {
	for after := uint64(0); ; {
		jobs, err := view.Jobs(state, after, jobPage)
		if err != nil {
			return err
		}
		for i := range jobs {
			if !visit(&jobs[i]) {
				return nil
			}
		}
		if len(jobs) < jobPage {
			return nil
		}
		after = jobs[len(jobs)-1].ID
	}
}
