package files

import (
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// solePage is how many entries are read at once.
const solePage = 500

// The two lists that Each goes through, one after the other: files of shards that the node holds, and files that it
// keeps as their source. A place is the list's letter and what is behind it in its order.
const (
	soleHeld    = "h"
	soleSourced = "s"
)

// Soles answers which files only one member has.
type Soles struct{ View }

// SolesIn returns the Soles of what r shows.
func SolesIn(r agree.Reader) Soles { return Soles{NewView(r)} }

// Each calls see for each file that the member is to hold, or keeps as its source, and of which no other member has
// good bytes, with its place; from behind a place on, empty for the start. It ends when see returns false. It reads the
// entry of every file in the shards that the member holds.
func (v Soles) Each(m *cluster.Member, after string, see func(place string, f *File) (bool, error)) error {
	layout, err := v.Layout(m.Replica)
	if err != nil {
		return err
	}
	replica, err := v.Replica(m.Replica)
	if err != nil {
		return err
	}
	whole := true
	visit := func(place string, f *File) error {
		sole, err := v.isSole(f, m.ID)
		if err == nil && sole {
			whole, err = see(place, f)
		}
		return err
	}
	first := cluster.Shard(0)
	name := FileName("")
	if tail, in := strings.CutPrefix(after, soleHeld); in {
		shard, rest, _ := strings.Cut(tail, "/")
		if first, err = cluster.ParseShard(shard); err != nil {
			return err
		}
		name = FileName(rest)
	}
	if after >= soleSourced || replica.Kind != cluster.Bitarchive {
		first = cluster.Shards
	}
	for shard := first; shard < cluster.Shards && whole; shard++ {
		if layout[shard].Holder != m.ID {
			name = ""
			continue
		}
		for more := true; more && whole; {
			page, err := v.ShardFiles(shard, name, solePage)
			if err != nil {
				return err
			}
			for i := 0; i < len(page) && whole; i++ {
				f := &page[i]
				name = f.Name
				if c := f.Copy(m.Replica); c == nil || c.Surplus {
					continue
				}
				if err := visit(soleHeld+shard.String()+"/"+string(f.Name), f); err != nil {
					return err
				}
			}
			more = len(page) == solePage
		}
		name = ""
	}
	return v.soleSources(m, layout, replica, after, &whole, visit)
}

// soleSources is Each for the files that the member keeps as their source and is not to hold.
func (v Soles) soleSources(m *cluster.Member, layout []cluster.Placement, replica cluster.Replica, after string,
	whole *bool, visit func(string, *File) error) error {
	tail, _ := strings.CutPrefix(after, soleSourced)
	if tail == after {
		tail = ""
	}
	for name := FileName(tail); *whole; {
		page, err := v.Sourced(m.ID, name, solePage)
		if err != nil {
			return err
		}
		for i := 0; i < len(page) && *whole; i++ {
			f := &page[i]
			name = f.Name
			c := f.Copy(m.Replica)
			held := replica.Kind == cluster.Bitarchive && layout[f.Name.Shard()].Holder == m.ID
			if held && c != nil && !c.Surplus {
				continue // it was seen with its shard
			}
			if err := visit(soleSourced+string(f.Name), f); err != nil {
				return err
			}
		}
		if len(page) < solePage {
			return nil
		}
	}
	return nil
}

// isSole reports whether no other member has good bytes of a file that the archive wants. One that has not compared its
// copies with the catalog since a recovery is not counted on.
func (v Soles) isSole(f *File, node agree.NodeID) (bool, error) {
	if !f.counts() {
		return false, nil
	}
	holders, err := v.CoveringFile(f)
	for _, h := range holders {
		if h.Node == node {
			continue
		}
		epoch, err := v.Unproved(h.Node)
		if err != nil || epoch == 0 {
			return false, err
		}
	}
	return err == nil, err
}

// Count counts what Each sees, and its bytes.
func (v Soles) Count(m *cluster.Member) (files, bytes int64, err error) {
	err = v.Each(m, "", func(_ string, f *File) (bool, error) {
		files, bytes = files+1, bytes+f.Size
		return true, nil
	})
	return files, bytes, err
}
