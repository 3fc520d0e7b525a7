package status

import (
	"context"
	"errors"

	"holdfast/catalog"
	"holdfast/catalog/jobs"
	"holdfast/node/metrics"
)

// Behind is how many decided entries a node has not applied yet. It is not known before the node takes part.
func (c Consensus) Behind() (float64, error) {
	if c.Term == 0 {
		return 0, errors.New("this node does not take part in consensus yet")
	}
	return max(0, float64(c.Commit)-float64(c.Applied)), nil
}

// Behind is how many decided entries this node has not applied yet.
func (n *Node) Behind() (float64, error) { return n.cfg.Consensus().Behind() }

// Consensus returns how this node takes part, for metrics. roles are all that there are.
func (n *Node) Consensus(roles []string) (metrics.Consensus, error) {
	is := n.cfg.Consensus()
	out := metrics.Consensus{Role: is.Role, Roles: roles, Quorum: is.Quorum, Contact: is.Contact, Term: is.Term,
		Applied: is.Applied, Commit: is.Commit, Voters: len(is.Voters), LogBytes: is.LogBytes}
	err := n.cfg.View(func(v catalog.View) error {
		cluster, err := v.Cluster()
		out.ClusterLevel = cluster.Level
		if errors.Is(err, catalog.ErrNotFound) {
			return nil
		}
		return err
	})
	return out, err
}

// Counted returns how many alerts of each kind there are.
func (n *Node) Counted(ctx context.Context) metrics.Alerts {
	out := metrics.Alerts{}
	for _, a := range n.Status(ctx).Alerts {
		out[metrics.Alert{Kind: string(a.Kind), Severity: string(a.Severity)}]++
	}
	return out
}

// ByState returns how many members are in each state, as this node hears.
func (n *Node) ByState() map[string]int {
	out := map[string]int{}
	for _, p := range n.presence(nil) {
		out[p.State]++
	}
	return out
}

// Copies counts the copies of all replicas, of which the catalog keeps totals.
func (n *Node) Copies() (out metrics.Copies, err error) {
	err = n.cfg.View(func(v catalog.View) error {
		out = nil
		replicas, err := v.Replicas()
		if err != nil {
			return err
		}
		for _, r := range replicas {
			t, err := v.Totals(r.Name)
			if err != nil {
				return err
			}
			out = append(out, metrics.Replica{Name: string(r.Name), Files: t.Files, Bytes: t.Bytes, Verified: t.Good,
				Owed: t.Owed, Disputed: t.Disputed})
		}
		return nil
	})
	return out, err
}

// Jobs counts the jobs by state, of which the catalog keeps count.
func (n *Node) Jobs() (metrics.Jobs, error) {
	out := metrics.Jobs{ByState: map[string]int{}}
	for _, state := range jobs.States() {
		out.States = append(out.States, string(state))
	}
	err := n.cfg.View(func(v catalog.View) error {
		if _, err := v.Cluster(); errors.Is(err, catalog.ErrNotFound) {
			return errors.New("this node has not received the catalog yet")
		} else if err != nil {
			return err
		}
		all, err := v.Counts()
		for state, count := range all {
			out.ByState[string(state)] = count
		}
		return err
	})
	return out, err
}
