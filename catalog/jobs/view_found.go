package jobs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"holdfast/catalog/agree"
)

// Walk returns the walk over the jobs from before level 4, or ErrNotFound when there were none.
func (v View) Walk() (Walk, error) { return agree.Found(agree.Get[Walk](v.Reader, PrefixWalk)) }

// old returns the number behind which jobs without parts may be, and false when there are none any more.
func (v View) old() (after uint64, some bool, err error) {
	c, there, err := agree.Get[agree.Cluster](v.Reader, agree.PrefixCluster)
	if err != nil || !there || c.Level < LevelOfParts {
		return 0, err == nil, err
	}
	w, there, err := agree.Get[Walk](v.Reader, PrefixWalk)
	return w.After, there && w.Done == 0, err
}

// oldJobs returns the jobs without parts of the states that match.
func (v View) oldJobs(match func(*Job) bool, states ...JobState) (out []Job, err error) {
	after, some, err := v.old()
	if err != nil || !some {
		return nil, err
	}
	for _, state := range states {
		for from := after; ; {
			page, err := v.Jobs(state, from, oldPage)
			if err != nil {
				return nil, err
			}
			for i := range page {
				if from = page[i].ID; page[i].Parts == nil && match(&page[i]) {
					out = append(out, page[i])
				}
			}
			if len(page) < oldPage {
				break
			}
		}
	}
	return out, nil
}

const oldPage = 100

