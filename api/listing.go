package api

import (
	"cmp"
	"slices"
	"strings"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/agree"
)

// Listing is the input of a list that is searched and sorted.
type Listing struct {
	Paging
	Search string `query:"search" maxLength:"200" doc:"list only what has this text in its name or comment"`
	Sort   string `query:"sort" enum:"name,changed" default:"name" doc:"by name, or the latest change first; keep it from page to page"`
}

// entry is what a thing in a list is searched and sorted by.
type entry struct {
	name, comment string
	changed       catalog.Time
	next          catalog.Time // 0: none
}

// pageOf returns the items of a page, and the cursor of the next. All items are few enough to be looked at.
func (in *Listing) pageOf(n int, of func(int) entry) (places []int, next string, err error) {
	kind := "n"
	switch in.Sort {
	case "changed":
		kind = "c"
	case "next":
		kind = "d"
	}
	after, err := openCursor(in.After, kind)
	if err != nil {
		return nil, "", err
	}
	type item struct {
		position string
		place    int
	}
	var all []item
	wanted := strings.ToLower(in.Search)
	for i := range n {
		l := of(i)
		if !strings.Contains(strings.ToLower(l.name), wanted) && !strings.Contains(strings.ToLower(l.comment), wanted) {
			continue
		}
		position := l.name
		switch kind {
		case "c":
			position = agree.Hex(^uint64(l.changed)) + l.name
		case "d":
			position = agree.Hex(uint64(l.next)-1) + l.name // those without a date come last
		}
		if position > after {
			all = append(all, item{position, i})
		}
	}
	slices.SortFunc(all, func(a, b item) int { return cmp.Compare(a.position, b.position) })
	if len(all) > in.Limit {
		all = all[:in.Limit]
		next = makeCursor(kind, all[in.Limit-1].position)
	}
	for _, one := range all {
		places = append(places, one.place)
	}
	return places, next, nil
}

// searched makes a page of what the catalog has.
func searched[D, W any](s *server, in *Listing, all func(catalog.View) ([]D, error), of func(*D) entry,
	show func(catalog.View, *D) (W, error)) (wire.Page[W], error) {
	page := wire.Page[W]{Items: []W{}}
	err := s.Catalog.View(func(v catalog.View) error {
		items, err := all(v)
		if err != nil {
			return err
		}
		places, next, err := in.pageOf(len(items), func(i int) entry { return of(&items[i]) })
		if err != nil {
			return err
		}
		page.Next = next
		for _, i := range places {
			shown, err := show(v, &items[i])
			if err != nil {
				return err
			}
			page.Items = append(page.Items, shown)
		}
		return nil
	})
	return page, err
}
