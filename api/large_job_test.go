package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/jobs"
)

// many is as many seeds as it takes that a job does not fit into one command.
func many() (seeds []string) {
	for i := range 8000 {
		seeds = append(seeds, fmt.Sprintf("http://127.0.0.1/a/long/path/of/page-%d", i))
	}
	return seeds
}

// TestALargeJobIsMadeOfParts makes a job that needs several commands: it is shown and crawled with all of its seeds.
func TestALargeJobIsMadeOfParts(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleCurator)
	seeds := many()
	made, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "large", Seeds: seeds})
	if err != nil || made.State != wire.JobSubmitted || !slices.Equal(made.Seeds, seeds) {
		t.Fatalf("%v, %s, %d seeds", err, made.State, len(made.Seeds))
	}
	shown, err := c.Jobs().Show(t.Context(), made.ID)
	if err != nil || shown.State != wire.JobSubmitted || !slices.Equal(shown.Seeds, seeds) {
		t.Errorf("%v, %s, %d seeds are shown", err, shown.State, len(shown.Seeds))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	v := catalog.NewView(&b.state)
	job, err := v.Job(made.ID)
	if err != nil || job.Parts == nil || job.Parts.Count < 3 || job.Spec != nil {
		t.Fatalf("%v %+v", err, job.Parts)
	}
	spec, err := v.Spec(&job)
	if err != nil || !slices.Equal(spec.Seeds, seeds) || spec.Name != "large" {
		t.Errorf("%v, %d seeds are crawled", err, len(spec.Seeds))
	}
}

// TestALargeJobNeedsTheLevelOfParts asks a cluster of the level before for it, and is told what would help.
func TestALargeJobNeedsTheLevelOfParts(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, agreed.LevelOfParts-1)
	c := open(b.person("anna", catalog.Giving{Role: catalog.RoleCurator}))
	if _, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "small", Seeds: many()[:100]}); err != nil {
		t.Error(err)
	}
	seeds := many()
	for i := range seeds {
		seeds[i] += strings.Repeat("x", 40)
	}
	_, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "large", Seeds: seeds})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint("holdfast cluster level ", catalog.Level)) {
		t.Errorf("a job of %d seeds: %v", len(seeds), err)
	}
}

// TestALargeJobThatCannotBeMadeLeavesNothing lets one of a job's parts fail: nothing of it is left, and nobody sees it.
func TestALargeJobThatCannotBeMadeLeavesNothing(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleCurator)
	added := 0
	b.mu.Lock()
	b.refuse = func(kind catalog.Kind) error {
		if kind != agreed.AddPart {
			return nil
		}
		if added++; added < 3 {
			return nil
		}
		return errors.New("the log is full")
	}
	b.mu.Unlock()
	if _, err := c.Jobs().Create(context.Background(), wire.JobRequest{Name: "large", Seeds: many()}); err == nil {
		t.Error("the job was made")
	}
	for job, err := range c.Jobs().List(t.Context()) {
		t.Errorf("listed: %v %v", job.ID, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	open, err := catalog.NewView(&b.state).OpenJobs(0, 10)
	if err != nil || len(open) != 0 || added != 3 {
		t.Errorf("%v, after %d parts still open: %v", err, added, open)
	}
}

// TestBothErrorsOfAJobAreShown lets a crawl end with an error of its own, and one of its files.
func TestBothErrorsOfAJobAreShown(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleCurator)
	job, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "one", Seeds: []string{"http://127.0.0.1/"}})
	if err != nil {
		t.Fatal(err)
	}
	b.must(catalog.ClaimJob, catalog.JobRef{ID: job.ID, Node: self})
	b.must(catalog.StartJob, catalog.JobRef{ID: job.ID, Node: self, Attempt: 1})
	b.must(catalog.FinishJob, catalog.JobEnd{ID: job.ID, Node: self, Attempt: 1, Failed: true,
		HarvestError: &agreed.Fault{Short: "disk full", Detail: "write a.warc.gz: no space left on device"},
		UploadError:  &agreed.Fault{Short: "2 files not brought in"}})
	got, err := c.Jobs().Show(t.Context(), job.ID)
	if err != nil || got.Reason != "disk full; 2 files not brought in" || got.HarvestErr == nil || got.UploadErr == nil ||
		got.HarvestErr.Detail != "write a.warc.gz: no space left on device" || got.UploadErr.Detail != "" {
		t.Errorf("%v %+v", err, got)
	}
}
