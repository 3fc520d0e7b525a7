//go:build slow

package node

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/harvest"
)

// A crawl logs in with a password that was sealed; no file of the archive, no document of the job and no answer has it, and when
// the job is done, neither has the catalog, sealed or not.
func TestACrawlUsesASealedPassword(t *testing.T) {
	t.Parallel()
	var inside atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user == "anna" && password == marker {
			inside.Add(1)
			_, _ = io.WriteString(w, "<html>welcome</html>")
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
	}))
	t.Cleanup(site.Close)
	n := startNodes(t, threeConfigs(t, "")[:1])[0]
	job := harvest.Job{Name: "j", Seeds: []string{site.URL + "/"}, Settings: harvest.DefaultSettings()}
	job.Settings.Credentials = []harvest.Credential{{Domain: "127.0.0.1", Kind: "basic", Realm: "r", User: "anna", Password: marker}}
	job.Settings.AllowPrivate, job.Settings.MinDelay, job.Settings.DelayFactor, job.Settings.Robots = true, 0, 0, "ignore"
	request := wire.JobRequest{Name: job.Name, Seeds: job.Seeds, Settings: &wire.Settings{Settings: job.Settings}}
	eventually(t, "create the job", func() error {
		if code, text := n.ask(t, http.MethodPost, "/api/v1/jobs", request); code != http.StatusCreated {
			return fmt.Errorf("%d %s", code, text)
		}
		return nil
	})
	eventually(t, "the job is done", func() error {
		switch job := n.job(t, 1); job.State {
		case catalog.JobDone:
			return nil
		case catalog.JobFailed:
			t.Fatalf("the job failed: %s", job.Reason)
		}
		return errors.New("not yet")
	})
	if inside.Load() == 0 {
		t.Error("the crawl did not log in")
	}
	if _, text := n.ask(t, http.MethodGet, "/api/v1/jobs/1", nil); strings.Contains(text, marker) || !strings.Contains(text, harvest.Redaction) {
		t.Errorf("the API shows %s", text)
	}
	documents := 0
	err := filepath.WalkDir(n.cfg.Data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "/state/") { // what the crawl itself needs, until it is tidied up
			return ignoreGone(err)
		}
		text, err := os.ReadFile(path)
		if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
			unzipped, bad := gzip.NewReader(bytes.NewReader(text))
			if bad != nil {
				return bad
			}
			if text, bad = io.ReadAll(unzipped); bad != nil {
				return bad
			}
			if strings.Contains(path, "metadata") && bytes.Contains(text, []byte(harvest.Redaction)) {
				documents++
			}
			checkProvenance(t, path, string(text))
		}
		if bytes.Contains(text, []byte(marker)) {
			t.Errorf("%s holds the password", path)
		}
		return ignoreGone(err)
	})
	if err != nil {
		t.Fatal(err)
	}
	if documents == 0 {
		t.Error("no metadata file with redacted settings: this test looks at the wrong thing")
	}
	err = n.raft.View(func(v catalog.View) error {
		left, err := v.Secrets("", 0)
		if len(left) > 0 || n.job(t, 1).Secret != "" {
			t.Errorf("the catalog keeps the secret of a job that is done: %v", left)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// checkProvenance looks for what each file of job 1 says of the job.
func checkProvenance(t *testing.T, path, text string) {
	t.Helper()
	name, want := filepath.Base(path), []string(nil)
	switch {
	case strings.HasPrefix(name, "1-metadata-"):
		want = []string{"/crawl/setup/template.json?", "/crawl/logs/holdfast.out?", "/crawl/reports/archivefiles-report.txt?",
			"/crawl/index/cdx?majorversion=2&minorversion=0&harvestid=0&jobid=1&filename=1-0-"}
	case strings.HasPrefix(name, "1-0-"):
		want = []string{"harvestInfo.jobId: 1\r\n", "harvestInfo.origHarvestDefinitionName: j\r\n", "ip: 127.0.0.1\r\n"}
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s does not say %q", path, w)
		}
	}
}
