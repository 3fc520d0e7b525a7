package duty

import (
	"slices"

	"holdfast/catalog"
)

// looks is how many files a walk looks at for each one that it may list.
const looks = 8

// MoveFetches lists at most n files behind the cursor of the shards that move to node self and that it does
// not have yet, with the nearest sources as Fetches does; in a checksum replica, records. It does not wait for
// turns; pauses after a failure are the node's own.
func MoveFetches(view catalog.View, self catalog.NodeID, alive Alive, have Have, after catalog.Cursor, n int) (Page, error) {
	h, err := holderOf(view, self)
	if err != nil {
		return Page{Next: after, Done: true}, err
	}
	page := Page{Next: after}
	for left := n * looks; left > 0 && len(page.Fetches) < n; {
		if !h.isNext(page.Next.Shard) {
			if page.Done = page.Next.Shard+1 == catalog.Shards; page.Done {
				break
			}
			page.Next = catalog.Cursor{Shard: page.Next.Shard + 1}
			continue
		}
		ask := min(left, n-len(page.Fetches))
		files, err := view.ShardFiles(page.Next.Shard, page.Next.After, ask)
		if err != nil {
			return page, err
		}
		left -= max(1, len(files))
		for i := range files {
			if err := h.considerMove(view, &page, &files[i], alive, have); err != nil {
				return page, err
			}
			page.Next.After = files[i].Name
		}
		if len(files) < ask {
			if page.Done = page.Next.Shard+1 == catalog.Shards; page.Done {
				break
			}
			page.Next = catalog.Cursor{Shard: page.Next.Shard + 1}
		}
	}
	return page, nil
}

func (h *holder) considerMove(view catalog.View, page *Page, f *catalog.File, alive Alive, have Have) error {
	if f.Removed != 0 || !h.replica.Holds(f.Collection) || have(f.Name) {
		return nil
	}
	if h.replica.Kind == catalog.Checksum {
		page.Fetches = append(page.Fetches, Fetch{File: *f, Record: true})
		return nil
	}
	sources, err := h.sources(view, f, alive)
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		page.Stuck++
		return nil
	}
	page.Fetches = append(page.Fetches, Fetch{File: *f, Sources: sources})
	return nil
}

// MovesDue lists the shards that move to node self and are complete there: root returns the root of the files
// that it has of a shard, which must be the catalog's.
func MovesDue(view catalog.View, self catalog.NodeID, root func(catalog.Shard) catalog.Root) ([]catalog.Switch, error) {
	h, err := holderOf(view, self)
	if err != nil {
		return nil, err
	}
	var out []catalog.Switch
	for s := range catalog.Shard(catalog.Shards) {
		if !h.isNext(s) {
			continue
		}
		want, err := view.Root(h.replica.Name, s)
		if err != nil {
			return nil, err
		}
		if root(s) == want {
			out = append(out, catalog.Switch{Replica: h.replica.Name, Shard: s, Node: self, Root: want})
		}
	}
	return out, nil
}

// ReleasesDue lists at most n single files behind after whose bytes node self may ask to release now, and the
// name to go on behind, empty when there are no more.
func ReleasesDue(view catalog.View, self catalog.NodeID, after catalog.FileName, n int) ([]catalog.FileName, catalog.FileName, error) {
	files, err := view.Releases(self, after, n)
	if err != nil {
		return nil, "", err
	}
	var out []catalog.FileName
	for i := range files {
		if files[i].Removed != 0 || files[i].Complete() {
			out = append(out, files[i].Name)
		}
	}
	if len(files) < n {
		return out, "", nil
	}
	return out, files[len(files)-1].Name, nil
}

// Leave is what is to be done about the shards that moved away from a node.
type Leave struct {
	Files []catalog.FileName // it still has them and may ask to release them
	Empty []catalog.Leaving  // it has nothing left of them
	Next  catalog.Cursor     // behind what was looked at
	Done  bool               // nothing is left behind Next
}

// LeavesDue walks the shards that moved away from node self, behind the cursor, and lists at most n files that
// it still has. A file that is not verified everywhere is passed over until it is; its shard is not empty.
func LeavesDue(view catalog.View, self catalog.NodeID, have Have, after catalog.Cursor, n int) (Leave, error) {
	out := Leave{Next: after, Done: true}
	shards, err := view.Left(self)
	if err != nil {
		return out, err
	}
	slices.SortFunc(shards, func(a, b catalog.ReplicaShard) int { return int(a.Shard) - int(b.Shard) })
	left := n * looks
	resumed := true
	for _, s := range shards {
		if s.Shard < after.Shard {
			continue
		}
		if len(out.Files) >= n || left <= 0 {
			out.Done = false
			break
		}
		if !resumed || s.Shard > after.Shard {
			out.Next = catalog.Cursor{Shard: s.Shard}
		}
		resumed = false
		if err := leaveShard(view, s, self, have, &out, &left, n); err != nil {
			return out, err
		}
		if !out.Done {
			break
		}
	}
	return out, nil
}

// leaveShard looks at the files of one shard behind the cursor. A shard is found empty only when it was seen
// from its first file to its last.
func leaveShard(view catalog.View, s catalog.ReplicaShard, self catalog.NodeID, have Have, out *Leave, left *int, n int) error {
	const page = 100
	whole, any := out.Next.After == "", false
	for {
		files, err := view.ShardFiles(s.Shard, out.Next.After, page)
		if err != nil {
			return err
		}
		for i := range files {
			if have(files[i].Name) {
				if len(out.Files) == n {
					out.Done = false
					return nil
				}
				any = true
				if files[i].Removed != 0 || files[i].Complete() {
					out.Files = append(out.Files, files[i].Name)
				}
			}
			out.Next.After = files[i].Name
		}
		*left -= len(files)
		if len(files) < page {
			break
		}
		if *left <= 0 && any {
			out.Done = false
			return nil
		}
	}
	if whole && !any {
		out.Empty = append(out.Empty, catalog.Leaving{Node: self, Replica: s.Replica, Shard: s.Shard})
	}
	return nil
}
