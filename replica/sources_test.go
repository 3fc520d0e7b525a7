package replica

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// TestOneOutageIsOneFailure breaks a connection over which many copies and readers go. The source is asked again after
// the first pause, and not minutes later; one that fails each time it is asked rests longer and longer.
func TestOneOutageIsOneFailure(t *testing.T) {
	for name, fail := range map[string]func(*sources, catalog.NodeID){"failed": (*sources).failed, "busy": (*sources).busy} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, node := newSources(), catalog.NodeID("south-1")
				rests := func() time.Duration {
					_, at := s.order([]catalog.NodeID{node})
					return time.Until(at)
				}
				for range 50 {
					fail(s, node)
				}
				if first := rests(); first > failurePause {
					t.Errorf("after one outage the source rests for %v", first)
				}
				before := time.Duration(0)
				for range 4 {
					pause := rests()
					if pause <= before {
						t.Errorf("after one more failure the source rests for %v, before for %v", pause, before)
					}
					before = pause
					time.Sleep(pause)
					if ready, _ := s.order([]catalog.NodeID{node}); len(ready) != 1 {
						t.Error("the source is not asked again")
					}
					fail(s, node)
				}
			})
		})
	}
}
