package api

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"holdfast/catalog"
)

func TestEventsAreFollowedUntilTheCrawlEnds(t *testing.T) {
	b, client := cluster(t)
	c := client(catalog.RoleReader)
	job, err := client(catalog.RoleCurator).CreateJob(t.Context(), JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}})
	if err != nil {
		t.Fatal(err)
	}
	b.must(catalog.ClaimJob, catalog.JobRef{ID: job.ID, Node: self})
	b.must(catalog.StartJob, catalog.JobRef{ID: job.ID, Node: self, Attempt: 1})
	id := strconv.FormatUint(job.ID, 10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := c.request(ctx, http.MethodGet, nil, nil, "jobs", id, "events")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("content type %s", kind)
	}
	var ids []string
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			ids = append(ids, id)
		}
		if lines.Text() == "event: end" {
			break
		}
	}
	if got := strings.Join(ids, " "); got != "1 2 3" {
		t.Errorf("events %q, want 1 2 3 and the end", got)
	}
}
