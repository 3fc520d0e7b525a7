package node

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/replica"
)

// audits starts and follows audits over all nodes for the API. An audit asked for is a group of one audit on each
// node, all under one id; one that a node began because it was due is alone, under the node's name.
type audits struct{ n *Node }

// auditRequest asks a node about its audits, or for a change of the one named.
type auditRequest struct {
	Act string `json:"act"` // list, start, pause, resume, stop
	ID  string `json:"id,omitempty"`
	// Nodes are all whose copies are to be audited, and Unheld is what no node holds, with a start.
	Nodes  []catalog.NodeID `json:"nodes,omitempty"`
	Unheld catalog.Root     `json:"unheld,omitzero"`
}

// Start begins an audit on every node of the replica, or of all. A node that is not reached is missed at the end.
func (a audits) Start(ctx context.Context, name catalog.ReplicaName, actor string) (api.Audit, error) {
	members, err := a.members(name)
	if err != nil {
		return api.Audit{}, err
	}
	id := strings.ToLower(rand.Text()[:12]) + "-" + a.n.cfg.Name // no time: clocks step, and two may ask at once
	a.n.log.Info("audit starts", "audit", id, "replica", name, "by", actor)
	begun := 0
	start := auditRequest{Act: "start", ID: id}
	if start.Unheld, err = a.unheld(name); err != nil {
		return api.Audit{}, err
	}
	for _, m := range members {
		start.Nodes = append(start.Nodes, m.ID)
	}
	for _, part := range a.ask(ctx, members, start) {
		if part.err == nil {
			begun++
		} else {
			a.n.log.Warn("a node does not take part in the audit", "audit", id, "node", part.member.Name, "error", part.err)
			err = cmp.Or(err, part.err)
		}
	}
	if len(members) == 0 {
		return api.Audit{}, fmt.Errorf("audit replica %q: no node belongs to it: %w", name, api.ErrNotFound)
	}
	if begun == 0 {
		return api.Audit{}, fmt.Errorf("%w: no node began the audit: %w", api.ErrUnavailable, err)
	}
	return a.Show(ctx, id)
}

// List returns the audits that the nodes know of, the newest first.
func (a audits) List(ctx context.Context) ([]api.Audit, error) {
	members, err := a.members("")
	if err != nil {
		return nil, err
	}
	return gatherAudits(a.ask(ctx, members, auditRequest{Act: "list"})), nil
}

// Show returns one audit.
func (a audits) Show(ctx context.Context, id string) (api.Audit, error) {
	all, err := a.List(ctx)
	if err != nil {
		return api.Audit{}, err
	}
	for _, one := range all {
		if one.ID == id {
			return one, nil
		}
	}
	return api.Audit{}, fmt.Errorf("audit %q: %w", id, api.ErrNotFound)
}

// Wish pauses, resumes or stops an audit on every node that has a part in it.
func (a audits) Wish(ctx context.Context, id string, wish catalog.JobWish, reason, actor string) (api.Audit, error) {
	act := map[catalog.JobWish]string{catalog.WishPause: "pause", catalog.WishRun: "resume", catalog.WishStop: "stop"}[wish]
	if act == "" {
		return api.Audit{}, fmt.Errorf("%w: wish %q", api.ErrInvalid, wish)
	}
	if _, err := a.Show(ctx, id); err != nil {
		return api.Audit{}, err
	}
	members, err := a.members("")
	if err != nil {
		return api.Audit{}, err
	}
	a.n.log.Info("audit changes", "audit", id, "wish", act, "reason", reason, "by", actor)
	for _, part := range a.ask(ctx, members, auditRequest{Act: act, ID: id}) {
		if part.err != nil {
			a.n.log.Warn("a node's part of the audit does not change", "audit", id, "node", part.member.Name, "error", part.err)
		}
	}
	return a.Show(ctx, id)
}

// members returns the members of the replica, or all.
func (a audits) members(name catalog.ReplicaName) (out []catalog.Member, err error) {
	err = a.n.raft.View(func(v catalog.View) error {
		members, err := v.Members()
		for _, m := range members {
			if name == "" || m.Replica == name {
				out = append(out, m)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the member list: %w", err)
	}
	return out, nil
}

// unheld returns how many files the replica, or all, are to hold in shards that no node holds, and their bytes.
func (a audits) unheld(name catalog.ReplicaName) (none catalog.Root, err error) {
	err = a.n.raft.View(func(v catalog.View) error {
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
				if p.Holder != "" {
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

// askLimit is how long another node may take to answer for its part.
const askLimit = 5 * time.Second

func (a audits) ask(ctx context.Context, members []catalog.Member, r auditRequest) []auditPart {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	replies := askAll(ctx, a.n, members, auditCall, r, func(ctx context.Context) ([]replica.Audit, error) {
		return a.n.serveAudit(ctx, a.n.id, r)
	})
	out := make([]auditPart, len(replies))
	for i, one := range replies {
		out[i] = auditPart{member: one.To, audits: one.Answer, err: one.Err}
	}
	return out
}

// serveAudit answers another node about the audits here; the answer holds those the request is about.
func (n *Node) serveAudit(_ context.Context, _ catalog.NodeID, r auditRequest) ([]replica.Audit, error) {
	if r.Act == "list" {
		return n.replica.Audits(), nil
	}
	if r.Act == "start" {
		one, err := n.replica.JoinAudit(r.ID, r.Nodes, r.Unheld)
		return []replica.Audit{one}, err
	}
	change := map[string]func(string) (replica.Audit, error){
		"pause": n.replica.PauseAudit, "resume": n.replica.ResumeAudit, "stop": n.replica.StopAudit,
	}[r.Act]
	if change == nil {
		return nil, fmt.Errorf("audit request %q is not known", r.Act)
	}
	var out []replica.Audit
	var failed error
	for _, one := range n.replica.Audits() {
		if auditID(n.cfg.Name, one) != r.ID || one.State.Ended() {
			continue
		}
		changed, err := change(one.ID)
		failed = errors.Join(failed, err)
		out = append(out, changed)
	}
	return out, failed
}
