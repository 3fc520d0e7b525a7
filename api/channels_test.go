package api

import (
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/jobs"
)

// TestAJobThatNoNodeServesIsToldOf makes jobs by hand: of the default channel, and of one that no node serves.
func TestAJobThatNoNodeServesIsToldOf(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	c := open(b.person("anna", catalog.Giving{Role: catalog.RoleCurator}))
	job, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}})
	if err != nil || job.Channel != agreed.Focused {
		t.Fatalf("%+v %v", job, err)
	}
	const why = "no node that crawls serves channel FOCUSED"
	told := func() (bool, bool) {
		t.Helper()
		shown, err := c.Jobs().Show(t.Context(), job.ID)
		if err != nil {
			t.Fatal(err)
		}
		st, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(shown.Note, why), strings.Contains(strings.Join(st.Problems, "\n"), "channel FOCUSED has 1 jobs")
	}
	if note, problem := told(); !note || !problem {
		t.Errorf("nobody crawls: the job says so: %t, the status: %t", note, problem)
	}
	b.must(catalog.WishJob, catalog.JobWishing{ID: job.ID, Wish: catalog.WishPause})
	if note, problem := told(); note || problem {
		t.Errorf("a paused job waits for no node: the job says so: %t, the status: %t", note, problem)
	}
}
