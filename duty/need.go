package duty

import (
	"cmp"
	"slices"

	"holdfast/catalog"
)

// Needed looks at the first n of the owed copies of node self that go before all others, and lists those whose turn it
// is in the order of need: those of files with the fewest good copies first, then those of files that entered first. It
// is for a holder of either kind of replica.
func Needed(view catalog.View, self catalog.NodeID, alive Alive, clock Clock, n int) (Page, error) {
	h, err := holderOf(view, self)
	if err != nil {
		return Page{Done: true}, err
	}
	files, err := view.Needed(h.replica.Name, h.holds, "", n)
	page := Page{Done: len(files) < n}
	for i := range files {
		if err != nil {
			break
		}
		if h.replica.Kind == catalog.Checksum {
			err = h.considerRecord(view, &page, &files[i], clock)
		} else {
			err = h.consider(view, &page, &files[i], alive, clock)
		}
	}
	slices.SortStableFunc(page.Fetches, func(a, b Fetch) int {
		return cmp.Or(cmp.Compare(a.Good, b.Good), cmp.Compare(a.File.Added, b.File.Added))
	})
	return page, err
}
