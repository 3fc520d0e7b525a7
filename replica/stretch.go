package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"holdfast/catalog"
)

// saveEvery is how often an audit under way is saved.
const saveEvery = 10 * time.Second

// audit carries the audit on until it ends, is paused, or the context ends.
func (r *auditor) audit(parent context.Context, one *Audit) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	a := r.audits
	running := false
	a.update(func() {
		a.now[one.ID] = cancel
		running = one.State == AuditRunning
	})
	defer a.update(func() { delete(a.now, one.ID) })
	if running {
		if err := r.plan(ctx, one); err != nil {
			if ctx.Err() != nil && parent.Err() == nil {
				err = nil // paused or stopped
			}
			return err
		}
	}
	saved := time.Now()
	for running && one.Passed < len(one.Shards) {
		began := time.Now()
		err := r.stretch(ctx, one)
		a.update(func() { one.Worked += max(0, time.Since(began)) })
		if err != nil {
			if ctx.Err() != nil && parent.Err() == nil {
				err = nil // paused or stopped, or others go first
			}
			return errors.Join(err, a.keep(one))
		}
		if time.Since(saved) < saveEvery {
			continue
		}
		if err := a.keep(one); err != nil {
			return err
		}
		saved = time.Now()
	}
	if !running {
		return nil
	}
	if one.Outbox {
		if err := r.auditOutbox(ctx, one); err != nil {
			if ctx.Err() != nil && parent.Err() == nil {
				err = nil // paused or stopped
			}
			return errors.Join(err, a.keep(one))
		}
	}
	_, err := a.change(one.ID, func(one *Audit) error {
		if one.State != AuditRunning {
			return nil
		}
		one.unmet()
		one.State, one.Ended = AuditDone, time.Now()
		if one.Faulty > 0 || one.OutboxFault != "" || one.Unreached > 0 {
			one.State = AuditIncomplete
		}
		r.log.Info("audit has ended", "audit", one.ID, "state", one.State, "files", one.Files, "exceptions",
			one.Excepted,
			"owed", one.Owed, "shards not passed", one.Faulty)
		return nil
	})
	if err == nil {
		r.noteChecks(parent, one.ID) // ctx has ended with the audit
	}
	return err
}

func (a *audits) keep(one *Audit) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.save(one)
}

// A stretch is a set of passes that are recorded together. It is limited in shards and in work; a shard with more
// than smallShard bytes is not begun behind others.
const (
	stretchShards = 64
	stretchTime   = 2 * time.Second
	smallShard    = 64 << 20
)

// stretch passes the next shards and records the passes side by side. When that fails, the audit is where it
// was before, but for a first shard that is half done.
func (r *auditor) stretch(ctx context.Context, one *Audit) error {
	var passes []catalog.ShardPass
	var before Audit
	began := time.Now()
	for i := one.Passed; i < len(one.Shards) && len(passes) < stretchShards && time.Since(began) < stretchTime; i++ {
		if len(passes) > 0 {
			if small, err := r.isSmall(one.Shards[i]); err != nil || !small {
				break
			}
		}
		var pass catalog.ShardPass
		var err error
		if one.kind() == AuditChallenge {
			err = r.examineShard(ctx, one, one.Shards[i])
		} else {
			pass, err = r.passShard(ctx, one, one.Shards[i])
		}
		if shardFault(err) && ctx.Err() == nil {
			if len(passes) > 0 {
				break // its turn comes again when these are recorded
			}
			r.skip(one, one.Shards[i], err)
			return nil
		}
		if err != nil {
			if len(passes) > 0 {
				r.audits.update(func() { one.goBack(before) })
			}
			return err
		}
		passes = append(passes, pass)
		if len(passes) == 1 {
			r.audits.update(func() { before = one.copy() })
			before.Pass = &Pass{Shard: pass.Shard, Began: pass.Began, After: lastName, Root: pass.Root,
				Exceptions: pass.Exceptions, Surveyed: true}
		}
	}
	passed := len(passes)
	if !one.Proves() {
		passes = nil
	}
	if err := r.recordPasses(ctx, passes); err != nil {
		r.audits.update(func() { one.goBack(before) })
		return err
	}
	r.audits.update(func() { one.Passed += passed })
	return nil
}

// restOfShard is how long a shard that could not be passed is left alone by audits that are due.
const restOfShard = time.Hour

// skip leaves out a shard that cannot be passed. It stays due, and the audit ends incomplete.
func (r *auditor) skip(one *Audit, shard catalog.Shard, why error) {
	r.log.Error("a shard cannot be audited", "audit", one.ID, "shard", shard, "err", why)
	r.audits.update(func() {
		one.Pass = nil
		one.Passed++
		one.Faulty++
		if len(one.Faults) < listed {
			one.Faults = append(one.Faults, ShardFault{Shard: shard, Reason: why.Error()})
		}
		r.audits.rest[shard] = time.Now().Add(restOfShard)
	})
}

// rested leaves out the shards that could not be passed a short while ago.
func (a *audits) rested(due []catalog.Shard, now time.Time) []catalog.Shard {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(due, func(shard catalog.Shard) bool { return now.Before(a.rest[shard]) })
}

// lastName is behind every name: nothing of a shard is left to check.
const lastName catalog.FileName = "\xff"

func (one *Audit) goBack(to Audit) {
	one.Pass, one.Tally, one.Exceptions, one.Beside = to.Pass, to.Tally, to.Exceptions, to.Beside
	one.Unanswered, one.Asked = to.Unanswered, to.Asked
}

func (r *auditor) recordPasses(ctx context.Context, passes []catalog.ShardPass) error {
	failed := make([]error, len(passes))
	var all sync.WaitGroup
	for i, pass := range passes {
		all.Go(func() {
			res, err := r.catalog.Propose(ctx, catalog.PassShard, pass, string(r.cfg.Self))
			if err != nil {
				failed[i] = fmt.Errorf("record the pass of shard %s: %w", pass.Shard, err)
			} else if res.Refusal != nil {
				r.log.Info("pass refused", "shard", pass.Shard, "err", res.Refusal)
			}
		})
	}
	all.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}
