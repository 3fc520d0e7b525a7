package crawler

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/crawler/events"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// happened are the kinds of the events after a number, from page to page until there are no more.
func happened(t *testing.T, after string, limit int, ask func(act.Order) (harvest.Reply, error)) (all []events.Event, ended bool) {
	t.Helper()
	for {
		r, err := ask(act.Order{Act: act.Events{After: after, Limit: limit}})
		if err != nil || r.Missed {
			t.Fatalf("after %s: missed %v, %v", after, r.Missed, err)
		}
		for _, raw := range r.Events {
			var e events.Event
			if err := json.Unmarshal(raw, &e); err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
		if after = r.Next; len(r.Events) < limit {
			return all, r.Ended
		}
	}
}

// What happened is told from its beginning to its end, though it is more than what is held in memory, while the crawl
// runs and afterwards.
func TestAllEventsAreTold(t *testing.T) {
	t.Parallel()
	s := pages(t, 2, hello)
	dir := t.TempDir()
	l := startPaused(t, Config{Dir: dir, Job: newJob(s.URL + "/")})
	const many = 4500
	for i := range many {
		l.events.Publish(events.Event{Kind: events.Alert, Reason: fmt.Sprint(i)})
	}
	check := func(when string, ask func(act.Order) (harvest.Reply, error), wantEnded bool) {
		t.Helper()
		for _, limit := range []int{700, 10_000} {
			all, ended := happened(t, "1", limit, ask)
			n := 0
			for _, e := range all {
				if e.Kind == events.Alert {
					if e.Reason != fmt.Sprint(n) {
						t.Fatalf("%s, by %d: after alert %d comes %s", when, limit, n, e.Reason)
					}
					n++
				}
			}
			if n != many || ended != wantEnded {
				t.Errorf("%s, by %d: %d alerts of %d, ended %v", when, limit, n, many, ended)
			}
			if wantEnded {
				var last []events.Kind
				for _, e := range all[len(all)-2:] {
					last = append(last, e.Kind)
				}
				if !slices.Equal(last, []events.Kind{events.FileFinished, events.Finished}) || all[len(all)-1].Reason != "completed" {
					t.Errorf("%s: the last are %v", when, last)
				}
			}
		}
	}
	obey := func(o act.Order) (harvest.Reply, error) { return l.Obey(t.Context(), o) }
	past := func(o act.Order) (harvest.Reply, error) { return Past(t.Context(), dir, o) }
	check("while it runs", obey, false)
	l.obey(act.Resume{})
	l.end()
	check("after its end", obey, true)
	check("from its folder", past, true)

	l = startPaused(t, Config{Dir: dir, Job: newJob(s.URL + "/")})
	if all, _ := happened(t, "", 10_000, obey); all[0].Kind != events.Started && all[0].Kind != events.Paused {
		t.Errorf("a second run begins with %+v", all[0])
	} else if n := len(all); n < many {
		t.Errorf("a second run tells %d events", n)
	}
	l.obey(act.Resume{})
	l.end()

	text, err := os.ReadFile(filepath.Join(dir, "logs", "job.log"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if err := os.WriteFile(filepath.Join(dir, "logs", "job.log"), []byte(strings.Join(lines[3000:], "")), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := past(act.Order{Act: act.Events{After: "1"}}); err != nil || !r.Missed || len(r.Events) != 100 {
		t.Errorf("of a log without its beginning: %d events, missed %v, %v", len(r.Events), r.Missed, err)
	}
	if _, err := Past(t.Context(), t.TempDir(), act.Order{Act: act.Events{}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder of no crawl: %v", err)
	}
	if _, err := past(act.Order{Act: act.Pause{}}); !errors.Is(err, harvest.ErrInvalid) {
		t.Errorf("an ended crawl pauses: %v", err)
	}
}

// Every report can be had while the crawl runs, page by page, and as it was at the end.
func TestReportsWhileItRuns(t *testing.T) {
	t.Parallel()
	s, gate := heldSite(t)
	dir := t.TempDir()
	job := heldJob(s.URL + "/")
	job.Settings.Workers = 1
	l := start(t, Config{Dir: dir, Job: job})
	until(t, "forty pages wait", func() bool { return len(l.queued("/p/")) == 40 })
	for name, want := range map[string]string{"crawl": "crawl status: Running - Active", "seeds": "200 CRAWLED " + s.URL + "/", "hosts": "127.0.0.1", "domains": "127.0.0.1",
		"source": "127.0.0.1 ", "mimetype": "text/html", "responsecode": "200", "processors": "Processor: fetch", "frontier-summary": "Last state: RUN",
		"frontier-nonempty": s.host(), "threads-report.txt": s.URL + "/p/0"} {
		r := l.obey(act.Report{Name: name})
		if text := strings.Join(r.Lines, "\n"); !strings.Contains(text, want) {
			t.Errorf("%s report has no %q:\n%s", name, want, text)
		}
	}
	all := l.obey(act.Report{Name: "crawl"}).Lines
	var paged []string
	for r, after := (harvest.Reply{Next: ""}), ""; ; after = r.Next {
		if r = l.obey(act.Report{Name: "crawl", After: after, Limit: 3}); len(r.Lines) > 3 {
			t.Fatalf("%d lines", len(r.Lines))
		}
		if paged = append(paged, r.Lines...); r.Next == "" {
			break
		}
	}
	if len(paged) != len(all) {
		t.Errorf("%d lines in pages, %d at once", len(paged), len(all))
	}
	if r := l.obey(act.Report{Name: "crawl", Pattern: "^hosts "}); !slices.Equal(r.Lines, []string{"hosts visited: 1"}) {
		t.Errorf("found %q", r.Lines)
	}
	if _, err := l.Obey(t.Context(), act.Order{Act: act.Report{Name: "../job"}}); !errors.Is(err, harvest.ErrInvalid) {
		t.Errorf("what is no report: %v", err)
	}
	close(gate)
	l.end()
	r, err := l.Obey(t.Context(), act.Order{Act: act.Report{Name: "crawl"}})
	if err != nil || !strings.Contains(strings.Join(r.Lines, "\n"), "crawl status: Finished") {
		t.Errorf("after the end: %v %v", r.Lines, err)
	}
}
