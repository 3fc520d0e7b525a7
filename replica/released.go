package replica

import (
	"errors"
	"fmt"

	"holdfast/catalog"
)

// released is what is to be done about files whose release this node's catalog shows.
type released struct {
	behind    []catalog.FileName // it does not show yet
	lost      []catalog.File     // all that is here is set aside
	discharge []catalog.FileName // they leave the outbox
	delete    []catalog.FileName // the copy goes too
}

// deleteReleased deletes this node's bytes of the files as far as the catalog here no longer counts on them. It is
// called after a release of them was carried out, and returns those of which that does not show yet.
func (r *releases) deleteReleased(names []catalog.FileName) (behind []catalog.FileName, err error) {
	for shard := range byShard(names) { // in order, as everybody who locks several does
		defer r.leaving.begin(shard)()
	}
	var all released
	err = r.catalog.View(func(v catalog.View) error {
		all = released{}
		for _, name := range names {
			if err := r.sortReleased(v, name, &all); err != nil {
				return fmt.Errorf("release %s: %w", name, err)
			}
		}
		return nil
	})
	if err != nil {
		return names, err
	}
	// The catalog lists none of them a second time: what fails keeps nothing else.
	var failed error
	for _, f := range all.lost {
		failed = errors.Join(failed, r.layAside(f))
	}
	failed = errors.Join(failed, r.store.Discharge(all.discharge...))
	if r.sums != nil {
		failed = errors.Join(failed, r.sums.Forget(all.delete...))
	}
	for _, name := range all.delete {
		failed = errors.Join(failed, r.store.DropPart(name))
	}
	for shard, some := range byShard(all.delete) {
		err := r.store.Delete(some...)
		if errors.Is(err, ErrNotMounted) { // whatever is there is a stray when the disk is back
			r.log.Info("released bytes may lie on a disk that is away",
				"shard", shard, "files", len(some), "first", some[0])
			continue
		}
		failed = errors.Join(failed, err)
	}
	return all.behind, failed
}

// sortReleased says what is to be done about one file.
func (r *releases) sortReleased(v catalog.View, name catalog.FileName, all *released) error {
	f, err := v.File(name)
	if errors.Is(err, catalog.ErrNotFound) {
		all.behind = append(all.behind, name)
		return nil
	}
	if err != nil {
		return err
	}
	p, err := v.Placement(r.cfg.Replica, name.Shard())
	if err != nil {
		return err
	}
	c := f.Copy(r.cfg.Replica)
	sourced := f.Source == r.cfg.Self && !f.Released
	surplus := c != nil && c.Surplus && c.Node == r.cfg.Self
	keeper := p.Holder == r.cfg.Self || p.Next == r.cfg.Self
	switch {
	case sourced || surplus:
		all.behind = append(all.behind, name)
	case f.Lost != 0:
		all.lost = append(all.lost, f)
	case f.Removed == 0 && c != nil && !c.Surplus && keeper:
		all.discharge = append(all.discharge, name)
	default:
		all.discharge, all.delete = append(all.discharge, name), append(all.delete, name)
	}
	return nil
}
