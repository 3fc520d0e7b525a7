//go:build slow

package node

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	defined "holdfast/catalog/harvests"
	"holdfast/catalog/runs"
)

// TestAHarvestBecomesFiles defines a harvest of a site. Without another word a job is made, crawled and documented, and
// what it brought is in the history.
func TestAHarvestBecomesFiles(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<html>welcome</html>")
	}))
	t.Cleanup(site.Close)
	n := startNodes(t, threeConfigs(t, "")[:1])[0]
	defineSite(t, n, site.URL+"/", "")
	harvestDone(t, n, 1)
	err := n.raft.View(func(v catalog.View) error {
		r, err := catalog.RunsIn(v).Run(1, 1)
		if err != nil || r.State != runs.Made || r.Configurations != 1 {
			t.Errorf("the run is %+v", r)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	eventually(t, "the history has what it brought", func() error {
		return n.raft.View(func(v catalog.View) error {
			best, err := catalog.HistoryIn(v).Best("a.org", "quick")
			if err == nil && (best.Objects != 1 || !best.Completed) {
				err = fmt.Errorf("it is %+v", best)
			}
			return err
		})
	})
	documents := map[string][]string{
		"-metadata-": {"/crawl/setup/harvest.json?", "/crawl/setup/schedule.json?", `"name":"a site"`, "harvestid=1"},
		"-1-":        {"harvestInfo.scheduleName: daily\r\n", "harvestInfo.templateName: fast\r\n", "harvestInfo.audience: readers\r\n"},
	}
	err = filepath.WalkDir(n.cfg.Data, func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".warc.gz") {
			return ignoreGone(err)
		}
		zipped, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(zipped, []byte{0x1f, 0x8b}) { // digests of its blocks have its name, too
			return ignoreGone(err)
		}
		unzipped, err := gzip.NewReader(bytes.NewReader(zipped))
		if err != nil {
			return err
		}
		text, err := io.ReadAll(unzipped)
		for kind, want := range documents {
			if !strings.Contains(filepath.Base(path), kind) {
				continue
			}
			for _, w := range want {
				if !bytes.Contains(text, []byte(w)) {
					t.Errorf("%s does not say %q", path, w)
				}
			}
			delete(documents, kind)
		}
		return err
	})
	if err != nil || len(documents) > 0 {
		t.Errorf("no file of %v, %v", documents, err)
	}
}

// decided proposes a command until it is decided.
func decided(t *testing.T, n running, kind catalog.Kind, body any) {
	t.Helper()
	eventually(t, string(kind), func() error {
		r, err := n.raft.Propose(t.Context(), kind, body, string(n.id))
		if err == nil && r.Refusal != nil {
			err = r.Refusal
		}
		return err
	})
}

// defineSite defines and activates a harvest, number 1, of one site, with more settings in its template.
func defineSite(t *testing.T, n running, seed, more string) {
	t.Helper()
	defineConfiguration(t, n, seed, more)
	defineHarvest(t, n, runs.Asked{Name: "a site", Schedule: "daily", Audience: "readers"}, 1, time.Now())
}

// defineConfiguration defines the configuration quick of a domain a.org, with more settings in its template.
func defineConfiguration(t *testing.T, n running, seed, more string) {
	t.Helper()
	decide := func(kind catalog.Kind, body any) { t.Helper(); decided(t, n, kind, body) }
	decide(defined.CreateTemplate, defined.Creation{Name: "fast", Text: `{"operator_contact":"web@example.org",` +
		`"allow_private":true,"min_delay":"0s","delay_factor":0,"robots":"ignore"` + more + `}`})
	seeds := seed + " # the test's\n"
	decide(domains.Create, domains.Creation{Name: "a.org", Collection: "web"})
	decide(domains.SetList, domains.Listing{Domain: "a.org", Kind: domains.Seeds, Name: "site", Text: seeds, Items: 1,
		Sum: domains.SumOf(domains.Divide(seeds))})
	decide(domains.SetConfiguration, domains.Configuring{Domain: "a.org", Name: "quick", Template: "fast",
		Lists: []string{"site"}, Objects: new(int64(100))})
}

// defineHarvest defines a harvest of that configuration, which gets the number, and activates it.
func defineHarvest(t *testing.T, n running, asked runs.Asked, number uint64, next time.Time) {
	t.Helper()
	decide := func(kind catalog.Kind, body any) { t.Helper(); decided(t, n, kind, body) }
	decide(runs.Create, runs.Creation{Kind: runs.Selective, Collection: "web", Asked: asked})
	decide(runs.AddConfigurations, runs.Listing{Number: number,
		Configurations: []runs.Configuration{{Domain: "a.org", Name: "quick"}}})
	decide(runs.Activate, runs.Activation{Number: number, Version: 2, Next: onTheMinute(next)})
}

