// Package steward carries out what the leader of a cluster owes: it places shards, fills replicas, judges disputed
// copies, gives up jobs whose node is lost, keeps what jobs brought in the history of their domains, and keeps the
// catalog's clock. duty decides what is owed.
package steward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
	"holdfast/catalog/jobs"
	"holdfast/duty"
)

const (
	leaderEvery = 5 * time.Second // between rounds without a change of the catalog
)

// LoseMargin is how long after its lease a job of a node that is not heard is given up.
const LoseMargin = 10 * time.Minute

// Agreement is the agreed state, how to propose changes of it, and who leads.
type Agreement interface {
	View(func(catalog.View) error) error
	Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error)
	IsLeader() bool
	Leading() <-chan bool // receives each time that this node begins or ceases to lead
}

// Config holds the settings of a Steward.
type Config struct {
	Self      catalog.NodeID
	Lease     time.Duration // how long a job continues without contact to a leader
	Agreement Agreement
	Contacts  func() map[catalog.NodeID]time.Duration // for how long the leader has not heard each
	Alive     func() map[catalog.NodeID]int64         // the living nodes, each with its free room in bytes
	// Lacking are the shards that nodes have lost with a disk and have no room for: how many, and which of them others
	// should take next. Nobody lacks any if nil.
	Lacking func() map[catalog.NodeID]Lacking
	// RebuildAfter is how long a node is away before its shards are made again on others; 0 = they are not.
	RebuildAfter time.Duration
	News         func() <-chan struct{} // closed when somebody comes or goes
	Now          func() time.Time       // the time that the members agree on
	Unsure       func() bool            // this machine's clock cannot be trusted
	Log          *slog.Logger
}

// Lacking is what a node says of shards that none of its disks has.
type Lacking struct {
	Shards int
	Next   []catalog.Shard
}

// Steward carries out the leader's duties.
type Steward struct {
	cfg    Config
	clock  clockDuty
	steady steadiness
	quiet  quiet
	told   map[duty.Undecided]bool // disputed copies that were logged as undecided

	judged time.Time // until when they are not looked at again
}

// Watched returns the prefixes of the catalog whose changes make work for a leader.
func Watched() []string {
	return []string{catalog.PrefixMembers, catalog.PrefixReplicas, catalog.PrefixLayout, catalog.PrefixDisputed,
		catalog.PrefixFills, catalog.PrefixJobs, catalog.PrefixCluster, jobs.PrefixWalk, jobs.PrefixUncounted,
		jobs.PrefixLost}
}

// New returns a steward that does nothing yet.
func New(cfg Config) *Steward { return &Steward{cfg: cfg} }

