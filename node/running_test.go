//go:build slow

package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/harvest"
	"holdfast/node/runner"
)

// TestRunningJobsOfAllNodes crawls on one node and asks another: it shows the figures of both. A stop with a deadline cuts
// off what hangs, and is not the stop reason. When the node has gone it is named, with its jobs; what a job of it left
// that had ended is read all the same.
func TestRunningJobsOfAllNodes(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<a href=/hangs>more</a>")
			return
		}
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(site.Close)
	t.Cleanup(func() { close(hang) })
	cfgs := threeConfigs(t, "")
	cfgs[0].Limits.Crawls, cfgs[1].Limits.Crawls = 0, 0
	nodes := startNodes(t, cfgs)
	first, last := nodes[0], nodes[2]
	settings := harvest.DefaultSettings()
	settings.AllowPrivate, settings.MinDelay, settings.DelayFactor, settings.Robots = true, 0, 0, "ignore"
	crawl := func() (id uint64) {
		t.Helper()
		eventually(t, "create a job", func() error {
			request := wire.JobRequest{Name: "j", Seeds: []string{site.URL + "/"}, Settings: &wire.Settings{Settings: settings}}
			code, text := first.ask(t, http.MethodPost, "/api/v1/jobs", request)
			if code != http.StatusCreated {
				return fmt.Errorf("%d %s", code, text)
			}
			var job wire.Job
			err := json.Unmarshal([]byte(text), &job)
			id = job.ID
			return err
		})
		return id
	}
	// running waits until the first node's list of running jobs is right.
	running := func(what string, right func(wire.RunningJobs) bool) {
		t.Helper()
		eventually(t, what, func() error {
			code, text := first.ask(t, http.MethodGet, "/api/v1/jobs/running", nil)
			var all wire.RunningJobs
			if err := json.Unmarshal([]byte(text), &all); code != http.StatusOK || err != nil || !right(all) {
				return fmt.Errorf("%d %s %v", code, text, err)
			}
			return nil
		})
	}
	id := crawl()
	shown := func(all wire.RunningJobs) bool {
		return len(all.Silent) == 0 && len(all.Jobs) == 1 && all.Jobs[0].ID == id && all.Jobs[0].NodeName == last.cfg.Name &&
			all.Jobs[0].Harvest == "j" && all.Jobs[0].State == "RUNNING" && all.Jobs[0].Progress.Done > 0
	}
	running("the job is shown", shown)
	if code, text := first.ask(t, http.MethodPost, fmt.Sprintf("/api/v1/jobs/%d/wish", id), wire.JobWish{Wish: wire.WishStop, Reason: "completed", For: 1}); code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	eventually(t, "the job is done", func() error {
		switch job := first.job(t, id); job.State {
		case catalog.JobDone:
			if job.Stats.StopReason != "unfinished" || job.WishReason != "completed" {
				t.Errorf("it ended as %s, to stop because of %q", job.Stats.StopReason, job.WishReason)
			}
			return nil
		case catalog.JobFailed:
			t.Fatalf("the job failed: %s", job.Why())
		}
		return errors.New("not yet")
	})
	ended := id
	id = crawl()
	running("the second job is shown", shown)
	eventually(t, "another node has the metadata file of the first job", func() error {
		if name := runner.MetadataName(first.job(t, ended)); !first.store.Has(name) {
			return fmt.Errorf("%s is not there", name)
		}
		return nil
	})
	last.halt(t)
	for path, want := range map[string]string{"log": "text/html", "log?match=html": "text/html", "documents": `"crawl.log"`,
		"documents/logs/crawl.log?match=html": "text/html", "documents/reports/seeds-report.txt": site.URL,
		"documents/settings/attempt.json": "attempt", "crawl/search?pattern=html": "text/html",
		"crawl/report?name=seeds": site.URL, "crawl/events": "number"} {
		path = fmt.Sprintf("/api/v1/jobs/%d/%s", ended, path)
		if code, text := first.ask(t, http.MethodGet, path, nil); code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s, when its node has gone: %d %s", path, code, text)
		}
	}
	running("the node is named", func(all wire.RunningJobs) bool {
		return len(all.Silent) == 1 && all.Silent[0].Name == last.cfg.Name && all.Silent[0].Reason != "" && len(all.Jobs) == 1 &&
			all.Jobs[0].ID == id && all.Jobs[0].NodeName == last.cfg.Name && all.Jobs[0].Progress == nil
	})
}
