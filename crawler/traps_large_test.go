//go:build slow && !race

package crawler

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/harvest"
)

// Digitised newspapers and books, of which all pages are of one size, are crawled to their ends.
func TestDigitisedWorksAreCrawled(t *testing.T) {
	t.Parallel()
	const issues, leaves = 300, 1300
	day := func(i int) string { return time.Date(1895, 1, 1+i, 0, 0, 0, 0, time.UTC).Format("2006-01-02") }
	next := func(date string, n int) string {
		d, err := time.Parse("2006-01-02", strings.TrimSuffix(date, "/"))
		if err != nil {
			t.Error(err)
		}
		return d.AddDate(0, 0, n).Format("2006-01-02")
	}
	word := func(n int) string {
		return strings.NewReplacer("0", "a", "1", "b", "2", "c", "3", "d", "4", "e", "5", "f", "6", "g", "7", "h", "8", "i", "9", "j").Replace(fmt.Sprintf("%05d", n))
	}
	s := newSite(t)
	index := ""
	for i := range issues {
		index += fmt.Sprintf("<a href=/paper/%s/>%d</a>", day(i), i)
	}
	s.html("/{$}", index+"<a href=/daily/"+day(0)+">daily</a><a href=/view?id=7&amp;page=1>book</a><a href=/read?id=7&amp;page=1>another</a>")
	s.answering("/paper/", func(date string) string {
		return fmt.Sprintf("<title>Morning Post of %s</title><p>%s", date, strings.Repeat("a", 500))
	})
	s.answering("/daily/", func(date string) string {
		return fmt.Sprintf("<title>Daily News of %s</title><img src=/scan/%s.jpg><a href=/daily/%s>the day after</a>", date, date, next(date, 1))
	})
	s.file("/scan/", "image/jpeg", "picture")
	leaf := func(page string) func(string) string {
		return func(number string) string {
			n, err := strconv.Atoi(number)
			if err != nil || n > leaves {
				return "The end."
			}
			return fmt.Sprintf("<title>Page %05d</title>%s<a href=%d>before</a> <a href=%d>after</a>", n, strings.NewReplacer("$n", number, "$w", word(n)).Replace(page), n-1, n+1)
		}
	}
	book := func(path, page string) {
		s.answering(path, func(n string) string {
			return strings.ReplaceAll(leaf(page)(n), "<a href=", "<a href="+strings.ReplaceAll(path, "&", "&amp;"))
		})
	}
	book("/view?id=7&page=", "<img src=/scan/$n.jpg>")
	book("/read?id=7&page=", "<p>Here $w is told of.")

	job := newJob(s.URL + "/")
	job.Settings.MaxHops = 10_000
	job.Settings.Workers = 2
	job.Settings.MaxObjects = int64(issues + 2*issues + 5*leaves) // of the daily, and more than there is of all else
	job.Settings.Sheets = []harvest.Sheet{{Name: "daily", Regex: "/daily/1900", Settings: patch("traps", []string{".*"})}}
	dir := t.TempDir()
	run(t, dir, job)
	if caught := trapNotes(t, dir); len(caught) > 0 {
		t.Errorf("caught: %v", caught)
	}
	n := map[string]int{}
	for path := range s.counts() {
		kind, _, _ := strings.Cut(path[1:], "?")
		kind, _, _ = strings.Cut(kind, "/")
		n[kind]++
	}
	if n["paper"] != issues || n["daily"] < 500 || n["view"] < leaves || n["read"] < leaves {
		t.Errorf("fetched %v", n)
	}
	if report, err := os.ReadFile(filepath.Join(dir, "reports", "traps-report.txt")); err != nil || strings.Count(string(report), "\n") != 1 {
		t.Errorf("%s, %v", report, err)
	}
}

// Calendars without end, and a page that leads to ever more of itself, are left after a while; what is turned away is
// told once, in the alerts and as an event, and counted in a report.
func TestTrapsAreLeft(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.html("/{$}", `<a href=/months/2026-11>months</a> <a href=/sorted?by=a>sorted</a>`)
	s.answering("/months/", func(month string) string {
		d, err := time.Parse("2006-01", month)
		if err != nil {
			t.Error(err)
		}
		days := ""
		for i := range 28 {
			days += fmt.Sprintf(" <a href=/days/%s-%02d>%d</a>", month, i+1, i+1)
		}
		return fmt.Sprintf("<h1>%s</h1> <a href=/months/%s>before</a> <a href=/months/%s>after</a>%s", d.Format("January 2006"),
			d.AddDate(0, -1, 0).Format("2006-01"), d.AddDate(0, 1, 0).Format("2006-01"), days)
	})
	s.answering("/days/", func(day string) string {
		d, err := time.Parse("2006-01-02", day)
		if err != nil {
			t.Error(err)
		}
		return fmt.Sprintf("<h1>%s</h1> Nothing. <a href=/days/%s>before</a> <a href=/days/%s>after</a> <a href=/months/%s>month</a>", d.Format("2 January 2006"),
			d.AddDate(0, 0, -1).Format("2006-01-02"), d.AddDate(0, 0, 1).Format("2006-01-02"), d.Format("2006-01"))
	})
	s.answering("/sorted?by=", func(n string) string {
		return fmt.Sprintf("<p>All of it, sorted. <a href=/sorted?by=%sa>So</a> <a href=/sorted?by=%sb>or so</a>", n, n)
	})
	job := newJob(s.URL + "/")
	job.Settings.MaxHops = 10_000
	job.Settings.MaxObjects = 60_000
	dir := t.TempDir()
	if sum := run(t, dir, job); sum.Reason != "completed" {
		t.Fatalf("%+v", sum)
	}
	report, err := os.ReadFile(filepath.Join(dir, "reports", "traps-report.txt"))
	if err != nil {
		t.Fatal(err)
	}
	reported := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(report)), "\n")[1:] {
		c := strings.Fields(line)
		if away, err := strconv.Atoi(c[0]); err != nil || away < 1 || c[4] != s.host() || !strings.HasPrefix(c[5], s.URL) {
			t.Errorf("reported: %s", line)
		}
		kind, _, _ := strings.Cut(strings.TrimPrefix(c[5], s.URL+"/"), "/")
		kind, _, _ = strings.Cut(kind, "?")
		reported[c[2]+" "+kind] = true
	}
	if got := slices.Sorted(maps.Keys(reported)); !slices.Equal(got, []string{"trap:calendar days", "trap:calendar months", "trap:queryVariants sorted"}) {
		t.Errorf("reported %q", got)
	}
	for log, what := range map[string]string{"alerts.log": "trap=trap:calendar", "job.log": " trap-caught "} {
		text, err := os.ReadFile(filepath.Join(dir, "logs", log))
		if n := strings.Count(string(text), what); err != nil || n < 2 || n > 3 {
			t.Errorf("%s: %d of %s, %v\n%s", log, n, what, err, text)
		}
	}
}
