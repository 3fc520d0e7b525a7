package duty_test

import (
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/jobs"
	"holdfast/duty"
)

// TestJobsThatNobodyMakesWholeAreDropped opens jobs by hand and in a run, and lets an hour pass.
func TestJobsThatNobodyMakesWholeAreDropped(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.level = catalog.Level
	s.replica("north", nil)
	s.apply(catalog.RaiseLevel, catalog.LevelChange{Level: catalog.Level})
	abandoned := func(want ...uint64) {
		t.Helper()
		got, err := duty.Abandoned(s.view(), s.now)
		s.check(err)
		if len(got) != len(want) {
			t.Fatalf("%v, want %v", got, want)
		}
		for i := range got {
			if got[i].ID != want[i] {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	}
	abandoned()
	s.apply(jobs.OpenJob, jobs.JobOpening{Harvest: "by hand", Collection: "web"})
	s.apply(jobs.OpenJob, jobs.JobOpening{Harvest: "daily", Collection: "web", Number: 7, Run: 1})
	parts := jobs.JobAddition{ID: 1, Number: 1, Part: jobs.Part{Kind: jobs.PartJob, Text: `{"name":"x"}`}}
	s.apply(jobs.AddPart, parts)
	s.now = s.now.Add(59 * time.Minute)
	s.apply(jobs.OpenJob, jobs.JobOpening{Harvest: "by hand", Collection: "web"})
	abandoned()
	s.now = s.now.Add(2 * time.Minute)
	abandoned(1)
	s.apply(jobs.DropJob, catalog.JobRef{ID: 1})
	abandoned()
	s.now = s.now.Add(24 * time.Hour)
	abandoned(3)
}
