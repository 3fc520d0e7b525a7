package files

import (
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// solePage is how many entries are read at once.
const solePage = 500

// The three lists that Each goes through, in this order: files of shards that the node holds, other files whose bytes
// it has and may release one day, and other files that it keeps as their source. A place is the list's letter and what
// is behind it in its order.
const (
	soleHeld     = "h"
	soleReleased = "r"
	soleSourced  = "s"
)

// Soles answers which files only one member has.
type Soles struct{ View }

// SolesIn returns the Soles of what r shows.
func SolesIn(r agree.Reader) Soles { return Soles{NewView(r)} }

// Each calls see for each file of which the member may have bytes, and of which no other member has good ones, with its
// place; from behind a place on, empty for the start. It ends when see returns false. It reads the entry of every file
// in the shards that the member holds, and calls pace before each few hundred of them, whose error ends it.
func (v Soles) Each(m *cluster.Member, after string, pace func() error,
	see func(place string, f *File) (bool, error)) error {
	w, err := v.walk(m, pace, see)
	if err != nil {
		return err
	}
	if after < soleReleased {
		if err := w.held(strings.TrimPrefix(after, soleHeld)); err != nil {
			return err
		}
	}
	for _, list := range []struct {
		letter string
		page   func(agree.NodeID, FileName, int) ([]File, error)
		is     func(*File) bool
	}{
		{soleReleased, v.Releases, func(f *File) bool { return !w.holds(f) && !w.sources(f) }},
		{soleSourced, v.Sourced, func(f *File) bool { return !w.holds(f) }},
	} {
		if after >= list.letter && !strings.HasPrefix(after, list.letter) {
			continue // it was gone through before
		}
		behind := ""
		if strings.HasPrefix(after, list.letter) {
			behind = after[len(list.letter):]
		}
		next := func(after FileName) ([]File, error) { return list.page(m.ID, after, solePage) }
		err := w.pages(FileName(behind), next, func(f *File) string { return list.letter + string(f.Name) }, list.is)
		if err != nil {
			return err
		}
	}
	return nil
}

// IsSolePlace reports whether a walk can go on behind it: whether it is empty, or a place that Each gives.
func IsSolePlace(after string) bool {
	switch behind, held := strings.CutPrefix(after, soleHeld); {
	case held:
		text, name, there := strings.Cut(behind, "/")
		shard, err := cluster.ParseShard(text)
		return err == nil && int(shard) < cluster.Shards && there && name != ""
	default:
		return after == "" || len(after) > 1 && strings.Contains(soleReleased+soleSourced, after[:1])
	}
}

// soleWalk is one walk over the files of a member.
type soleWalk struct {
	view    Soles
	m       *cluster.Member
	layouts map[cluster.ReplicaName][]cluster.Placement // of the replicas that have bytes
	counted map[agree.NodeID]bool                       // the other members whose copies are counted on
	pace    func() error
	see     func(place string, f *File) (bool, error)
	ended   bool
}

// walk returns a walk. A member that has not compared its copies with the catalog since a recovery is not counted on.
func (v Soles) walk(m *cluster.Member, pace func() error, see func(string, *File) (bool, error)) (*soleWalk, error) {
	w := &soleWalk{view: v, m: m, pace: pace, see: see, layouts: map[cluster.ReplicaName][]cluster.Placement{},
		counted: map[agree.NodeID]bool{}}
	replicas, err := v.Replicas()
	if err != nil {
		return nil, err
	}
	for i := range replicas {
		if r := &replicas[i]; r.Kind == cluster.Bitarchive {
			if w.layouts[r.Name], err = v.Layout(r.Name); err != nil {
				return nil, err
			}
		}
	}
	members, err := v.Members()
	for i := range members {
		epoch, err := v.Unproved(members[i].ID)
		if err != nil {
			return nil, err
		}
		w.counted[members[i].ID] = epoch == 0 && members[i].ID != m.ID
	}
	return w, err
}

// held goes through the files of the shards that the member holds.
func (w *soleWalk) held(after string) error {
	layout := w.layouts[w.m.Replica]
	text, name, _ := strings.Cut(after, "/")
	first := cluster.Shard(0)
	if after != "" {
		var err error
		if first, err = cluster.ParseShard(text); err != nil {
			return err
		}
	}
	for shard := first; int(shard) < len(layout) && !w.ended; shard++ {
		if layout[shard].Holder == w.m.ID {
			if err := w.pages(FileName(name), func(after FileName) ([]File, error) {
				return w.view.ShardFiles(shard, after, solePage)
			}, func(f *File) string { return soleHeld + shard.String() + "/" + string(f.Name) }, w.holds); err != nil {
				return err
			}
		}
		name = ""
	}
	return nil
}

// pages goes through the files of a list that are its own, in pages.
func (w *soleWalk) pages(after FileName, next func(FileName) ([]File, error), place func(*File) string,
	is func(*File) bool) error {
	for more := true; more && !w.ended; {
		if err := w.pace(); err != nil {
			return err
		}
		page, err := next(after)
		if err != nil {
			return err
		}
		for i := 0; i < len(page) && !w.ended; i++ {
			f := &page[i]
			if after = f.Name; !is(f) || !w.sole(f) {
				continue
			}
			goOn, err := w.see(place(f), f)
			if err != nil {
				return err
			}
			w.ended = !goOn
		}
		more = len(page) == solePage
	}
	return nil
}

// holds reports whether the member is to hold a copy of the file.
func (w *soleWalk) holds(f *File) bool {
	layout, c := w.layouts[w.m.Replica], f.Copy(w.m.Replica)
	return layout != nil && layout[f.Name.Shard()].Holder == w.m.ID && c != nil && !c.Surplus
}

// sources reports whether the member keeps the file as its source.
func (w *soleWalk) sources(f *File) bool { return !f.Released && f.Source == w.m.ID }

// sole reports whether no other member that is counted on has good bytes of a file that the archive wants; it counts
// what View.CoveringFile does.
func (w *soleWalk) sole(f *File) bool {
	if !f.counts() || !f.Released && w.counted[f.Source] {
		return false
	}
	for i := range f.Copies {
		c := &f.Copies[i]
		layout, bytes := w.layouts[c.Replica]
		if !bytes || !c.Good() {
			continue
		}
		node := c.Node
		if !c.Surplus {
			node = layout[f.Name.Shard()].Holder
		}
		if w.counted[node] {
			return false
		}
	}
	return true
}
