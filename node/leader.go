package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/catalog"
	"holdfast/duty"
)

const (
	leaderEvery = 5 * time.Second // between rounds without a change of the catalog
	movesAtOnce = 64              // shards of a replica on the move
	loseMargin  = 10 * time.Minute
)

// lead carries out the leader's duties while this node leads.
func (n *Node) lead(ctx context.Context) error {
	watch := n.raft.Watch(catalog.PrefixMembers, catalog.PrefixReplicas, catalog.PrefixLayout, catalog.PrefixDisputed, catalog.PrefixFills,
		catalog.PrefixJobs)
	defer watch.Close()
	tick := time.NewTicker(leaderEvery)
	defer tick.Stop()
	var since time.Time
	for {
		news := n.changed.C()
		switch {
		case !n.raft.IsLeader():
			since, n.clockDuty = time.Time{}, clockDuty{}
		case since.IsZero():
			since = time.Now()
			n.log.Info("this node leads")
			fallthrough
		default:
			if err := n.leaderRound(ctx, since); err != nil && ctx.Err() == nil {
				n.log.Warn("a leader's duty was not carried out", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.raft.Leading(): // also when this node has led again so soon that nothing was seen of it
			since = time.Time{}
		case <-watch.C:
		case <-news:
		case <-tick.C:
		}
	}
}

// leaderRound does each duty once; what is left is done in the next round.
func (n *Node) leaderRound(ctx context.Context, since time.Time) error {
	lose := func(ctx context.Context) error { return n.loseJobs(ctx, since) }
	return inTurn(ctx, n.keepClock, n.placeShards, n.fillReplicas, n.judge, lose)
}

// inTurn does each duty, whether or not those before it could be done.
func inTurn(ctx context.Context, duties ...func(context.Context) error) error {
	var failed error
	for _, do := range duties {
		failed = errors.Join(failed, do(ctx))
	}
	return failed
}

func (n *Node) placeShards(ctx context.Context) error {
	alive := n.alive()
	free := map[catalog.NodeID]int64{}
	for _, f := range n.gossip.Alive() {
		free[catalog.NodeID(f.ID)] = int64(f.Free)
	}
	free[n.id] = int64(n.facts().Free)
	var due []catalog.Assignment
	err := n.raft.View(func(v catalog.View) error {
		replicas, err := v.Replicas()
		if err != nil {
			return err
		}
		members, err := v.Members()
		if err != nil {
			return err
		}
		var rooms []duty.Room
		for _, m := range members {
			rooms = append(rooms, duty.Room{Node: m.ID, Free: free[m.ID], Alive: alive[m.ID]})
		}
		for _, r := range replicas {
			assignments, err := duty.Place(v, r.Name, rooms, movesAtOnce)
			if err != nil {
				return err
			}
			due = append(due, assignments...)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("place shards: %w", err)
	}
	shards := 0
	to := map[catalog.NodeID]bool{}
	for _, a := range due {
		if err := n.propose(ctx, catalog.AssignShards, a); err != nil {
			return err
		}
		shards, to[a.Node] = shards+len(a.Shards), true
	}
	if shards > 0 {
		n.log.Info("shards assigned", "shards", shards, "nodes", len(to))
	}
	return nil
}

// propose proposes one of the leader's own commands; a refusal, because the state has moved on, is only noted.
func (n *Node) propose(ctx context.Context, kind catalog.Kind, body any) error {
	result, err := n.raft.Propose(ctx, kind, body, string(n.id))
	if err != nil {
		return fmt.Errorf("propose %s: %w", kind, err)
	}
	if result.Refusal != nil {
		n.log.Debug("duty refused", "kind", kind, "reason", result.Refusal.Message)
	}
	return nil
}

func (n *Node) fillReplicas(ctx context.Context) error {
	var steps []catalog.FillStep
	err := n.raft.View(func(v catalog.View) (err error) { steps, err = duty.Fill(v); return err })
	if err != nil {
		return fmt.Errorf("find replicas to fill: %w", err)
	}
	for _, step := range steps {
		if err := n.propose(ctx, catalog.FillReplica, step); err != nil {
			return err
		}
	}
	return nil
}

// maxUndecided bounds how many undecided copies are remembered as told.
const maxUndecided = 1000

// fresh returns those of the undecided that were not told of, and all of them as those told of by now.
func fresh(told map[duty.Undecided]bool, undecided []duty.Undecided) (unheard []duty.Undecided, now map[duty.Undecided]bool) {
	now = make(map[duty.Undecided]bool, len(undecided))
	for _, u := range undecided {
		if now[u] = true; !told[u] {
			unheard = append(unheard, u)
		}
	}
	return unheard, now
}

// judge decides disputed copies by vote; those that no majority decides are left for an operator.
func (n *Node) judge(ctx context.Context) error {
	var undecided []duty.Undecided
	defer func() {
		var unheard []duty.Undecided
		unheard, n.told = fresh(n.told, undecided)
		for _, u := range unheard {
			n.log.Error("a disputed copy needs an operator", "file", u.Name, "replica", u.Replica, "why", u.Why)
		}
	}()
	for after := catalog.FileName(""); ; {
		var j duty.Judgement
		err := n.raft.View(func(v catalog.View) (err error) {
			j, err = duty.Verdicts(v, after, catalog.MaxItems/2)
			return err
		})
		if err != nil {
			return fmt.Errorf("judge disputed copies: %w", err)
		}
		undecided = append(undecided, j.Undecided[:min(len(j.Undecided), maxUndecided-len(undecided))]...)
		for chunk := range chunks(j.Verdicts, catalog.MaxItems) {
			if err := n.propose(ctx, catalog.JudgeCopies, catalog.Verdicts{Copies: chunk}); err != nil {
				return err
			}
			for _, v := range chunk {
				n.log.Info("copy judged", "file", v.Name, "replica", v.Replica, "bad", v.Bad, "votes", v.Votes)
			}
		}
		if j.Done || j.Next == after {
			return nil
		}
		after = j.Next
	}
}

func chunks[T any](all []T, n int) func(func([]T) bool) {
	return func(yield func([]T) bool) {
		for len(all) > 0 {
			size := min(n, len(all))
			if !yield(all[:size]) {
				return
			}
			all = all[size:]
		}
	}
}

func (n *Node) loseJobs(ctx context.Context, since time.Time) error {
	now := time.Now()
	contacts := duty.Contacts{Since: since, Heard: map[catalog.NodeID]time.Time{n.id: now}}
	for id, silent := range n.raft.Contacts() {
		contacts.Heard[id] = now.Add(-silent)
	}
	var lost []catalog.JobEnd
	err := n.raft.View(func(v catalog.View) (err error) {
		lost, err = duty.LostJobs(v, contacts, now, time.Duration(n.cfg.Limits.Lease), loseMargin)
		return err
	})
	if err != nil {
		return fmt.Errorf("find lost jobs: %w", err)
	}
	for _, end := range lost {
		n.log.Warn("job lost its node", "job", end.ID, "attempt", end.Attempt, "node", end.Node)
		if err := n.propose(ctx, catalog.LoseJob, end); err != nil {
			return err
		}
	}
	return nil
}
