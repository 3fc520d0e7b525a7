package archive

import (
	"errors"
	"fmt"
	"slices"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/files"
	"holdfast/replica"
)

// examiners gathers who is to challenge whom for an audit.
type examiners struct {
	start *replica.AuditRequest
	draw  files.Draw
	nodes map[catalog.NodeID]bool
}

// note counts copies that an examiner is to challenge. Without one, or without a holder to ask, nobody can.
func (e *examiners) note(who, holder catalog.NodeID, files, bytes int64) {
	e.start.Scope.Copies += files
	if who == "" || holder == "" {
		e.start.Unheld.Files += files
		e.start.Unheld.Bytes += bytes
	}
	if who != "" {
		e.nodes[who] = true
	}
}

// narrowToExaminers returns the members that are to challenge the copies of the replica, or of all that have bytes, and
// counts the copies.
func (a Audits) narrowToExaminers(start *replica.AuditRequest, name catalog.ReplicaName) ([]catalog.Member, error) {
	if err := start.Scope.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	if err := a.knownKinds(*start); err != nil {
		return nil, err
	}
	start.Scope.Replica = name
	start.Scope.Files = slices.Compact(slices.Sorted(slices.Values(start.Scope.Files)))
	e := &examiners{start: start, nodes: map[catalog.NodeID]bool{}}
	var members []catalog.Member
	err := a.Catalog.View(func(v catalog.View) (err error) {
		if members, err = v.Members(); err != nil {
			return err
		}
		if name != "" {
			r, err := v.Replica(name)
			if err == nil && r.Kind != catalog.Bitarchive {
				err = fmt.Errorf("%w: replica %s has no bytes: it cannot be challenged", api.ErrInvalid, name)
			}
			if err != nil {
				return err
			}
		}
		draws, err := v.Draws()
		if e.draw = draws.Last; err == nil && e.draw.Number == 0 {
			err = fmt.Errorf("%w: it is not drawn yet who challenges whom; the leader does so within a minute",
				api.ErrUnavailable)
		}
		start.Draw = e.draw.Number
		return err
	})
	if err == nil {
		err = e.gather(a.Catalog.View)
	}
	if errors.Is(err, catalog.ErrNotFound) {
		err = fmt.Errorf("%w: %w", api.ErrNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	if start.Scope.Copies == 0 {
		return nil, fmt.Errorf("%w: there is no copy to challenge: no replica that holds bytes should have a copy of "+
			"what was asked for", api.ErrNotFound)
	}
	if len(e.nodes) == 0 {
		return nil, fmt.Errorf("%w: no other node has the bytes of what is to be challenged", api.ErrUnavailable)
	}
	return slices.DeleteFunc(members, func(m catalog.Member) bool { return !e.nodes[m.ID] }), nil
}

// gather counts what is asked for: single files by name, else by what the catalog has of each shard.
func (e *examiners) gather(view func(func(catalog.View) error) error) error {
	if scope := &e.start.Scope; scope.ByName() {
		seen := 0
		err := scope.Wanted(view, func(v catalog.View, f catalog.File) error {
			seen++
			return e.file(v, f)
		})
		if err == nil && seen < len(scope.Files) {
			err = fmt.Errorf("%w: of the files that were named, %d were removed, are declared lost, or are not in the "+
				"shard or the prefix that was named", api.ErrInvalid, len(scope.Files)-seen)
		}
		return err
	}
	return view(func(v catalog.View) error {
		for shard := range catalog.Shard(catalog.Shards) {
			if only := e.start.Scope.Shard; only != nil && *only != shard {
				continue
			}
			err := replica.Examined(v, e.draw, e.start.Scope.Replica, shard, func(of files.Examined) {
				e.note(of.Examiner, of.Holder, of.Files, of.Bytes)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// file counts the copies of a file in replicas with bytes.
func (e *examiners) file(v catalog.View, f catalog.File) error {
	only, found := e.start.Scope.Replica, false
	for i := range f.Copies {
		c := &f.Copies[i]
		if c.Surplus || only != "" && c.Replica != only {
			continue
		}
		r, err := v.Replica(c.Replica)
		if err != nil {
			return err
		}
		if r.Kind != catalog.Bitarchive {
			continue
		}
		p, err := v.Placement(c.Replica, f.Name.Shard())
		if err != nil {
			return err
		}
		who, err := v.Examiner(e.draw, c.Replica, f.Name.Shard(), f.Collection)
		if err != nil {
			return err
		}
		found = true
		e.note(who, p.Holder, 1, f.Size)
	}
	if !found && only != "" && len(e.start.Scope.Files) > 0 {
		return fmt.Errorf("%w: replica %s is not to have file %s", api.ErrInvalid, only, f.Name)
	}
	return nil
}
