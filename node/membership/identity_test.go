package membership

import (
	"testing"

	"holdfast/catalog"
)

func TestACatalogThatLagsDoesNotUndoTrust(t *testing.T) {
	t.Parallel()
	k := Known{Cluster: catalog.Cluster{ID: "c", Epoch: 2}, Index: 100}
	for _, tt := range []struct {
		name         string
		epoch, index uint64
		want         bool
	}{
		{"a log that is being replayed", 2, 99, true},
		{"the same place", 2, 100, false},
		{"a later place", 2, 101, false},
		{"an old epoch", 1, 500, true},
		{"a new epoch", 3, 7, false},
	} {
		if got := older(tt.epoch, tt.index, k); got != tt.want {
			t.Errorf("%s: older is %v, want %v", tt.name, got, tt.want)
		}
	}
}
