package web

import (
	"encoding/csv"
	"net/http"
	"strings"
	"testing"

	"holdfast/api/wire"
)

// Lists can be had as CSV: a line each, with the API's names, and nothing that a spreadsheet takes for a formula.
func TestLists(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, path := range paths() {
		_, page := s.get(t, "/_/en"+path)
		mark := "?"
		if strings.Contains(path, "?") {
			mark = "&"
		}
		resp, body := s.get(t, "/_/en"+path+mark+"format=csv")
		is := resp.Header.Get("Content-Type") == "text/csv; charset=utf-8"
		if is != strings.Contains(page, "format=csv") {
			t.Errorf("%s is CSV: %v", path, is)
		}
		if !is {
			continue
		}
		rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
		if err != nil || len(rows) < 2 && path != "/jobs/13" || !strings.HasPrefix(resp.Header.Get("Content-Disposition"), "attachment; filename=\"") {
			t.Errorf("%s: %v %q %v", path, err, body, resp.Header)
		}
	}
}

func TestHarmlessCells(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"=HYPERLINK(\"http://evil.test\")", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "a\"b,c\nd", "-"} {
		s := newSiteOf(t, name, name)
		_, body := s.get(t, "/jobs?format=csv")
		rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[1:] {
			for _, cell := range row {
				if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
					t.Errorf("%q: a cell is %q", name, cell)
				}
			}
		}
	}
	for in, want := range map[string]string{"-5": "-5", "-5.2": "-5.2", "a": "a", "": "", "=1": "'=1", "-x": "'-x", "5": "5"} {
		if got := harmless(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// A list that could not be read, or not whole, is no CSV; a list that goes on says so.
func TestListsThatGoOn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.queries()
	resp, body := s.get(t, "/_/en/jobs?state=FAILED&format=csv")
	if asked := strings.Join(s.api.queries(), " "); !strings.Contains(asked, "limit=1000&state=FAILED") ||
		resp.Header.Get("Link") != `</_/en/jobs?after=j-5&format=csv&state=FAILED>; rel="next"` || !strings.HasPrefix(body, "id,harvest,") ||
		strings.Contains(body, "settings") || resp.Header.Get("Content-Disposition") != `attachment; filename="jobs-part.csv"` {
		t.Errorf("asked %s, %v %s", asked, resp.Header, body)
	}
	s.api.answers["/jobs"] = wire.Page[wire.Job]{Items: []wire.Job{}}
	if resp, body := s.get(t, "/jobs?format=csv"); resp.StatusCode != http.StatusOK || strings.Count(body, "\n") != 1 || resp.Header.Get("Link") != "" {
		t.Errorf("an empty list: %d %q", resp.StatusCode, body)
	}
	s.api.answers["/jobs"] = refusal(503, wire.CodeUnavailable, "not now")
	delete(s.api.answers, "/status")
	for _, path := range []string{"/jobs", "/nodes", "/replicas", "/harvests/3/preview", "/jobs/15/crawl"} {
		delete(s.api.answers, path)
		delete(s.api.answers, path+"/queues")
		if resp, body := s.get(t, path+"?format=csv"); resp.StatusCode < 400 {
			t.Errorf("%s was not read: %d %q", path, resp.StatusCode, body)
		}
	}
}

// Texts can be had as files, as they are; one that could not be read is no empty file.
func TestTextsAsFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	resp, body := s.get(t, "/domains/example.org/seeds/main?format=file")
	if body != "https://example.org/north-1" || resp.Header.Get("Content-Disposition") != `attachment; filename="seeds.txt"` {
		t.Errorf("%q %v", body, resp.Header)
	}
	if resp, body = s.get(t, "/templates/default?format=file"); !strings.Contains(body, `"max_hops": 7`) || !strings.Contains(resp.Header.Get("Content-Disposition"), "template.json") {
		t.Errorf("%q %v", body, resp.Header)
	}
	s.api.answers["/templates/default"] = refusal(503, wire.CodeUnavailable, "not now")
	if resp, _ := s.get(t, "/templates/default?format=file"); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%d", resp.StatusCode)
	}
}
