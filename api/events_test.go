package api

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/harvest"
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

func TestNobodyReadsTheSecretsOfAJob(t *testing.T) {
	_, client := cluster(t)
	c := client(catalog.RoleCurator)
	settings := &Settings{harvest.DefaultSettings()}
	settings.Credentials = []harvest.Credential{{Domain: "127.0.0.1", Kind: "basic", User: "reader", Password: "s3cret-word"}}
	made, err := c.CreateJob(t.Context(), JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := c.Job(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	for what, job := range map[string]Job{"creating it": made, "showing it": shown} {
		text, err := json.Marshal(job)
		if err != nil || strings.Contains(string(text), "s3cret") || !strings.Contains(string(text), harvest.Redaction) {
			t.Errorf("%s answers %s %v", what, text, err)
		}
	}
}
