package crawler

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"time"

	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
)

// How many queues the frontier's summary names: the longest, and this many in each state.
const (
	longest      = 10
	namedQueues  = 2000
	longestSpare = 1000 // sorted so seldom
)

// frontierSummary describes the frontier, with its queues as of the last commit.
func (r *reports) frontierSummary(ctx context.Context, s Summary) (report.FrontierSummary, error) {
	n, f := s.Counters, r.frontier.Summary()
	out := report.FrontierSummary{Job: r.job, State: frontierState(s.State), Discovered: n.Discovered, Queued: n.Queued,
		Finished: n.Finished, Succeeded: n.Succeeded,
		Failed: n.Failed, Ignore: n.Disregarded, Included: n.Discovered, InProcess: f.States[frontier.Busy],
		Ready:   f.States[frontier.Ready],
		Snoozed: f.States[frontier.Snoozed], Retired: f.States[frontier.Retired], Frozen: f.States[frontier.Frozen],
		Exhausted: f.States[frontier.Empty], Inactive: map[int]int64{}, Queues: map[report.QueueState][]report.Queue{}}
	shorten := func() {
		slices.SortStableFunc(out.Longest, func(a, b report.Queue) int { return cmp.Compare(b.Count, a.Count) })
		out.Longest = out.Longest[:min(longest, len(out.Longest))]
	}
	err := r.frontier.Nonempty(ctx, func(info frontier.QueueInfo) bool {
		q := reportQueue(info)
		if q.State == report.Inactive {
			out.Inactive[q.Precedence]++
		}
		if named := out.Queues[q.State]; len(named) < namedQueues {
			out.Queues[q.State] = append(named, q)
		}
		if out.Longest = append(out.Longest, q); len(out.Longest) > longestSpare {
			shorten()
		}
		return true
	})
	shorten()
	return out, err
}

// frontierState is what Heritrix calls the state of a frontier.
func frontierState(s State) string {
	switch s {
	case Preparing, Paused:
		return "PAUSE"
	case Running:
		return "RUN"
	}
	return "FINISH"
}

// reportStates are the reports' words for the states of queues.
func reportStates() map[frontier.State]report.QueueState {
	return map[frontier.State]report.QueueState{frontier.Busy: report.InProcess, frontier.Ready: report.Ready,
		frontier.Snoozed:  report.Snoozed,
		frontier.Inactive: report.Inactive, frontier.Retired: report.Retired, frontier.Frozen: report.Frozen,
		frontier.Empty: report.Exhausted}
}

func reportQueue(q frontier.QueueInfo) report.Queue {
	budget := q.TotalBudget
	if budget == 0 {
		budget = -1
	}
	return report.Queue{Name: q.Name, State: reportStates()[q.State], Precedence: q.Precedence, Count: q.Remaining,
		Enqueued:       q.Remaining + q.URLs + q.Failed + q.Disregarded,
		SessionBalance: q.SessionBudget - q.SessionSpent, Spent: q.Spent, Budget: budget, Wakes: q.WakeAt,
		Succeeded: q.URLs, Responses: q.URLs,
		Bytes: q.Bytes, SuccessBytes: q.Bytes, Failed: q.Failed, Disregarded: q.Disregarded, Robots: q.Robots,
		NonResponses: q.Unanswered, LastSuccess: q.LastSuccess}
}

func (r *reports) writeFrontier(ctx context.Context, w io.Writer, s Summary, now time.Time) error {
	f, err := r.frontierSummary(ctx, s)
	if err != nil {
		return err
	}
	return report.WriteFrontierSummary(w, f, now)
}

func (r *reports) writeNonempty(ctx context.Context, w io.Writer, now time.Time) error {
	var failed error
	err := report.WriteFrontierNonempty(w, func(state report.QueueState) iter.Seq[report.Queue] {
		return func(yield func(report.Queue) bool) {
			err := r.frontier.Nonempty(ctx, func(q frontier.QueueInfo) bool {
				one := reportQueue(q)
				return one.State != state || yield(one)
			})
			failed = errors.Join(failed, err)
		}
	}, now)
	return errors.Join(err, failed)
}
