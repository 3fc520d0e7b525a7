package harvests

import (
	"slices"
	"testing"

	"holdfast/harvest/schedule"
)

// TestNamesOfStandardSchedules are reserved in the catalog, whatever a program's schedules are.
func TestNamesOfStandardSchedules(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range schedule.Standard() {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, Standard()) {
		t.Errorf("the schedules that come with the system are %v, the catalog knows %v", names, Standard())
	}
}
