package node

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"holdfast/catalog"
)

// announce tells the cluster, once after each start, when cluster.toml or the program says something else about this
// node than its entry in the member list. A weight that an operator set by command stays unless the file gives one.
func (n *Node) announce(ctx context.Context) error {
	watch := n.raft.Watch(catalog.PrefixMembers)
	defer watch.Close()
	for {
		listed, err := n.listed()
		if err != nil {
			return err
		}
		if listed != nil {
			n.compare()
			if change, due := n.differs(*listed); due {
				refusal, err := n.insist(ctx, catalog.UpdateMember, change)
				if err != nil {
					return err
				}
				if refusal != nil {
					n.log.Error("the member list does not take what cluster.toml says of this node", "reason", refusal.Message)
				}
			}
			<-ctx.Done()
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-watch.C:
		}
	}
}

// compare logs what cluster.toml has and the catalog has not.
func (n *Node) compare() {
	var missing []string
	err := n.raft.View(func(v catalog.View) (err error) { missing, err = unlisted(n.cfg.File, v); return err })
	if err != nil {
		n.log.Warn("cluster.toml is not compared with the catalog", "error", err)
	}
	for _, m := range missing {
		n.log.Warn(m)
	}
}

// listed returns this node's entry in the member list, nil while the catalog has none.
func (n *Node) listed() (*catalog.Member, error) {
	var m catalog.Member
	err := n.raft.View(func(v catalog.View) (err error) { m, err = v.Member(n.id); return err })
	if errors.Is(err, catalog.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read this node's entry in the member list: %w", err)
	}
	return &m, nil
}

// differs returns what is to change in the entry.
func (n *Node) differs(listed catalog.Member) (catalog.MemberChange, bool) {
	want := n.cfg.describe(n.id, listed.Key)
	change, due := catalog.MemberChange{ID: n.id}, false
	if !slices.Equal(want.Addresses, listed.Addresses) {
		change.Addresses, due = &want.Addresses, true
	}
	if want.Name != listed.Name {
		change.Name, due = &want.Name, true
	}
	if want.OutOnly != listed.OutOnly {
		change.OutOnly, due = &want.OutOnly, true
	}
	if want.Weight != 0 && want.Weight != listed.Weight {
		change.Weight, due = &want.Weight, true
	}
	if want.Level != listed.Level {
		change.Level, due = &want.Level, true
	}
	return change, due
}
