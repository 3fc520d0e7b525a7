package archive

import (
	"errors"
	"fmt"
	"slices"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/replica"
)

// knownKinds refuses what programs of the cluster's level do not know: they would read all of their copies, whatever
// was asked for.
func (a Audits) knownKinds(start replica.AuditRequest) error {
	if start.Scope.All() && (start.Kind == "" || start.Kind == replica.AuditChecksum) {
		return nil
	}
	return a.Catalog.View(func(v catalog.View) error {
		c, err := v.Cluster()
		if err == nil && c.Level < replica.LevelOfScopes {
			err = &catalog.Refusal{Code: catalog.Unsupported, Message: fmt.Sprintf(
				"audits of a kind, a shard, a prefix or files need level %d; the cluster has level %d",
				replica.LevelOfScopes, c.Level)}
		}
		return err
	})
}

// narrow leaves the members that hold copies of the scope, and counts these copies and those that no node holds. A
// scope without any is refused: an audit of it would find nothing wrong.
func (a Audits) narrow(start *replica.AuditRequest, name catalog.ReplicaName,
	members []catalog.Member) ([]catalog.Member, error) {
	scope, holders := &start.Scope, map[catalog.NodeID]bool{}
	if err := scope.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	scope.Files = slices.Compact(slices.Sorted(slices.Values(scope.Files)))
	var err error
	if scope.ByName() {
		seen := 0
		err = scope.Wanted(a.Catalog.View, func(v catalog.View, f catalog.File) error {
			seen++
			return a.narrowTo(v, start, name, f, holders)
		})
		if errors.Is(err, catalog.ErrNotFound) {
			err = fmt.Errorf("%w: %w", api.ErrNotFound, err)
		}
		if err == nil && seen < len(scope.Files) {
			err = fmt.Errorf("%w: of the files that were named, %d were removed, are declared lost, or are not in the "+
				"shard or the prefix that was named", api.ErrInvalid, len(scope.Files)-seen)
		}
		if err == nil && scope.Copies == 0 {
			err = fmt.Errorf("%w: there is no copy to audit: no copy of what was named should exist there",
				api.ErrNotFound)
		}
	} else {
		err = a.narrowToShard(start, name, holders)
	}
	if err != nil {
		return nil, err
	}
	left := slices.DeleteFunc(members, func(m catalog.Member) bool { return !holders[m.ID] })
	if len(left) == 0 {
		return nil, fmt.Errorf("%w: no node holds the shards of what is to be audited", api.ErrUnavailable)
	}
	return left, nil
}

// narrowTo counts the copies of a file. One that was named has to be there in the replica that was named.
func (a Audits) narrowTo(v catalog.View, start *replica.AuditRequest, name catalog.ReplicaName, f catalog.File,
	holders map[catalog.NodeID]bool) error {
	found := false
	for i := range f.Copies {
		c := &f.Copies[i]
		if c.Surplus || name != "" && c.Replica != name {
			continue
		}
		p, err := v.Placement(c.Replica, f.Name.Shard())
		if err != nil {
			return err
		}
		found = true
		start.Scope.Copies++
		if p.Holder == "" {
			start.Unheld.Files++
			start.Unheld.Bytes += f.Size
		} else {
			holders[p.Holder] = true
		}
	}
	if !found && len(start.Scope.Files) > 0 {
		return fmt.Errorf("%w: replica %s is not to have file %s", api.ErrInvalid, name, f.Name)
	}
	return nil
}

// narrowToShard counts the copies of a shard.
func (a Audits) narrowToShard(start *replica.AuditRequest, name catalog.ReplicaName,
	holders map[catalog.NodeID]bool) (err error) {
	if start.Unheld, err = a.unheld(name, start.Scope.Shard); err != nil {
		return err
	}
	return a.Catalog.View(func(v catalog.View) error {
		replicas, err := v.Replicas()
		for _, r := range replicas {
			if name != "" && r.Name != name {
				continue
			}
			p, err := v.Placement(r.Name, *start.Scope.Shard)
			if err != nil {
				return err
			}
			root, err := v.Root(r.Name, *start.Scope.Shard)
			if err != nil {
				return err
			}
			start.Scope.Copies += root.Files
			if p.Holder != "" {
				holders[p.Holder] = true
			}
		}
		return err
	})
}