// onTheMinute is the beginning of a minute: dates of schedules are whole minutes, and a harvest whose first date was some
// seconds before one would run again then.
func onTheMinute(at time.Time) catalog.Time { return catalog.At(at.Truncate(time.Minute)) }

// harvestDone waits until the first job of a run of harvest 1 is done.
func harvestDone(t *testing.T, n running, run uint64) {
	t.Helper()
	eventually(t, "the job is done", func() error {
		return n.raft.View(func(v catalog.View) error {
			all, err := v.JobsOfRun(1, run, 0, 1)
			if err != nil || len(all) == 0 {
				return errors.Join(err, errors.New("no job yet"))
			}
			if all[0].State == catalog.JobFailed {
				t.Fatalf("the job failed: %s", all[0].Why())
			}
			if all[0].State != catalog.JobDone {
				return fmt.Errorf("it is %s", all[0].State)
			}
			return nil
		})
	})
}

// tellJobs says which jobs there are, and of which runs.
func tellJobs(t *testing.T, n running) {
	t.Helper()
	err := n.raft.View(func(v catalog.View) error {
		for id := uint64(1); ; id++ {
			job, err := v.Job(id)
			if errors.Is(err, catalog.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			t.Logf("job %d of run %d: %s, attempt %d, submitted %v, started %v, ended %v", id, job.Run, job.State, job.Attempt,
				job.Submitted.Std(), job.Started.Std(), job.Ended.Std())
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// textsOf are the decompressed WARC files whose names begin so.
func textsOf(t *testing.T, n running, prefix string) (text []byte) {
	t.Helper()
	seen := map[string]bool{} // a file has several names for a while
	err := filepath.WalkDir(n.cfg.Data, func(path string, d os.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || !strings.HasSuffix(name, ".warc.gz") || !strings.HasPrefix(name, prefix) || seen[name] {
			return ignoreGone(err)
		}
		zipped, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(zipped, []byte{0x1f, 0x8b}) {
			return ignoreGone(err)
		}
		unzipped, err := gzip.NewReader(bytes.NewReader(zipped))
		if err != nil {
			return err
		}
		one, err := io.ReadAll(unzipped)
		text, seen[name] = append(text, one...), true
		return err
	})
	if err != nil || len(text) == 0 {
		t.Fatalf("no file %s…: %v", prefix, err)
	}
	return text
}

// TestTheSecondRunStoresNoPictureAgain runs a harvest twice: what has not changed is a revisit of what the first run
// stored, found in the list of its documents, and the third run finds the original through the second.
func TestTheSecondRunStoresNoPictureAgain(t *testing.T) {
	t.Parallel()
	const picture = "the bytes of a picture"
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			_, _ = fmt.Fprintf(w, "<html><img src=/a.png>%d</html>", time.Now().UnixNano())
			return
		}
		w.Header().Set("Content-Type", "image/png")
		_, _ = io.WriteString(w, picture)
	}))
	t.Cleanup(site.Close)
	n := startNodes(t, threeConfigs(t, "")[:1])[0]
	defineSite(t, n, site.URL+"/", `,"deduplicate":"url","max_hops":1`)
	harvestDone(t, n, 1)
	first := textsOf(t, n, "1-1-")
	if bytes.Count(first, []byte(picture)) != 1 || bytes.Contains(first, []byte("WARC-Type: revisit")) {
		t.Fatalf("the first run stores %s", first)
	}
	for run := uint64(2); run <= 3; run++ {
		decided(t, n, runs.Deactivate, runs.Ref{Number: 1})
		var h runs.Harvest
		if err := n.raft.View(func(v catalog.View) (err error) { h, err = catalog.RunsIn(v).Harvest(1); return err }); err != nil {
			t.Fatal(err)
		}
		decided(t, n, runs.Activate, runs.Activation{Number: 1, Version: h.Version, Next: onTheMinute(time.Now())})
		harvestDone(t, n, run)
		text := textsOf(t, n, fmt.Sprint(run, "-1-"))
		if bytes.Contains(text, []byte(picture)) || bytes.Count(text, []byte("WARC-Type: revisit")) != 1 ||
			!bytes.Contains(text, []byte(`duplicate:"1-1-`)) {
			t.Errorf("run %d stores %s", run, text)
		}
		about := textsOf(t, n, fmt.Sprint(run, "-metadata-"))
		_, record, _ := bytes.Cut(about, []byte("/crawl/setup/duplicatereductionjobs?"))
		_, block, _ := bytes.Cut(record, []byte("\r\n\r\n"))
		if want := fmt.Sprint(run-1, "\r\n\r\nWARC"); !bytes.HasPrefix(block, []byte(want)) {
			t.Errorf("run %d continues %.20q, want %q", run, block, want)
			tellJobs(t, n)
		}
	}
	checkIndexes(t, n, site.URL+"/a.png")
	checkRecords(t, n, site.URL+"/a.png")
}
