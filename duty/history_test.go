package duty_test

import (
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/history"
	"holdfast/catalog/jobs"
	"holdfast/duty"
)

// TestStatisticsThatAreToBeKept lists the steps of two jobs, and what is left after some of them.
func TestStatisticsThatAreToBeKept(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.level = catalog.Level
	s.replica("north", nil)
	s.apply(catalog.RaiseLevel, catalog.LevelChange{Level: catalog.Level})
	members, err := s.view().Members()
	s.check(err)
	node := members[0].ID
	for id := uint64(1); id <= 2; id++ {
		s.apply(catalog.CreateJob, catalog.JobCreation{Harvest: "h", Collection: "web", Submit: true, Spec: []byte(`{}`)})
		s.apply(catalog.ClaimJob, catalog.JobRef{ID: id, Node: node})
		all := make([]jobs.Statistic, jobs.StatisticsInChunk)
		for i := range all {
			all[i] = jobs.Statistic{Domain: "a.org", Name: "x"}
		}
		for n := 1; n <= 3; n++ {
			s.apply(jobs.AddStatistics, jobs.JobStatistics{ID: id, Node: node, Attempt: 1, Number: n, Last: n == 3,
				Statistics: all[:len(all)-n/3]})
		}
		s.apply(catalog.FinishJob, catalog.JobEnd{ID: id, Node: node, Attempt: 1, Statistics: 3})
	}
	for _, want := range []int{4, 4, 2, 0} {
		steps, err := duty.HistorySteps(s.view(), 4)
		s.check(err)
		if len(steps) != want {
			t.Fatalf("%v, want %d", steps, want)
		}
		for _, step := range steps[:min(2, len(steps))] {
			s.apply(history.Keep, step)
		}
	}
}
