package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/jobs"
	"holdfast/crawler"
	"holdfast/harvest"
	"holdfast/internal/disk"
	"holdfast/internal/kv/memory"
)

// told is an agreed state with one job of many configurations, and what was proposed about it.
type told struct {
	memory.Tx
	job    catalog.Job
	chunks []jobs.JobStatistics
	refuse bool
}

func (a *told) View(look func(catalog.View) error) error { return look(catalog.NewView(&a.Tx)) }
func (*told) Linear(context.Context) error               { return nil }
func (*told) Propose(context.Context, catalog.Kind, any, string) (catalog.Result, error) {
	return catalog.Result{}, errors.New("nobody proposes")
}

func (a *told) insist(_ context.Context, kind catalog.Kind, body any) (*catalog.Refusal, error) {
	if a.refuse || kind != jobs.AddStatistics {
		return &catalog.Refusal{Code: catalog.Conflict, Message: "no"}, nil
	}
	a.chunks = append(a.chunks, body.(jobs.JobStatistics))
	return nil, nil
}

// telling is a runner with a job of n configurations, of which every other has limits of its own, and its folder.
func telling(t *testing.T, n int) (*Runner, *told, *Attempt) {
	t.Helper()
	a := &told{job: catalog.Job{ID: 7, Attempt: 2, Parts: &jobs.Parts{Of: 7, Configurations: n}}}
	report := "[#objects] [#bytes] [domain] [configuration] [stop-reason]\n"
	for from := 0; from < n; from += jobs.MaxPartItems {
		var all []harvest.Configuration
		for i := from; i < min(n, from+jobs.MaxPartItems); i++ {
			c := harvest.Configuration{Domain: fmt.Sprintf("d%05d.org", i), Name: "x"}
			if i%2 == 0 {
				c.Objects, c.Bytes = harvest.AtMost(int64(i)), harvest.AtMost(0)
			}
			all = append(all, c)
			report += fmt.Sprintf("%d 10 %s x completed\n", i, c.Domain)
		}
		text, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		a.job.Parts.Count++
		head := fmt.Sprintf("\x01{\"kind\":\"configurations\",\"items\":%d}\n", len(all))
		key := fmt.Sprintf("jobpart/%016x/%08x", a.job.ID, a.job.Parts.Count)
		if err := a.Set([]byte(key), append([]byte(head), text...)); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "reports"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := []byte(report + "3 30 - - -\n")
	if err := os.WriteFile(filepath.Join(dir, "reports", "configurations-report.txt"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	c := New(Config{Self: "self", Data: t.TempDir(), Disk: disk.New(), Log: slog.New(slog.DiscardHandler), Agreement: a,
		Insist: a.insist})
	return c, a, &Attempt{Job: a.job, Dir: dir}
}

// TestStatisticsAreToldInChunks, each configuration with its limits, and the job's totals are their sum.
func TestStatisticsAreToldInChunks(t *testing.T) {
	t.Parallel()
	for n, sizes := range map[int]string{1: "2", 299: "300", 300: "300 1", 700: "300 300 101"} {
		c, a, r := telling(t, n)
		end := catalog.JobEnd{}
		if err := c.tell(t.Context(), r, &end, c.log); err != nil {
			t.Fatal(err)
		}
		var got []string
		var objects int64
		seen := 0
		for i, b := range a.chunks {
			got = append(got, fmt.Sprint(len(b.Statistics)))
			if b.ID != 7 || b.Attempt != 2 || b.Node != "self" || b.Number != i+1 || b.Last != (i == len(a.chunks)-1) {
				t.Errorf("%d configurations: chunk %+v", n, b)
			}
			for _, s := range b.Statistics {
				objects += s.Objects
				limited := s.MaxObjects != nil && *s.MaxObjects == int64(seen) && s.MaxBytes != nil && *s.MaxBytes == 0
				if limited != (seen%2 == 0 && s.Domain != "") || s.Domain == "" && seen != n {
					t.Errorf("%d configurations: number %d is %+v", n, seen, s)
				}
				seen++
			}
		}
		if strings.Join(got, " ") != sizes || seen != n+1 {
			t.Errorf("%d configurations come in chunks of %v", n, got)
		}
		if end.Statistics != len(a.chunks) || end.Stats.Objects != objects || end.Stats.Bytes != int64(10*n+30) ||
			objects != int64(n*(n-1)/2+3) {
			t.Errorf("%d configurations: %+v", n, end)
		}
	}
}

// TestAJobEndsWithoutStatisticsThatCannotBeTold.
func TestAJobEndsWithoutStatisticsThatCannotBeTold(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*told, string) error{
		"refused":    func(a *told, _ string) error { a.refuse = true; return nil },
		"no report":  func(_ *told, report string) error { return os.Remove(report) },
		"a torn one": func(_ *told, report string) error { return os.Truncate(report, 100) },
	} {
		c, a, r := telling(t, 400)
		err := spoil(a, filepath.Join(r.Dir, "reports", "configurations-report.txt"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		end := catalog.JobEnd{Stats: catalog.JobStats{Objects: 5}}
		if err := c.tell(t.Context(), r, &end, c.log); err != nil || end.Statistics != 0 || end.Stats.Objects != 5 {
			t.Errorf("%s: %+v, %v", name, end, err)
		}
	}
	c, a, r := telling(t, 0)
	end := catalog.JobEnd{}
	if err := c.tell(t.Context(), r, &end, c.log); err != nil || end.Statistics != 0 || len(a.chunks) > 0 {
		t.Errorf("a job without configurations: %+v, %v", end, err)
	}
}

// TestWhatAJobCountsGoesByTheLevel: below level 4 its totals are what they were.
func TestWhatAJobCountsGoesByTheLevel(t *testing.T) {
	t.Parallel()
	s := crawler.Summary{Documents: crawler.Documents{Objects: 4, Bytes: 400}}
	s.Counters.Succeeded, s.Counters.Bytes, s.Counters.Failed = 6, 600, 1
	for level, want := range map[int]catalog.JobStats{
		jobs.LevelOfParts - 1: {Objects: 6, Bytes: 600, Failed: 1, StopReason: "unfinished"},
		jobs.LevelOfParts:     {Objects: 4, Bytes: 400, Failed: 1, StopReason: "unfinished"},
	} {
		if got := statsOf(s, level); got != want {
			t.Errorf("level %d: %+v, want %+v", level, got, want)
		}
	}
}
