package duty

import (
	"cmp"
	"slices"

	"holdfast/catalog"
)

// Needed looks at n of the owed copies of node self that go before all others, of files behind after, and lists those
// whose turn it is in the order of need: those of files with the fewest good copies first, then those of files that
// entered first. It is for a holder of either kind of replica.
func Needed(view catalog.View, self catalog.NodeID, alive Alive, clock Clock, after catalog.FileName,
	n int) (NeededPage, error) {
	h, err := holderOf(view, self)
	if err != nil {
		return NeededPage{}, err
	}
	files, err := view.Needed(h.replica.Name, h.holds, after, n)
	if err != nil {
		return NeededPage{}, err
	}
	page := NeededPage{Page: Page{Done: len(files) < n}}
	if len(files) == n && n > 0 {
		page.Next = files[n-1].Name
	}
	return page, h.considerAll(view, &page.Page, files, alive, clock)
}

// NeededPage is one page of the copies that go before others. A file that is looked at and not among the fetches either
// waits for its time or is stuck.
type NeededPage struct {
	Page
	Next catalog.FileName   // continue after this; empty when nothing is left behind
	Idle []catalog.FileName // of the named files: no living node has good bytes, or nothing is needed here any more
}

// NeededOf is Needed for these files alone, whatever else is needed.
func NeededOf(view catalog.View, self catalog.NodeID, alive Alive, clock Clock,
	names []catalog.FileName) (NeededPage, error) {
	h, err := holderOf(view, self)
	if err != nil {
		return NeededPage{}, err
	}
	var page NeededPage
	for _, name := range names {
		needed, err := view.IsNeeded(h.replica.Name, name)
		if err != nil {
			return page, err
		}
		if !needed || !h.holds(name.Shard()) {
			page.Idle = append(page.Idle, name)
			continue
		}
		f, err := view.File(name)
		if err != nil {
			return page, err
		}
		before := page.Stuck
		if err := h.considerAll(view, &page.Page, []catalog.File{f}, alive, clock); err != nil {
			return page, err
		}
		if page.Stuck > before {
			page.Idle = append(page.Idle, name)
		}
	}
	return page, nil
}

// considerAll lists those of the files whose turn it is, in the order of need.
func (h *holder) considerAll(view catalog.View, page *Page, files []catalog.File, alive Alive, clock Clock) error {
	for i := range files {
		var err error
		if h.replica.Kind == catalog.Checksum {
			err = h.considerRecord(view, page, &files[i], clock)
		} else {
			err = h.consider(view, page, &files[i], alive, clock)
		}
		if err != nil {
			return err
		}
	}
	sortByNeed(page.Fetches)
	return nil
}

func sortByNeed(fetches []Fetch) {
	slices.SortStableFunc(fetches, func(a, b Fetch) int {
		return cmp.Or(cmp.Compare(a.Good, b.Good), cmp.Compare(a.File.Added, b.File.Added))
	})
}
