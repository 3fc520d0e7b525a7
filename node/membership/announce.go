package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/catalog/cluster"
	"holdfast/node/config"
)

// Announce tells the cluster, once after each start, when cluster.toml or the program says something else about this
// node than its entry in the member list. A weight that an operator set by command stays unless the file gives one.
// It also tells which channels the node serves, as soon as the cluster has the level for that.
func (m Member) Announce(ctx context.Context, changed <-chan struct{}) error {
	for first := true; ; {
		listed, level, err := m.listed()
		if err != nil {
			return err
		}
		if listed != nil && first {
			first = false
			m.compare()
			if err := m.announceFolder(ctx, *listed); err != nil {
				return err
			}
		}
		if listed != nil && level >= cluster.LevelOfChannels {
			if change, due := m.Folder.serves(*listed); due {
				if err := m.announce(ctx, change); err != nil {
					return err
				}
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// announceFolder brings the entry into step with cluster.toml. Where changes of the layout are always staged, the
// weight is not among what is brought: somebody stages it.
func (m Member) announceFolder(ctx context.Context, listed catalog.Member) error {
	change, due := m.Folder.differs(m.Roster.self, listed)
	if !due {
		return nil
	}
	if change.Weight != nil {
		var staging cluster.Staging
		err := m.Agreement.View(func(v catalog.View) (err error) { staging, err = v.Staging(); return err })
		if err != nil {
			return fmt.Errorf("look whether weights are staged: %w", err)
		}
		if staging.Always {
			m.Log.Warn("the weight in cluster.toml is not taken over: changes of the layout are staged",
				"weight", *change.Weight, "command", "holdfast node weight --stage")
			change.Weight = nil
		}
	}
	return m.announce(ctx, change)
}

// announce changes this node's entry in the member list.
func (m Member) announce(ctx context.Context, change catalog.MemberChange) error {
	refusal, err := m.Insist(ctx, catalog.UpdateMember, change)
	if err != nil {
		return err
	}
	if refusal != nil {
		m.Log.Error("the member list does not take what cluster.toml says of this node", "reason", refusal.Message)
	}
	return nil
}

// compare logs what cluster.toml has and the catalog has not.
func (m Member) compare() {
	var missing []alert.Alert
	err := m.Agreement.View(func(v catalog.View) (err error) { missing, err = Unlisted(m.Folder.File, v); return err })
	if err != nil {
		m.Log.Warn("cluster.toml is not compared with the catalog", "error", err)
	}
	for _, one := range missing {
		m.Log.Warn(one.Text())
	}
}

// listed returns this node's entry in the member list, nil while the catalog has none, and the cluster's level.
func (m Member) listed() (*catalog.Member, int, error) {
	var own catalog.Member
	var c catalog.Cluster
	err := m.Agreement.View(func(v catalog.View) (err error) {
		if c, err = v.Cluster(); err == nil {
			own, err = v.Member(m.Roster.self)
		}
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read this node's entry in the member list: %w", err)
	}
	return &own, c.Level, nil
}

// serves returns the change of the entry's channels, and whether there is one.
func (c Folder) serves(listed catalog.Member) (catalog.MemberChange, bool) {
	change := catalog.MemberChange{ID: listed.ID}
	if slices.Equal(c.Channels, listed.Served()) {
		return change, false
	}
	change.Channels = &c.Channels
	return change, true
}

// differs returns the fields of the entry that have to change.
func (c Folder) differs(self catalog.NodeID, listed catalog.Member) (catalog.MemberChange, bool) {
	want := c.describe(self, listed.Key)
	change, due := catalog.MemberChange{ID: self}, false
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

// Unlisted lists the replicas and collections of cluster.toml that the cluster does not know, with the commands that
// add them.
func Unlisted(f *config.File, v catalog.View) ([]alert.Alert, error) {
	collections, err := v.Collections()
	if err != nil {
		return nil, err
	}
	replicas, err := v.Replicas()
	if err != nil {
		return nil, err
	}
	var out []alert.Alert
	for _, name := range f.AllCollections() {
		if !slices.ContainsFunc(collections, func(c catalog.Collection) bool { return string(c.Name) == name }) {
			out = append(out, alert.New(alert.CollectionUnlisted, name))
		}
	}
	for _, r := range f.Replicas {
		if slices.ContainsFunc(replicas, func(known catalog.Replica) bool { return string(known.Name) == r.Name }) {
			continue
		}
		command := fmt.Sprintf("holdfast replica add %s --kind %s", r.Name, r.Kind)
		if r.Place != "" {
			command += " --place " + r.Place
		}
		for _, c := range r.Collections {
			command += " --collection " + c
		}
		out = append(out, alert.New(alert.ReplicaUnlisted, r.Name, "command", command))
	}
	return out, nil
}
