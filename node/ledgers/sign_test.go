package ledgers

import (
	"testing"

	"holdfast/ledger"
)

func TestFilesOfThePagesVeryTimeMayBeInItOrNot(t *testing.T) {
	files := []ledger.Entry{{Name: "a", Size: 1}, {Name: "b", Size: 2}, {Name: "c", Size: 3}, {Name: "d", Size: 4}}
	held := ledger.RootOf(files[:1])
	for name, tt := range map[string]struct {
		edge, said []ledger.Entry
		want       bool
	}{
		"none at the edge": {nil, files[:1], true},
		"none in it":       {files[1:3], files[:1], true},
		"one in it":        {files[1:3], []ledger.Entry{files[0], files[2]}, true},
		"all in it":        {files[1:3], files[:3], true},
		"a file too many":  {files[1:3], files[:4], false},
		"a file too few":   {files[1:3], files[1:3], false},
		"too many to try":  {make([]ledger.Entry, mostEdge+1), files[:1], false},
	} {
		if got := reaches(held, tt.edge, ledger.RootOf(tt.said)); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