// Run carries out the leader's duties while this node leads, until ctx ends. changed reports changes of the catalog
// under Watched.
func (s *Steward) Run(ctx context.Context, changed <-chan struct{}) error {
	tick := time.NewTicker(leaderEvery)
	defer tick.Stop()
	var since time.Time
	for {
		news := s.cfg.News()
		switch {
		case !s.cfg.Agreement.IsLeader():
			since, s.clock, s.steady, s.quiet = time.Time{}, clockDuty{}, steadiness{}, nil
		case since.IsZero():
			since = time.Now()
			s.cfg.Log.Info("this node leads")
			fallthrough
		default:
			if err := s.leaderRound(ctx, since); err != nil && ctx.Err() == nil {
				s.cfg.Log.Warn("a leader's duty was not carried out", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.cfg.Agreement.Leading(): // also when this node has led again so soon that nothing was seen of it
			since = time.Time{}
		case <-changed:
		case <-news:
		case <-tick.C:
		}
	}
}

// leaderRound does each duty once; the rest is done in the next round.
func (s *Steward) leaderRound(ctx context.Context, since time.Time) error {
	lose := func(ctx context.Context) error { return s.loseJobs(ctx, since) }
	release := func(ctx context.Context) error { return s.releaseBatches(ctx, since) }
	return inTurn(ctx, s.keepClock, s.placeShards, s.fillReplicas, s.judge, s.drawLots, lose, release, s.partJobs,
		s.dropJobs,
		s.keepHistory, s.dropStatistics, s.expireFiles)
}

// inTurn does each duty, whether or not those before it could be done.
func inTurn(ctx context.Context, duties ...func(context.Context) error) error {
	var failed error
	for _, do := range duties {
		failed = errors.Join(failed, do(ctx))
	}
	return failed
}

func (s *Steward) placeShards(ctx context.Context) error {
	alive := s.cfg.Alive()
	now := s.cfg.Now()
	trusted := s.steady.holds(now, time.Now(), s.cfg.Unsure())
	contacts := s.cfg.Contacts()
	var lacking map[catalog.NodeID]Lacking
	if s.cfg.Lacking != nil {
		lacking = s.cfg.Lacking()
	}
	var due []catalog.Assignment
	err := s.cfg.Agreement.View(func(v catalog.View) error {
		replicas, err := v.Replicas()
		if err != nil {
			return err
		}
		members, err := v.Members()
		if err != nil {
			return err
		}
		lives := func(id catalog.NodeID) bool { _, lives := alive[id]; return lives }
		silent, err := s.silent(v, members, lives, contacts, now, trusted)
		if err != nil {
			return err
		}
		var rooms []duty.Room
		for _, m := range members {
			rooms = append(rooms, duty.Room{Node: m.ID, Free: alive[m.ID], Alive: lives(m.ID), Silent: silent[m.ID],
				Lacking: lacking[m.ID].Shards, Next: lacking[m.ID].Next})
		}
		for _, r := range replicas {
			assignments, err := duty.Place(v, r.Name, rooms, duty.MovesAtOnce)
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
		if err := s.propose(ctx, catalog.AssignShards, a); err != nil {
			return err
		}
		shards, to[a.Node] = shards+len(a.Shards), true
	}
	if shards > 0 {
		s.cfg.Log.Info("shards assigned", "shards", shards, "nodes", len(to))
	}
	return nil
}

// propose proposes one of the leader's own commands; a refusal, because the state has moved on, is only noted.
func (s *Steward) propose(ctx context.Context, kind catalog.Kind, body any) error {
	result, err := s.cfg.Agreement.Propose(ctx, kind, body, string(s.cfg.Self))
	if err != nil {
		return fmt.Errorf("propose %s: %w", kind, err)
	}
	if result.Refusal != nil {
		s.cfg.Log.Debug("duty refused", "kind", kind, "reason", result.Refusal.Message)
	}
	return nil
}

// fillTime is how long steps of walks over replicas' files are taken in one round: the other duties come again then,
// and a walk over a million files does not repeat them thousands of times.
const fillTime = 2 * time.Second

func (s *Steward) fillReplicas(ctx context.Context) error {
	var last []catalog.FillStep
	for began := time.Now(); time.Since(began) < fillTime; {
		var steps []catalog.FillStep
		err := s.cfg.Agreement.View(func(v catalog.View) (err error) { steps, err = duty.Fill(v); return err })
		if err != nil {
			return fmt.Errorf("find replicas to fill: %w", err)
		}
		if len(steps) == 0 || slices.Equal(steps, last) { // refused, or the state here is behind
			return nil
		}
		for _, step := range steps {
			if err := s.propose(ctx, catalog.FillReplica, step); err != nil {
				return err
			}
		}
		last = steps
	}
	return nil
}

// partSteps is how many steps of the walk over old jobs are taken in one round.
const partSteps = 20

// partJobs gives parts to jobs from before level 4, a step at a time; what is left is done in the next round.
func (s *Steward) partJobs(ctx context.Context) error {
	for range partSteps {
		var step jobs.WalkStep
		var due bool
		err := s.cfg.Agreement.View(func(v catalog.View) (err error) { step, due, err = duty.WalkDue(v); return err })
		if err != nil {
			return fmt.Errorf("find jobs without parts: %w", err)
		}
		if !due {
			return nil
		}
		if err := s.propose(ctx, jobs.WalkJobs, step); err != nil {
			return err
		}
	}
	return nil
}

// dropJobs removes jobs that nobody makes whole any more, a piece of each; what is left is done in the next round.
func (s *Steward) dropJobs(ctx context.Context) error {
	var abandoned []catalog.JobRef
	err := s.cfg.Agreement.View(func(v catalog.View) (err error) {
		abandoned, err = duty.Abandoned(v, s.cfg.Now())
		return err
	})
	if err != nil {
		return fmt.Errorf("find jobs that nobody makes whole: %w", err)
	}
	for _, job := range abandoned {
		s.cfg.Log.Info("job that was never made whole is removed", "job", job.ID)
		if err := s.propose(ctx, jobs.DropJob, job); err != nil {
			return err
		}
	}
	return nil
}

// maxUndecided bounds how many undecided copies are remembered as told.
const maxUndecided = 1000

// fresh returns the undecided copies that were not reported before, and the set of all undecided copies as now
// reported.
func fresh(told map[duty.Undecided]bool,
	undecided []duty.Undecided) (unheard []duty.Undecided, now map[duty.Undecided]bool) {
	now = make(map[duty.Undecided]bool, len(undecided))
	for _, u := range undecided {
		if now[u] = true; !told[u] {
			unheard = append(unheard, u)
		}
	}
	return unheard, now
}

// judgeRest is how many times as long as a look at all disputed copies took the steward rests before the next: of a
// million that nobody can decide it would otherwise do nothing else.
const judgeRest = 20

// drawLots draws again who challenges whom, when that is due.
func (s *Steward) drawLots(ctx context.Context) error {
	var number uint64
	err := s.cfg.Agreement.View(func(v catalog.View) (err error) {
		number, err = duty.DrawDue(v, catalog.At(s.cfg.Now()))
		return err
	})
	if err != nil || number == 0 {
		return err
	}
	return s.propose(ctx, files.DrawLots, files.Drawing{Node: s.cfg.Self, Number: number})
}

// judge decides disputed copies by vote; copies without a majority are left for an operator.
func (s *Steward) judge(ctx context.Context) error {
	if time.Now().Before(s.judged) {
		return nil
	}
	began := time.Now()
	var undecided []duty.Undecided
	defer func() {
		s.judged = time.Now().Add(judgeRest * time.Since(began))
		var unheard []duty.Undecided
		unheard, s.told = fresh(s.told, undecided)
		for _, u := range unheard {
			s.cfg.Log.Error("a disputed copy needs an operator", "file", u.Name, "replica", u.Replica, "why", u.Why)
		}
	}()
	for after := catalog.FileName(""); ; {
		var j duty.Judgement
		err := s.cfg.Agreement.View(func(v catalog.View) (err error) {
			j, err = duty.Verdicts(v, catalog.At(s.cfg.Now()), after, catalog.MaxItems/2)
			return err
		})
		if err != nil {
			return fmt.Errorf("judge disputed copies: %w", err)
		}
		undecided = append(undecided, j.Undecided[:min(len(j.Undecided), maxUndecided-len(undecided))]...)
		for chunk := range chunks(j.Verdicts, catalog.MaxItems) {
			if err := s.propose(ctx, catalog.JudgeCopies, catalog.Verdicts{Copies: chunk}); err != nil {
				return err
			}
			for _, v := range chunk {
				s.cfg.Log.Info("copy judged", "file", v.Name, "replica", v.Replica,
					"bad", v.Bad, "votes", v.Votes)
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

// contacts returns when each node was heard last.
func (s *Steward) contacts(since, now time.Time) duty.Contacts {
	out := duty.Contacts{Since: since, Heard: map[catalog.NodeID]time.Time{s.cfg.Self: now}}
	for id, silent := range s.cfg.Contacts() {
		out.Heard[id] = now.Add(-silent)
	}
	return out
}

func (s *Steward) loseJobs(ctx context.Context, since time.Time) error {
	now := time.Now()
	contacts := s.contacts(since, now)
	var lost []catalog.JobEnd
	err := s.cfg.Agreement.View(func(v catalog.View) (err error) {
		lost, err = duty.LostJobs(v, contacts, now, s.cfg.Lease, LoseMargin)
		return err
	})
	if err != nil {
		return fmt.Errorf("find lost jobs: %w", err)
	}
	for _, end := range lost {
		s.cfg.Log.Warn("job lost its node", "job", end.ID, "attempt", end.Attempt, "node", end.Node)
		if err := s.propose(ctx, catalog.LoseJob, end); err != nil {
			return err
		}
	}
	return nil
}
