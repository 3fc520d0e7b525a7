package archive

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/files"
	"holdfast/node/wire"
	"holdfast/replica"
)

// Audits starts and follows audits over all nodes for the API. An audit asked for is a group of one audit on each
// node, all under one id; one that a node began because it was due is alone, under the node's name.
type Audits struct {
	Cluster
	Name string // of this node
}

// Start begins an audit on every node that has copies in question. A node that is not reached is missed at the end.
func (a Audits) Start(ctx context.Context, order api.AuditOrder, actor string) (api.Audit, error) {
	name := order.Replica
	members, err := a.members(name)
	if err != nil {
		return api.Audit{}, err
	}
	id := strings.ToLower(rand.Text()[:12]) + "-" + a.Name // no time: clocks step, and two may ask at once
	a.Log.Info("audit starts", "audit", id, "kind", order.Kind, "replica", name, "by", actor)
	begun := 0
	start := replica.AuditRequest{Act: "start", ID: id, Kind: replica.AuditKind(order.Kind),
		Scope: replica.AuditScope{Shard: order.Shard, Prefix: order.Prefix, Files: order.Files}}
	if start.Kind == replica.AuditChallenge {
		members, err = a.narrowToExaminers(&start, name)
	} else if start.Scope.All() {
		start.Unheld, err = a.unheld(name, nil)
	} else if len(members) > 0 {
		members, err = a.narrow(&start, name, members)
	}
	if err == nil {
		err = a.knownKinds(start)
	}
	if err != nil {
		return api.Audit{}, err
	}
	for _, m := range members {
		start.Nodes = append(start.Nodes, m.ID)
	}
	for _, part := range a.askAll(ctx, members, start) {
		if part.err == nil {
			begun++
		} else {
			a.Log.Warn("a node does not take part in the audit", "audit", id,
				"node", part.member.Name, "error", part.err)
			err = cmp.Or(err, part.err)
		}
	}
	if len(members) == 0 {
		return api.Audit{}, fmt.Errorf("audit replica %q: no node belongs to it: %w", name, api.ErrNotFound)
	}
	if begun == 0 {
		return api.Audit{}, fmt.Errorf("%w: no node began the audit: %w", api.ErrUnavailable, err)
	}
	noted := a.note(ctx, id, order, actor)
	audit, err := a.Show(ctx, id)
	if noted != nil {
		a.Log.Warn("an audit that was asked for may not be in the trail", "audit", id, "by", actor, "error", noted)
		audit.Unrecorded = noted.Error()
	}
	return audit, err
}

// note writes into the trail who began the audit, of what and why. If it fails, the audit goes on all the same: a site
// that is cut off from the others still reads its own copies.
func (a Audits) note(ctx context.Context, id string, order api.AuditOrder, actor string) error {
	var level int
	err := a.Catalog.View(func(v catalog.View) error {
		c, err := v.Cluster()
		level = c.Level
		return err
	})
	if err != nil || level < files.LevelOfHidden {
		return err
	}
	scope := "all files"
	switch {
	case order.Shard != nil:
		scope = "shard " + order.Shard.String()
	case order.Prefix != "":
		scope = "files " + string(order.Prefix) + "*"
	case len(order.Files) == 1:
		scope = "file " + string(order.Files[0])
	case len(order.Files) > 1:
		scope = fmt.Sprintf("%d files, %s the first", len(order.Files), order.Files[0])
	}
	about := files.AuditNote{ID: id, Kind: cmp.Or(order.Kind, string(replica.AuditChecksum)), Replica: order.Replica,
		Scope: scope, Reason: order.Reason}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	result, err := a.Catalog.Propose(ctx, files.NoteAudit, about, actor)
	if err == nil && result.Refusal != nil {
		err = result.Refusal
	}
	if err != nil {
		return fmt.Errorf("write the audit into the trail: %w", err)
	}
	return nil
}

// List returns the audits that the nodes know of, the newest first, and the nodes that did not answer.
func (a Audits) List(ctx context.Context) ([]api.Audit, []api.SilentNode, error) {
	members, err := a.members("")
	if err != nil {
		return nil, nil, err
	}
	parts := a.askAll(ctx, members, replica.AuditRequest{Act: "list"})
	var silent []api.SilentNode
	for _, part := range parts {
		if part.err != nil {
			silent = append(silent, api.SilentNode{Node: string(part.member.ID), Name: part.member.Name,
				Reason: part.err.Error()})
		}
	}
	return gatherAudits(parts), silent, nil
}

