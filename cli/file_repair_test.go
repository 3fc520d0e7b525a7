package cli

import (
	"testing"

	"holdfast/api/wire"
)

// TestWhatACopyIsRepairedFrom: not from a checksum replica, which has no bytes.
func TestWhatACopyIsRepairedFrom(t *testing.T) {
	t.Parallel()
	sums := map[string]bool{"sums": true, "north": false}
	for what, tt := range map[string]struct {
		found []wire.Verification
		was   string
		good  bool
	}{
		"bytes elsewhere":      {[]wire.Verification{{Replica: "south", State: "corrupt"}, {Replica: "north", State: "ok"}}, "corrupt", true},
		"a checksum alone":     {[]wire.Verification{{Replica: "south", State: "missing"}, {Replica: "sums", State: "ok"}}, "missing", false},
		"bad everywhere":       {[]wire.Verification{{Replica: "south", State: "missing"}, {Replica: "north", State: "corrupt"}}, "missing", false},
		"nobody was reached":   {[]wire.Verification{{Replica: "south", State: "missing"}, {Replica: "north", State: "unreachable"}}, "missing", false},
		"its own copy is ok":   {[]wire.Verification{{Replica: "south", State: "ok"}, {Replica: "sums", State: "ok"}}, "ok", false},
		"it is to have none":   {[]wire.Verification{{Replica: "north", State: "ok"}}, "", true},
		"nothing was answered": {nil, "", false},
	} {
		was, good := fileRepairCmd{Replica: "south"}.among(tt.found, sums)
		if was != tt.was || good != tt.good {
			t.Errorf("%s: %q, %v", what, was, good)
		}
	}
}
