package crawler

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/harvest"
	"holdfast/harvest/act"
)

// domainLines are the lines of the domains report but the first, each with the bytes left out.
func domainLines(t *testing.T, dir string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "reports", "domains-report.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		c := strings.Fields(line)
		lines = append(lines, c[0]+" "+c[2]+" "+c[3])
	}
	return lines[1:]
}

// A crawl tells what it fetched of each domain, by the same count as its limits, and which limit stopped it: in its
// report, and to whoever asks, also when it is opened again. A domain whose limit was raised is stopped no more.
func TestDomains(t *testing.T) {
	t.Parallel()
	s := pages(t, 10, hello)
	named := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	job := newJob(s.URL+"/", named+"/")
	job.Settings.Workers = 1
	job.Settings.HarvestDomainBytes = 1100
	job.Settings.Sheets = []harvest.Sheet{{Name: "named", Regex: "^http://localhost", Settings: patch("max_domain_objects", 4, "harvest_domain_bytes", 0)}}
	dir := t.TempDir()
	run(t, dir, job)
	n := 0
	for _, line := range logLines(t, dir) {
		if strings.HasPrefix(line[3], s.URL) && line[1] == "200" && !strings.HasSuffix(line[3], "/robots.txt") {
			n++
		}
	}
	if got := strings.Join(domainLines(t, dir), ", "); got != fmt.Sprintf("%d 127.0.0.1 harvest-size, 4 localhost config-object", n) || n < 3 || n > 9 {
		t.Errorf("%s, %d fetched of the first", got, n)
	}

	job.Settings.Sheets[0].Settings = patch("max_domain_objects", 6, "harvest_domain_bytes", 0)
	job.Seeds = append(job.Seeds, named+"/more")
	l := startPaused(t, Config{Dir: dir, Job: job})
	ask := func(o act.Domains) (names []string, next string) {
		r := l.obey(o)
		for _, d := range r.Domains {
			if d.Bytes < 100*d.Objects {
				t.Errorf("%+v", d)
			}
			names = append(names, fmt.Sprint(d.Domain, " ", d.Objects, " ", d.Stopped))
		}
		return names, r.Next
	}
	first := fmt.Sprintf("127.0.0.1 %d harvest-size", n)
	if got, next := ask(act.Domains{Limit: 1}); len(got) != 1 || got[0] != first || next != "127.0.0.1" {
		t.Errorf("the first page is %q, then %q", got, next)
	}
	if got, next := ask(act.Domains{After: "127.0.0.1"}); len(got) != 1 || got[0] != "localhost 4 config-object" || next != "" {
		t.Errorf("the second is %q, then %q", got, next)
	}
	if got, _ := ask(act.Domains{Pattern: "^local"}); len(got) != 1 {
		t.Errorf("by name: %q", got)
	}
	l.obey(act.Resume{})
	l.end()
	if got := domainLines(t, dir); len(got) != 2 || got[1] != "5 localhost -" {
		t.Errorf("with a higher limit: %q", got)
	}
	l = startPaused(t, Config{Dir: dir, Job: job})
	if got, _ := ask(act.Domains{State: harvest.DomainsStopped}); len(got) != 1 || got[0] != first {
		t.Errorf("stopped: %q", got)
	}
	if _, err := l.Obey(t.Context(), act.Order{Act: act.Domains{State: "ready"}}); err == nil {
		t.Error("a state that domains do not have is accepted")
	}
	l.obey(act.Stop{})
	l.end()
}
