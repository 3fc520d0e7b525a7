package api

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
	"holdfast/harvest"
)

// TestJobsAreListedByWhatTheyAre makes jobs by hand and finds them by state, harvest, channel, domain and time.
func TestJobsAreListedByWhatTheyAre(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleCurator).Jobs()
	var many []string // more domains than one part may have
	for i := range 1200 {
		many = append(many, fmt.Sprintf("https://www.d%d.org/", i))
	}
	settings := &wire.Settings{Settings: harvest.DefaultSettings()}
	settings.OperatorContact = "https://example.org/crawl"
	ids := map[string]uint64{}
	for _, one := range []struct {
		name, channel string
		seeds         []string
	}{
		{"first", "FOCUSED", []string{"http://www.Example.org/", "http://127.0.0.1:8080/", "http://[::1]/"}},
		{"second", "SNAPSHOT", []string{"https://example.org/a"}},
		{"large", "FOCUSED", many},
	} {
		job, err := c.Create(t.Context(), wire.JobRequest{Name: one.name, Channel: one.channel, Seeds: one.seeds,
			Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		ids[one.name] = job.ID
		b.later += time.Minute
	}
	b.must(catalog.ClaimJob, catalog.JobRef{ID: ids["first"], Node: self})
	b.must(catalog.FinishJob, catalog.JobEnd{ID: ids["first"], Node: self, Attempt: 1, Failed: true})
	again, err := c.Resubmit(t.Context(), ids["first"])
	if err != nil {
		t.Fatal(err)
	}
	ids["again"] = again.ID
	second, err := c.Show(t.Context(), ids["second"])
	if err != nil {
		t.Fatal(err)
	}
	none, one := uint64(0), uint64(1)
	for _, tt := range []struct {
		of   client.JobQuery
		want []string
	}{
		{client.JobQuery{}, []string{"again", "large", "second", "first"}},
		{client.JobQuery{State: wire.JobSubmitted}, []string{"again", "large", "second"}},
		{client.JobQuery{State: wire.JobResubmitted, Channel: "FOCUSED"}, []string{"first"}},
		{client.JobQuery{Channel: "SNAPSHOT"}, []string{"second"}},
		{client.JobQuery{Domain: "EXAMPLE.org"}, []string{"again", "second", "first"}},
		{client.JobQuery{Domain: "example.org", State: wire.JobSubmitted}, []string{"again", "second"}},
		{client.JobQuery{Domain: "127.0.0.1"}, []string{"again", "first"}},
		{client.JobQuery{Domain: "d7.org"}, []string{"large"}},
		{client.JobQuery{Domain: "d1199.org"}, []string{"large"}},
		{client.JobQuery{Domain: "d1200.org"}, nil},
		{client.JobQuery{Harvest: &none, Channel: "SNAPSHOT"}, []string{"second"}},
		{client.JobQuery{Harvest: &one}, nil},
		{client.JobQuery{From: second.Created}, []string{"again", "large", "second"}},
		{client.JobQuery{Until: second.Created}, []string{"first"}},
		{client.JobQuery{From: second.Created, Until: second.Created.Add(time.Second)}, []string{"second"}},
	} {
		var got, want []uint64
		for _, job := range collect(t, c.Find(t.Context(), tt.of)) {
			got = append(got, job.ID)
		}
		for _, name := range tt.want {
			want = append(want, ids[name])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: jobs %v, want %v", tt.of, got, want)
		}
	}
	for _, wrong := range []client.JobQuery{{Run: 1}, {Domain: "www.example.org"}, {Domain: "http://example.org/"},
		{State: "LOST"}} {
		for _, err := range c.Find(t.Context(), wrong) {
			if status(err) != 422 {
				t.Errorf("%+v: %v", wrong, err)
			}
		}
	}
}

// TestOpenJobsShowTheDomainsThatTheyShare makes two jobs with a domain in common.
func TestOpenJobsShowTheDomainsThatTheyShare(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleCurator).Jobs()
	for range 2 {
		if _, err := c.Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/",
			"http://127.0.0.2/"}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.2/"}}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[uint64]string{1: "[{127.0.0.1 [2]} {127.0.0.2 [2 3]}]", 3: "[{127.0.0.2 [1 2]}]"} {
		if got := collect(t, c.Overlaps(t.Context(), id)); fmt.Sprint(got) != want {
			t.Errorf("job %d: %v, want %s", id, got, want)
		}
	}
	b.must(catalog.WishJob, catalog.JobWishing{ID: 3, Wish: catalog.WishStop})
	if got := collect(t, c.Overlaps(t.Context(), 3)); len(got) != 0 {
		t.Errorf("a job that has ended: %v", got)
	}
	for _, err := range c.Overlaps(t.Context(), 9) {
		if status(err) != 404 {
			t.Errorf("a job that there is not: %v", err)
		}
	}
}
