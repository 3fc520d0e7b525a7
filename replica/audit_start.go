package replica

import (
	"fmt"
	"slices"
	"time"

	"holdfast/catalog"
)

// StartAudit begins an audit of the shards, or of all shards that this node holds if none are given, as part of a
// group of audits on several nodes unless group is empty. Audits are carried out while Run runs, a few at once.
func (r *auditor) StartAudit(group string, shards []catalog.Shard) (Audit, error) {
	return r.startAudit(shards, &Audit{Group: group})
}

// JoinAudit begins this node's part of an audit over several nodes. Each part knows all nodes, so that a node that does
// not take part is noticed, and so are shards that no node holds.
func (r *auditor) JoinAudit(group string, ask AuditRequest) (Audit, error) {
	switch ask.Kind {
	case "", AuditChecksum, AuditPresence, AuditChallenge:
	default:
		return Audit{}, fmt.Errorf("an audit of the kind %q: this program does not know it", ask.Kind)
	}
	if err := ask.Scope.Check(); err != nil {
		return Audit{}, err
	}
	var shards []catalog.Shard
	if ask.Scope.Shard != nil {
		shards = []catalog.Shard{*ask.Scope.Shard}
	}
	return r.startAudit(shards, &Audit{Group: group, Nodes: ask.Nodes, Unheld: ask.Unheld, Kind: ask.Kind,
		Scope: ask.Scope, Challenges: Challenges{Draw: ask.Draw}})
}

func (r *auditor) startAudit(shards []catalog.Shard, one *Audit) (Audit, error) {
	one.State, one.Began = AuditRunning, time.Now()
	all := len(shards) == 0 && one.Scope.All() && (!one.Scheduled || one.kind() == AuditPresence)
	one.Outbox = one.Outbox || all && !one.Scheduled && one.kind() == AuditChecksum
	if one.kind() == AuditChallenge && !one.Scope.ByName() {
		return r.startChallenges(shards, one)
	}
	if one.Scope.ByName() { // r.plan finds the shards
		return r.audits.add(one)
	}
	present := map[catalog.Shard]bool{}
	for _, shard := range r.store.Shards() {
		present[shard] = true
	}
	err := r.catalog.View(func(v catalog.View) error {
		layout, err := v.Layout(r.cfg.Replica)
		if err != nil {
			return err
		}
		for n, p := range layout {
			shard := catalog.Shard(n)
			if p.Holder != r.cfg.Self || !all && !slices.Contains(shards, shard) {
				continue
			}
			root, err := v.Root(r.cfg.Replica, shard)
			if err != nil {
				return err
			}
			if root.Files == 0 && all && !present[shard] {
				continue // nothing is to be there, and nothing is
			}
			one.Shards = append(one.Shards, shard)
			one.TotalFiles += root.Files
			one.TotalBytes += root.Bytes
		}
		return nil
	})
	if err != nil {
		return Audit{}, fmt.Errorf("start audit: %w", err)
	}
	if one.Outbox {
		kept, err := r.store.Outbox()
		if err != nil {
			r.log.Error("the outbox cannot be audited", "err", err) // told again at the audit's end
		}
		for _, as := range kept {
			one.TotalFiles++
			one.TotalBytes += as.Size
		}
	}
	if one.Scheduled { // as they are due
		slices.SortStableFunc(one.Shards, func(a, b catalog.Shard) int {
			return slices.Index(shards, a) - slices.Index(shards, b)
		})
	}
	return r.audits.add(one)
}
