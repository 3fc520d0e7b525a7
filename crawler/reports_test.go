package crawler

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/harvest/act"
)

// The reports' figures: hosts without their ports and with a line for look-ups, what a queue's URIs came to, what was
// thrown away, how deep queues are.
func TestFiguresOfReports(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, port, _ := strings.Cut(s.host(), ":")
	root := "http://q.test:" + port
	links := "<a href=http://127.0.0.1:1/>down</a> <a href=/private>no</a> <a href=/a.pdf>a</a> <a href=/b.pdf>b</a>"
	for i := range 20 {
		links += fmt.Sprintf(" <a href=/p/%d>x</a>", i)
	}
	s.html("/{$}", links)
	s.file("/robots.txt", "text/plain", "User-agent: *\nDisallow: /private\n")
	s.file("/a.pdf", "application/pdf", "%PDF-1.4 aaa")
	s.file("/b.pdf", "application/pdf", "%PDF-1.4 bbb")
	s.mux.HandleFunc("/p/", hello)
	job := newJob(root+"/", root+"/gone", s.URL+"/p/x")
	set := &job.Settings
	set.OperatorContact, set.Nameserver = "https://library.example/", names(t, "127.0.0.1")
	set.DiscardTypes, set.Scope, set.MaxHops, set.Workers, set.MaxRetries = []string{"application/pdf"}, "any", 1, 1, 2
	set.TotalBudget = 12
	dir := t.TempDir()
	sum := run(t, dir, job)
	if sum.Counters.Queued == 0 {
		t.Fatalf("no queue was retired: %+v", sum)
	}
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, wants := range map[string][]string{
		"reports/hosts-report.txt":  {`(?m)^1[0-9] \d+ q\.test \d+ [1-9]\d* \d+ `, `(?m)^1 \d+ dns: 0 0 1 \d+ 0 0 0 0 $`, `(?m)^2 \d+ 127\.0\.0\.1 `},
		"reports/source-report.txt": {`(?m) q\.test \d+$`, `(?m) dns: 1$`},
		"reports/crawl-report.txt":  {`(?m)^hosts visited: 2$`, `(?m)^documents discarded: 2 `},
		"reports/frontier-summary-report.txt": {`(?s)-----===== RETIRED QUEUES =====-----\nRETIRED#0:\nQueue q\.test:\d+ \(p3\)`,
			`\n   \d+ 1[0-9] 0 [01] 1[0-9] [01] \d{3,} \d{3,} 0 ` + time.Now().UTC().Format("2006-01-02T"), `(?s)LONGEST QUEUES =====-----\nLONGEST#0:\nQueue q\.test`},
	} {
		text := read(name)
		for _, want := range wants {
			if !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("%s has no %s:\n%s", name, want, text)
			}
		}
		if strings.Contains(text, "more RETIRED") || strings.Contains(text, "q.test:"+port) && !strings.Contains(name, "frontier") && !strings.Contains(text, root) {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	hosts := read("reports/hosts-report.txt")
	line := regexp.MustCompile(`(?m)^(\d+) \d+ q\.test \d+ \d+ (\d+) `).FindStringSubmatch(hosts)
	var fetched, novel int
	if line != nil {
		fmt.Sscan(line[1], &fetched)
		fmt.Sscan(line[2], &novel)
	}
	if fetched-novel != 2 {
		t.Errorf("%d fetched, %d new, of which two were not kept:\n%s", fetched, novel, hosts)
	}
	progress := slices.DeleteFunc(strings.Split(strings.TrimSpace(read("logs/progress-statistics.log")), "\n"), func(line string) bool {
		return strings.Contains(line, " CRAWL ")
	})
	last := strings.Fields(progress[len(progress)-1])
	if deepest := last[len(last)-2]; deepest != fmt.Sprint(sum.Counters.Queued) {
		t.Errorf("deepest queue %s, want %d:\n%s", deepest, sum.Counters.Queued, strings.Join(progress, "\n"))
	}

	l := startPaused(t, Config{Dir: dir, Job: job})
	until(t, "the longest queue of the run before is known", func() bool { return l.frontier.Summary().Longest == sum.Counters.Queued })
	l.obey(act.Resume{})
	l.end()
}
