package replica

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// answerLimit is at which pace answers to challenges are read: as audits, but in time for those who ask.
func answerLimit(rate int64) *limiter {
	if rate <= 0 {
		return nil
	}
	return newLimiter(max(rate, 4*challengesAtOnce*answerPace))
}

// startChallenges begins an audit of the kind: of the shards, or of all that this node holds. It counts the copies that
// this node is to challenge, by what the catalog has of each collection.
func (r *auditor) startChallenges(shards []catalog.Shard, one *Audit) (Audit, error) {
	err := r.catalog.View(func(v catalog.View) error {
		draw, err := drawOf(v, one.Draw)
		if err != nil {
			return err
		}
		layout, err := v.Layout(r.cfg.Replica)
		if err != nil {
			return err
		}
		for n, p := range layout {
			shard := catalog.Shard(n)
			if p.Holder != r.cfg.Self || len(shards) > 0 && !slices.Contains(shards, shard) {
				continue
			}
			total, bytes := int64(0), int64(0)
			err := Examined(v, draw, one.Scope.Replica, shard, func(of files.Examined) {
				if of.Examiner == r.cfg.Self {
					total += one.sample(of.Files)
					bytes += of.Bytes * one.sample(of.Files) / of.Files
				}
			})
			if err != nil {
				return err
			}
			if total > 0 {
				one.Shards = append(one.Shards, shard)
				one.TotalFiles += total
				one.TotalBytes += bytes
			}
		}
		return nil
	})
	if err != nil {
		return Audit{}, fmt.Errorf("start challenges: %w", err)
	}
	return r.audits.add(one)
}

// Examined calls see with what is to be examined by the draw in a shard, of the replica or of all that have bytes: the
// copies of one collection at a time, of which there are any.
func Examined(v catalog.View, draw files.Draw, only catalog.ReplicaName, shard catalog.Shard,
	see func(files.Examined)) error {
	replicas, err := v.Replicas()
	if err != nil {
		return err
	}
	for _, r := range replicas {
		if r.Kind != catalog.Bitarchive || only != "" && r.Name != only {
			continue
		}
		some, err := v.Examined(draw, r, shard)
		if err != nil {
			return err
		}
		for _, one := range some {
			see(one)
		}
	}
	return nil
}

// challengesDue returns the number of the draw after which this node has not challenged yet, 0 if there is none.
func (r *auditor) challengesDue() (uint64, error) {
	if r.cfg.Challenges <= 0 || r.sums != nil {
		return 0, nil
	}
	var draws files.Draws
	err := r.catalog.View(func(v catalog.View) (err error) { draws, err = v.Draws(); return err })
	if err != nil {
		return 0, err
	}
	for _, one := range r.Audits() {
		if one.kind() == AuditChallenge && one.Scheduled && (one.Draw == draws.Last.Number || !one.State.Ended()) {
			return 0, nil
		}
	}
	return draws.Last.Number, nil
}

// askedSince reports whether all copies of the replica were challenged by a later audit, which has ended.
func (a *audits) askedSince(id string, of catalog.ReplicaName) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range slices.Backward(a.all) {
		if one.ID == id {
			return false
		}
		_, asked := one.Asked[of]
		if asked && one.kind() == AuditChallenge && one.Scope.All() && one.State.Ended() && one.State != AuditStopped {
			return true
		}
	}
	return false
}

// noteChecks tells the catalog how the audit ended, if it was of all copies: when each kind was made last is agreed. It
// is told once: a node that cannot tell now does so after the next one.
func (r *auditor) noteChecks(ctx context.Context, id string) {
	one, err := r.Audit(id)
	if err != nil || !one.Scope.All() || one.State != AuditDone && one.State != AuditIncomplete {
		return
	}
	check := files.Check{Node: r.cfg.Self, Kind: string(one.kind()), Began: catalog.At(one.Began),
		Ended: catalog.At(one.Ended)}
	var checks []files.Check
	switch one.kind() {
	case AuditPresence:
		check.Replica, check.Files, check.Findings = r.cfg.Replica, one.Files, int64(one.Excepted)
		check.Missed = max(one.TotalFiles-one.Files, one.Owed)
		checks = append(checks, check)
	case AuditChallenge:
		for name, of := range one.Asked {
			if r.audits.askedSince(id, name) {
				continue
			}
			check.Replica, check.Files, check.Findings, check.Missed = name, of.Files, of.Findings, of.Missed
			checks = append(checks, check)
		}
	}
	if level, err := r.level(); err != nil || level < files.LevelOfChallenges {
		return
	}
	for _, c := range checks {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		res, err := r.catalog.Propose(ctx, files.NoteCheck, c, string(r.cfg.Self))
		cancel()
		if err == nil && res.Refusal != nil {
			err = res.Refusal
		}
		if err != nil {
			r.log.Warn("the end of an audit is not recorded", "audit", id, "err", err)
		}
	}
}
