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

// TestWhatIsVerified: only what was read and found right is, and a file without copies has nothing that is.
func TestWhatIsVerified(t *testing.T) {
	t.Parallel()
	ok := wire.Verification{Replica: "south", State: "ok"}
	for what, tt := range map[string]struct {
		found []wire.Verification
		right bool
	}{
		"all":               {[]wire.Verification{ok, {Replica: "north", State: "ok", Outbox: "ok"}}, true},
		"none":              {nil, false},
		"one is away":       {[]wire.Verification{ok, {State: "away"}}, false},
		"the outbox is not": {[]wire.Verification{{State: "ok", Outbox: "corrupt"}, ok}, false},
		"nothing was said":  {[]wire.Verification{ok, {}}, false},
	} {
		if right := allRight(tt.found); right != tt.right {
			t.Errorf("%s: %t", what, right)
		}
	}
}
