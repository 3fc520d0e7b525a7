package catalog_test

import (
	"pgregory.net/rapid"

	"holdfast/catalog"
	"holdfast/catalog/batches"
)

// batches draws a command about batches.
func (h hostile) batches() (catalog.Kind, any) {
	name := pick(h, "batch", "a", "a", "b", "", "a/b")
	holder := batches.Holder{ID: name, Node: h.node(), Term: pick[uint64](h, "term", 1, 1, 2, 0)}
	switch rapid.IntRange(0, 7).Draw(h.t, "batches") {
	case 0, 1:
		return batches.Open, batches.Beginning{ID: name, Program: pick(h, "program", "files", "", "x y"), Node: h.node(),
			Parameters: map[string]string{pick(h, "parameter", "a", ""): h.text()},
			Selection: batches.Selection{Files: pick(h, "expression", "", "a.*", "(", h.text()), Names: pick(h, "names", 0, 0, 2, -1, 200_000),
				Replica: h.replica()}, Limits: batches.Limits{Time: h.time(), Output: int64(h.number())}}
	case 2:
		return batches.AddNames, batches.Naming{ID: name, Part: pick(h, "part", 1, 1, 2, 0, -1), Names: []catalog.FileName{h.file(), h.file()}}
	case 3:
		return batches.Wish, batches.Wishing{ID: name, Wish: pick(h, "wish", "run", "pause", "stop", "", "x"), Reason: h.text()}
	case 4:
		return batches.Claim, holder
	case 5:
		return batches.Release, holder
	}
	files := int64(h.number())
	return batches.End, batches.Ending{ID: name, Node: h.node(), Term: holder.Term,
		State:   pick(h, "state", batches.Done, batches.Incomplete, batches.Stopped, "x"),
		Summary: batches.Summary{Selected: files, Files: files, Failed: int64(h.number()), Failures: []batches.Failure{{Name: h.file(), Reason: h.text()}}}}
}