// Show returns one audit. If a node that does not answer may know it, it fails with api.ErrUnavailable.
func (a Audits) Show(ctx context.Context, id string) (api.Audit, error) {
	all, silent, err := a.List(ctx)
	if err != nil {
		return api.Audit{}, err
	}
	for _, one := range all {
		if one.ID == id {
			return one, nil
		}
	}
	if len(silent) > 0 {
		return api.Audit{}, fmt.Errorf("%w: no node that answered knows audit %q; %s", api.ErrUnavailable, id,
			notAnswered(silent))
	}
	return api.Audit{}, fmt.Errorf("audit %q: %w", id, api.ErrNotFound)
}

// notAnswered names the nodes that did not answer.
func notAnswered(silent []api.SilentNode) string {
	names := make([]string, len(silent))
	for i, s := range silent {
		names[i] = s.Name
	}
	return "did not answer: " + strings.Join(names, ", ")
}

// Wish pauses, resumes or stops an audit on every node that has a part in it.
func (a Audits) Wish(ctx context.Context, id string, wish catalog.JobWish, reason, actor string) (api.Audit, error) {
	act := map[catalog.JobWish]string{
		catalog.WishPause: "pause", catalog.WishRun: "resume", catalog.WishStop: "stop",
	}[wish]
	if act == "" {
		return api.Audit{}, fmt.Errorf("%w: wish %q: want run, pause or stop", api.ErrInvalid, wish)
	}
	before, err := a.Show(ctx, id)
	if err != nil {
		return api.Audit{}, err
	}
	members, err := a.members("")
	if err != nil {
		return api.Audit{}, err
	}
	a.Log.Info("audit changes", "audit", id, "wish", act, "reason", reason, "by", actor)
	var left []string
	for _, part := range a.askAll(ctx, members, replica.AuditRequest{Act: act, ID: id}) {
		if part.err != nil && goesOn(before, part.member.ID) {
			a.Log.Warn("a node's part of the audit does not change", "audit", id,
				"node", part.member.Name, "error", part.err)
			left = append(left, fmt.Sprintf("%s: %v", part.member.Name, part.err))
		}
	}
	if len(left) > 0 {
		return api.Audit{}, fmt.Errorf("%w: not every node did as asked of audit %q: %s", api.ErrUnavailable, id,
			strings.Join(left, "; "))
	}
	return a.Show(ctx, id)
}

// goesOn reports whether the node's part of the audit has not ended, as far as is known.
func goesOn(a api.Audit, node catalog.NodeID) bool {
	return slices.ContainsFunc(a.Nodes, func(p api.AuditNode) bool {
		return p.Node == string(node) && p.State != string(replica.AuditDone) &&
			p.State != string(replica.AuditIncomplete) && p.State != string(replica.AuditStopped)
	})
}

// unheld returns how many files the replica, or all, are to hold in shards that no node holds, and their bytes: in all
// shards, or in one.
func (a Audits) unheld(name catalog.ReplicaName, only *catalog.Shard) (none catalog.Root, err error) {
	err = a.Catalog.View(func(v catalog.View) error {
		replicas, err := v.Replicas()
		for _, r := range replicas {
			if name != "" && r.Name != name {
				continue
			}
			layout, err := v.Layout(r.Name)
			if err != nil {
				return err
			}
			for shard, p := range layout {
				if p.Holder != "" || only != nil && catalog.Shard(shard) != *only {
					continue
				}
				root, err := v.Root(r.Name, catalog.Shard(shard))
				if err != nil {
					return err
				}
				none.Files += root.Files
				none.Bytes += root.Bytes
			}
		}
		return err
	})
	if err != nil {
		return none, fmt.Errorf("look for shards that no node holds: %w", err)
	}
	return none, nil
}

type auditPart struct {
	member catalog.Member
	audits []replica.Audit
	err    error
}

func (a Audits) askAll(ctx context.Context, members []catalog.Member, r replica.AuditRequest) []auditPart {
	limit := askLimit
	if r.Act != "list" {
		limit = actLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	own := func(ctx context.Context) ([]replica.Audit, error) { return a.Own.Audit(ctx, a.Self, r) }
	replies := wire.AskAll(ctx, a.Ask, a.Self, members, replica.AuditCall, r, own)
	out := make([]auditPart, len(replies))
	for i, one := range replies {
		out[i] = auditPart{member: one.To, audits: one.Answer, err: one.Err}
	}
	return out
}
