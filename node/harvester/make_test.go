package harvester

import (
	"errors"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
)

// A job that cannot be made is found out while the one before it is stored. If that fails, the harvest is not given up:
// all is done again, and then the first job is there.
func TestABrokenJobWaitsForTheOneBefore(t *testing.T) {
	t.Parallel()
	a := newAlone(t)
	a.must(harvests.CreateTemplate, harvests.Creation{Name: "later", Text: `{"operator_contact":"web@example.org","warp":9}`})
	a.domain("a.org")
	a.domain("z.org", domains.Configuring{Name: "deep", Template: "later"})
	number := a.define(runs.Selective, runs.Asked{Name: "some"}, "a.org/defaultconfig", "z.org/deep")
	a.begin(number)
	cut := true
	a.before = func(kind catalog.Kind, _ any) (bool, error) {
		if kind == jobs.MakeJob && cut {
			cut = false
			return false, errCut
		}
		return true, nil
	}
	if err := a.harvester().Split(t.Context(), number, 1); !errors.Is(err, errCut) {
		t.Errorf("%v, want that the first job was not stored", err)
	}
	if h, r := a.harvest(number), a.run(number, 1); h.Error != "" || r.State != runs.Splitting {
		t.Errorf("harvest %+v, run %+v: given up", h, r)
	}
	if err := a.harvester().Split(t.Context(), number, 1); err != nil {
		t.Fatal(err)
	}
	if h, r := a.harvest(number), a.run(number, 1); h.Active || h.Error == "" || r.State != runs.Failed || r.Jobs != 1 || r.Configurations != 1 {
		t.Errorf("harvest %+v, run %+v", h, r)
	}
	if made := a.made(number, 1); len(made) != 1 {
		t.Errorf("%d jobs were made: %v", len(made), made)
	}
}
