//go:build slow

package node

import (
	"errors"
	"fmt"
	"testing"

	"holdfast/api"
)

// A node has figures of itself from its first seconds on, and any node gives them.
func TestFiguresOfAnotherNodeAreRead(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, "")[:2])
	here, there := nodes[0], nodes[1]
	eventually(t, "figures", func() error {
		got, err := here.overTime.Figures(t.Context(), there.id, "hour")
		if err != nil {
			return err
		}
		if got.Name != "south-1" || len(got.Series) != 9 || got.Step != 10 {
			t.Fatalf("%s has %d figures by %d s", got.Name, len(got.Series), got.Step)
		}
		for _, s := range got.Series {
			last := (*float64)(nil)
			for _, v := range s.Values {
				if v != nil {
					last = v
				}
			}
			switch {
			case s.Name == "cpu", s.Name == "crawl-uris", s.Name == "crawl-bytes": // known from the second look on
			case s.Name == "raft-behind" && last == nil: // before it takes part
			case last == nil:
				return fmt.Errorf("%s %s is not known yet", s.Name, s.Of)
			case s.Name == "memory" && *last < 1<<20, s.Name == "disk-free" && (*last < 1<<20 || s.Of != there.cfg.Files[0]):
				t.Errorf("%s of %q: %v", s.Name, s.Of, *last)
			}
		}
		return nil
	})
	if _, err := here.overTime.Figures(t.Context(), there.id, "week"); err != nil {
		t.Error(err)
	}
	there.halt(t)
	if !exists(there.cfg.Data + "/figures") {
		t.Error("the figures are not kept over a restart")
	}
	if _, err := here.overTime.Figures(t.Context(), there.id, "hour"); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("of a node that is down: %v", err)
	}
}
