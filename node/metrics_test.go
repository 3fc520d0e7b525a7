//go:build slow

package node

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/harvest"
	"holdfast/node/config"
)

// scrape asks the node's API port for its metrics, with an access token if it is not empty.
func (r running) scrape(t *testing.T, token string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.cfg.Listen.API+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// seriesOf returns the values of the series of an answer but those of alerts, which come and go.
func seriesOf(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if i := strings.LastIndexByte(line, ' '); i > 0 && line[0] != '#' && !strings.HasPrefix(line, "holdfast_alerts{") {
			out[line[:i]] = strings.TrimSpace(line[i:])
		}
	}
	return out
}

// TestMetrics scrapes a node that is empty, and again when it has crawled and its catalog has many jobs and files: the figures are right,
// the series are the same, and none names what people keep. Nobody gets them without a token that the API takes.
func TestMetrics(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a page") }))
	t.Cleanup(site.Close)
	cfg, err := config.Single(t.TempDir(), config.Listen{Peer: "127.0.0.1:0", API: "127.0.0.1:0", Access: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Init(t.Context(), cfg, slogOf(t)); err != nil {
		t.Fatal(err)
	}
	n := start(t, cfg)
	kept, err := os.ReadFile(n.cfg.TokenPath())
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(kept))
	for _, bad := range []string{"", "holdfast-local-" + strings.Repeat("a", 32), strings.ToUpper(token)} {
		if code, text := n.scrape(t, bad); code != http.StatusUnauthorized || strings.Contains(text, "holdfast_") || !strings.Contains(text, "access token") {
			t.Errorf("with the token %q: %d %.200s", bad, code, text)
		}
	}
	// shows waits until the figures are as wanted, and returns all of them.
	shows := func(what string, want map[string]string) (found map[string]string) {
		t.Helper()
		eventually(t, what, func() error {
			code, text := n.scrape(t, token)
			if found = seriesOf(text); code != http.StatusOK {
				return fmt.Errorf("%d %s", code, text)
			}
			for series, value := range want {
				if found[series] != value {
					return fmt.Errorf("%s is %q, want %s", series, found[series], value)
				}
			}
			for series, value := range found {
				if strings.HasPrefix(series, "holdfast_scrape_part_success") && value != "1" {
					return fmt.Errorf("%s is %s", series, value)
				}
			}
			return nil
		})
		return found
	}
	replica := cfg.Replica.Name
	empty := shows("the empty node's figures", map[string]string{
		"holdfast_raft_quorum": "1", `holdfast_raft_role{role="leader"}`: "1", `holdfast_raft_role{role="follower"}`: "0",
		`holdfast_cluster_members{state="alive"}`: "1", "holdfast_cluster_level": fmt.Sprint(catalog.Level), "holdfast_clock_skew_seconds": "0",
		`holdfast_jobs{state="DONE"}`: "0", fmt.Sprintf(`holdfast_replica_files{replica=%q}`, replica): "0",
		"holdfast_crawl_bytes_total": "0", "holdfast_outbox_files": "0", "holdfast_index_waiting_files": "0", "holdfast_node_ready": "1",
	})
	for _, root := range n.cfg.Files {
		if free := empty[fmt.Sprintf("holdfast_disk_free_bytes{root=%q}", root)]; free == "" || free == "0" {
			t.Errorf("%q bytes are free on %s", free, root)
		}
	}

	settings := harvest.DefaultSettings()
	settings.AllowPrivate, settings.MinDelay, settings.DelayFactor, settings.Robots = true, 0, 0, "ignore"
	const jobs, files = 3, 100
	for i := range jobs {
		eventually(t, "create a job", func() error {
			request := wire.JobRequest{Name: fmt.Sprintf("named-%d", i), Seeds: []string{fmt.Sprintf("%s/%d", site.URL, i)}, Settings: &wire.Settings{Settings: settings}}
			if code, text := n.ask(t, http.MethodPost, "/api/v1/jobs", request); code != http.StatusCreated {
				return fmt.Errorf("%d %s", code, text)
			}
			return nil
		})
	}
	crawled := shows("the crawls' figures", map[string]string{
		`holdfast_jobs{state="DONE"}`: fmt.Sprint(jobs), `holdfast_crawl_uris_total{outcome="failed"}`: "0", "holdfast_crawls_running": "0", "holdfast_outbox_files": "0"})
	done, err := strconv.Atoi(crawled[`holdfast_crawl_uris_total{outcome="succeeded"}`])
	if err != nil || done < jobs || crawled["holdfast_crawl_bytes_total"] == "0" {
		t.Errorf("%d URIs, %s bytes, %v", done, crawled["holdfast_crawl_bytes_total"], err)
	}
	before := n.held(t, replica)
	additions := catalog.Additions{}
	for i := range files {
		additions.Files = append(additions.Files, catalog.Addition{Name: catalog.FileName(fmt.Sprintf("named-%d.warc", i)), Size: 5,
			SHA256: catalog.Digest{1, byte(i), byte(i >> 8)}, Collection: "web", Source: n.id})
	}
	eventually(t, "files enter whose bytes are nowhere", func() error {
		result, err := n.raft.Propose(t.Context(), catalog.AddFiles, additions, string(n.id))
		if err == nil && result.Refusal != nil {
			err = result.Refusal
		}
		return err
	})
	full := shows("the full node's figures", map[string]string{
		fmt.Sprintf(`holdfast_replica_files{replica=%q}`, replica):               fmt.Sprint(before + files),
		fmt.Sprintf(`holdfast_replica_copies{replica=%q,state="owed"}`, replica): fmt.Sprint(files),
	})
	delete(empty, "holdfast_raft_log_bytes") // not known before entries were written
	delete(full, "holdfast_raft_log_bytes")
	for series := range full {
		if _, known := empty[series]; !known {
			t.Errorf("%s is new", series)
		}
		if regexp.MustCompile(`named-|warc|http:|127\.0`).MatchString(series) {
			t.Errorf("%s names what people keep", series)
		}
	}
	if len(full) != len(empty) {
		t.Errorf("%d series, and %d when the archive was empty", len(full), len(empty))
	}

	// A disk that has gone away is no empty disk, and no full one. All else stays.
	root := n.cfg.Files[0]
	if err := os.Rename(root, root+".away"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Rename(root+".away", root) })
	eventually(t, "the disk's figures are absent", func() error {
		_, text := n.scrape(t, token)
		found := seriesOf(text)
		for _, name := range []string{"free", "size", "reserve"} {
			if free := found[fmt.Sprintf("holdfast_disk_%s_bytes{root=%q}", name, root)]; free != "" {
				return fmt.Errorf("%s: %s bytes", name, free)
			}
		}
		if found[fmt.Sprintf("holdfast_scrape_part_success{part=%q}", "disk "+root)] != "0" || found["holdfast_raft_quorum"] != "1" {
			return fmt.Errorf("%v", found)
		}
		if !strings.Contains(text, `holdfast_alerts{kind="folder-gone",severity="bad"} 1`) {
			return errors.New("no alert is shown")
		}
		return nil
	})
}

// held returns how many files the replica is meant to hold.
func (r running) held(t *testing.T, replica string) (files int64) {
	t.Helper()
	err := r.raft.View(func(v catalog.View) error {
		totals, err := v.Totals(catalog.ReplicaName(replica))
		files = totals.Files
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