// listed returns at most n jobs of a list of marks, behind job after, leaving out those that skip names.
func (v View) listed(prefix string, after uint64, n int, skip func(uint64) bool) ([]Job, error) {
	var ids []uint64
	var failed error
	err := v.Reader.Scan([]byte(prefix), agree.From(prefix, behind(after)), func(key, _ []byte) bool {
		var id uint64
		if id, failed = strconv.ParseUint(string(key[len(prefix):]), 16, 64); failed != nil {
			failed = fmt.Errorf("catalog key %q: %w", key, failed)
			return false
		}
		if skip == nil || !skip(id) {
			ids = append(ids, id)
		}
		return n <= 0 || len(ids) < n
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	out := make([]Job, 0, len(ids))
	for _, id := range ids {
		j, err := v.Job(id)
		if err != nil {
			return nil, fmt.Errorf("job %d of %s: %w", id, prefix, err)
		}
		out = append(out, j)
	}
	return out, nil
}

// Waiting returns at most n jobs behind job after that a node which serves the channel may claim, the oldest first;
// those of no channel when it is empty. Jobs that skip names are left out without being read.
func (v View) Waiting(channel string, after uint64, n int, skip func(uint64) bool) ([]Job, error) {
	jobs, err := v.listed(prefixWaitingFor(channel), after, n, skip)
	if err != nil {
		return nil, err
	}
	old, err := v.oldJobs(func(j *Job) bool {
		return j.place().waits && j.Channel == channel && j.ID > after && (skip == nil || !skip(j.ID))
	}, JobSubmitted)
	if err != nil || len(old) == 0 {
		return jobs, err
	}
	jobs = inOrder(append(jobs, old...))
	if n > 0 && len(jobs) > n {
		jobs = jobs[:n]
	}
	return jobs, nil
}

// RunningOn returns the jobs whose present attempt is the node's.
func (v View) RunningOn(node agree.NodeID) ([]Job, error) {
	jobs, err := v.listed(prefixOn(node), 0, 0, nil)
	if err != nil {
		return nil, err
	}
	old, err := v.oldJobs(func(j *Job) bool { return j.Node == node }, JobSubmitted, JobStarted)
	return inOrder(append(jobs, old...)), err
}

// RunningNodes returns the nodes that have jobs.
func (v View) RunningNodes() ([]agree.NodeID, error) {
	nodes := map[agree.NodeID]bool{}
	for from := []byte(nil); ; {
		var node agree.NodeID
		err := v.Reader.Scan([]byte(prefixRunning), from, func(key, _ []byte) bool {
			node = agree.NodeID(key[len(prefixRunning) : len(key)-len("/0123456789abcdef")])
			return false
		})
		if err != nil {
			return nil, err
		}
		if node == "" {
			break
		}
		nodes[node] = true
		from = []byte(prefixRunning + string(node) + "0") // behind all keys with a slash there
	}
	old, err := v.oldJobs(func(j *Job) bool { return j.Node != "" }, JobSubmitted, JobStarted)
	for i := range old {
		nodes[old[i].Node] = true
	}
	out := make([]agree.NodeID, 0, len(nodes))
	for node := range nodes {
		out = append(out, node)
	}
	slices.Sort(out)
	return out, err
}

// JobsOfRun returns at most n jobs of the harvest's run behind job after. Number and run are 0 for jobs made by hand;
// of those, jobs from before level 4 are not listed before they have parts.
func (v View) JobsOfRun(number, run, after uint64, n int) ([]Job, error) {
	return v.listed(prefixOfRun(number, run), after, n, nil)
}

// Run returns what is known of a harvest's run, or ErrNotFound before its first job.
func (v View) Run(number, run uint64) (Run, error) {
	return agree.Found(agree.Get[Run](v.Reader, keyRun(number, run)))
}

// OpenJobs returns at most n jobs behind job after that are not whole.
func (v View) OpenJobs(after uint64, n int) ([]Open, error) {
	return agree.List[Open](v.Reader, PrefixOpen, behind(after), n)
}

// OpenJob returns the job that is not whole, or ErrNotFound.
func (v View) OpenJob(id uint64) (Open, error) {
	return agree.Found(agree.Get[Open](v.Reader, keyOpen(id)))
}

// SealedJobs returns the numbers of at most n jobs behind job after that have secrets or had some; jobs from before
// level 4 may be among them only once they have parts.
func (v View) SealedJobs(after uint64, n int) ([]Job, error) {
	return v.listed(prefixSealed, after, n, nil)
}

// Newest returns the n newest jobs of the state, the newest first. Of the others it reads the numbers alone.
func (v View) Newest(state JobState, n int) ([]Job, error) {
	ids, err := agree.Tails(v.Reader, prefixJobStates+string(state)+"/", "", 0)
	if err != nil {
		return nil, err
	}
	ids = ids[max(0, len(ids)-n):]
	out := make([]Job, 0, len(ids))
	for _, id := range slices.Backward(ids) {
		j, err := agree.Found(agree.Get[Job](v.Reader, PrefixJobs+id))
		if err != nil {
			return nil, err
		}
		out = append(out, j)
	}
	return out, nil
}

// OldJobs returns at most n jobs behind job after that have no parts yet.
func (v View) OldJobs(after uint64, n int) (out []Job, err error) {
	from, some, err := v.old()
	if err != nil || !some {
		return nil, err
	}
	for after = max(after, from); ; {
		page, err := v.Jobs("", after, n)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if after = page[i].ID; page[i].Parts == nil {
				out = append(out, page[i])
			}
		}
		if n <= 0 || len(page) < n || len(out) >= n {
			if n > 0 && len(out) > n {
				out = out[:n]
			}
			return out, nil
		}
	}
}

// Counts returns how many jobs there are in each state that any is in.
func (v View) Counts() (map[JobState]int, error) {
	c, _, err := agree.Get[counts](v.Reader, keyCounts)
	if err != nil {
		return nil, err
	}
	_, some, err := v.old()
	if err != nil {
		return nil, err
	}
	out := map[JobState]int{}
	for _, state := range States() {
		n := *c.of(state)
		if some {
			old, err := v.oldJobs(func(*Job) bool { return true }, state)
			if err != nil {
				return nil, err
			}
			n += len(old)
		}
		if n != 0 {
			out[state] = n
		}
	}
	return out, nil
}

// Part returns a part of a job; the first is 1.
func (v View) Part(j *Job, n int) (Part, error) {
	if j.Parts == nil || n < 1 || n > j.Parts.Count {
		return Part{}, agree.ErrNotFound
	}
	return v.part(j.Parts.Of, n)
}

func (v View) part(of uint64, n int) (Part, error) {
	value, err := v.Reader.Get([]byte(keyPart(of, n)))
	if err == nil && value == nil {
		err = agree.ErrNotFound
	}
	if err != nil {
		return Part{}, fmt.Errorf("part %d of job %d: %w", n, of, err)
	}
	return decodePart(value)
}

// inOrder sorts jobs by their numbers.
func inOrder(jobs []Job) []Job {
	slices.SortFunc(jobs, func(a, b Job) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return jobs
}

func behind(id uint64) string {
	if id == 0 {
		return ""
	}
	return agree.Hex(id)
}
