package cli

import (
	"strings"
	"testing"

	"holdfast/api/wire"
)

// That no file loses a good copy is said only if all files were looked at.
func TestWhatLosesCopies(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		plan wire.LayoutPlan
		want string
	}{
		"none":                     {wire.LayoutPlan{}, "No file would have fewer"},
		"some":                     {wire.LayoutPlan{Short: []wire.LayoutShort{{Replica: "r", Fewer: 3}}}, "good copies of 3 files"},
		"not all were looked at":   {wire.LayoutPlan{Partly: true}, "Not all files were looked at"},
		"some, of those looked at": {wire.LayoutPlan{Partly: true, Short: []wire.LayoutShort{{Replica: "r", Fewer: 3}}}, "at least 3 files"},
	} {
		var out strings.Builder
		if err := showPlan(&app{stdout: &out}, &tt.plan); err != nil || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: %v\n%s", what, err, out.String())
		}
		if calm := strings.Contains(out.String(), "No file would have fewer"); calm != (what == "none") {
			t.Errorf("%s: %s", what, out.String())
		}
	}
}
