package duty

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/jobs"
)

// Contacts is what the leader knows of when it last heard from each node.
type Contacts struct {
	Since time.Time                    // when it became leader: leases are counted again from here
	Heard map[catalog.NodeID]time.Time // when a node last acknowledged it; its own node is to be among them
}

// LostJobs lists the attempts whose nodes were not heard from for lease and margin: until then, a node that is cut
// off continues under its lease. The times must carry the monotonic clock.
func LostJobs(view catalog.View, contacts Contacts, now time.Time, lease,
	margin time.Duration) ([]catalog.JobEnd, error) {
	nodes, err := view.RunningNodes()
	if err != nil {
		return nil, err
	}
	var out []catalog.JobEnd
	for _, node := range nodes {
		last := contacts.Since
		if heard := contacts.Heard[node]; heard.After(last) {
			last = heard
		}
		silence := now.Sub(last)
		if silence <= lease+margin {
			continue
		}
		lost, err := view.RunningOn(node)
		if err != nil {
			return nil, err
		}
		for _, j := range lost {
			out = append(out, catalog.JobEnd{ID: j.ID, Node: j.Node, Attempt: j.Attempt, Stats: j.Stats,
				Reason: fmt.Sprintf("node not heard from for %s", silence.Truncate(time.Second))})
		}
	}
	slices.SortStableFunc(out, func(a, b catalog.JobEnd) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// Claimant is a node that looks for jobs.
type Claimant struct {
	Self     catalog.NodeID
	Free     int                     // slots for more jobs
	Channels []string                // that it serves
	Skip     func(id uint64) bool    // jobs that it is known not to be able to crawl; may be nil
	Able     func(*catalog.Job) bool // reports whether it can crawl the job; may be nil
}

// claimPage is how many waiting jobs are read at a time.
const claimPage = 100

// Claims lists the submitted jobs, the oldest first, that a node may claim for its free slots: those without a channel
// and those of its channels, whose secrets it can open and which it is able to crawl.
func Claims(view catalog.View, of Claimant) ([]catalog.JobRef, error) {
	if of.Free <= 0 {
		return nil, nil
	}
	var out []catalog.JobRef
	for _, channel := range append([]string{""}, of.Channels...) {
		some, err := of.waiting(view, channel)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	slices.SortFunc(out, func(a, b catalog.JobRef) int { return cmp.Compare(a.ID, b.ID) })
	return out[:min(of.Free, len(out))], nil
}

// waiting lists the first jobs of a channel that the node may claim.
func (of *Claimant) waiting(view catalog.View, channel string) (out []catalog.JobRef, err error) {
	for after := uint64(0); ; {
		page, err := view.Waiting(channel, after, claimPage, of.Skip)
		if err != nil {
			return nil, err
		}
		for i := range page {
			j := &page[i]
			after = j.ID
			opens, err := CanOpen(view, j, of.Self)
			if err != nil {
				return nil, err
			}
			if !opens || of.Able != nil && !of.Able(j) {
				continue
			}
			if out = append(out, catalog.JobRef{ID: j.ID, Node: of.Self}); len(out) == of.Free {
				return out, nil
			}
		}
		if len(page) < claimPage {
			return out, nil
		}
	}
}

// Running lists the jobs whose present attempt is node self's: those that it continues after a restart.
func Running(view catalog.View, self catalog.NodeID) ([]catalog.Job, error) {
	return view.RunningOn(self)
}

// WalkDue returns the next step of the walk that gives parts to jobs from before level 4, and false when there is none.
// It waits until the secrets of such jobs are sealed.
func WalkDue(view catalog.View) (step jobs.WalkStep, due bool, err error) {
	walk, err := view.Walk()
	if errors.Is(err, catalog.ErrNotFound) || err == nil && walk.Done != 0 {
		return step, false, nil
	}
	if err != nil {
		return step, false, err
	}
	sealing, err := view.Sealing()
	if errors.Is(err, catalog.ErrNotFound) {
		err = nil
	} else if err == nil && sealing.Done == 0 {
		return step, false, nil
	}
	return jobs.WalkStep{After: walk.After, Piece: walk.Piece}, err == nil, err
}

// abandonedAfter is for how long a job made by hand may lack parts: whoever makes it has long been answered by then.
const abandonedAfter = time.Hour

// Abandoned lists the jobs made by hand that nobody makes whole any more, as when the node that made one stopped in
// the middle, and those that are being dropped already. Jobs of a harvest's run are not listed: its split goes on or
// drops them.
func Abandoned(view catalog.View, now time.Time) (out []catalog.JobRef, err error) {
	for after := uint64(0); ; {
		open, err := view.OpenJobs(after, claimPage)
		if err != nil {
			return nil, err
		}
		for _, o := range open {
			after = o.Job.ID
			byHand := o.Job.Number == 0 && o.Job.Parts != nil
			if byHand && (o.Dropping || now.Sub(o.Job.Created.Std()) > abandonedAfter) {
				out = append(out, catalog.JobRef{ID: o.Job.ID})
			}
		}
		if len(open) < claimPage {
			return out, nil
		}
	}
}
