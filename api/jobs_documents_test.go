package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// ended has one log of each job that has failed.
type ended struct{}

func (ended) Documents(_ context.Context, job catalog.Job) ([]wire.JobDocument, error) {
	if job.State != catalog.JobFailed {
		return nil, fmt.Errorf("job %d: %w", job.ID, ErrNotFound)
	}
	return []wire.JobDocument{{Folder: "logs", Name: "crawl.log", Type: "text/plain", Size: 6}}, nil
}

func (ended) Document(_ context.Context, job catalog.Job, folder, name string, w io.Writer) error {
	if job.State != catalog.JobFailed || folder != "logs" || name != "crawl.log" {
		return fmt.Errorf("job %d: %w", job.ID, ErrNotFound)
	}
	for _, piece := range []string{"on", "e\ntwo\nthr", "ee\nfour"} {
		if _, err := io.WriteString(w, piece); err != nil {
			return err
		}
	}
	return nil
}

// TestDocumentsOfAJobThatHasEnded reads a log whole, and by an expression.
func TestDocumentsOfAJobThatHasEnded(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleCurator).Jobs()
	job, err := c.Create(t.Context(), wire.JobRequest{Name: "one", Seeds: []string{"http://127.0.0.1/"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Documents(t.Context(), job.ID); status(err) != 404 {
		t.Errorf("of a job that has not ended: %v", err)
	}
	b.must(catalog.ClaimJob, catalog.JobRef{ID: job.ID, Node: self})
	b.must(catalog.FinishJob, catalog.JobEnd{ID: job.ID, Node: self, Attempt: 1, Failed: true})
	all, err := c.Documents(t.Context(), job.ID)
	if err != nil || len(all) != 1 || all[0].Name != "crawl.log" {
		t.Errorf("%+v, %v", all, err)
	}
	for _, tt := range []struct{ folder, name, match, want string }{
		{"logs", "crawl.log", "", "one\ntwo\nthree\nfour"},
		{"logs", "crawl.log", "^t", "two\nthree\n"},
		{"logs", "crawl.log", "e$", "one\nthree\n"},
		{"logs", "crawl.log", "r", "three\nfour"},
		{"logs", "crawl.log", "x", ""},
		{"logs", "crawl.log", "(", "422"},
		{"logs", "job.log", "", "404"},
		{"warcs", "crawl.log", "", "422"},
	} {
		var out bytes.Buffer
		err := c.Document(t.Context(), job.ID, tt.folder, tt.name, tt.match, &out)
		if err != nil {
			out.Reset()
			fmt.Fprint(&out, status(err))
		}
		if out.String() != tt.want {
			t.Errorf("%+v: %q", tt, out.String())
		}
	}
}

// TestALogIsSearched takes the last lines that match.
func TestALogIsSearched(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := &matching{to: &out, expr: regexp.MustCompile("a"), tail: 2}
	for _, piece := range []string{"a1\nb", "\na2\nxa", "3\na4"} {
		if _, err := m.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.end(); err != nil || out.String() != "xa3\na4" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if _, err := m.Write([]byte(strings.Repeat("x", maxLine+1))); err == nil {
		t.Error("a line without end is kept in memory")
	}
	b, as := testCluster(t)
	c := as(catalog.RoleCurator).Jobs()
	job, err := c.Create(t.Context(), wire.JobRequest{Name: "one", Seeds: []string{"http://127.0.0.1/"}})
	if err != nil {
		t.Fatal(err)
	}
	b.must(catalog.ClaimJob, catalog.JobRef{ID: job.ID, Node: self})
	b.must(catalog.StartJob, catalog.JobRef{ID: job.ID, Node: self, Attempt: 1})
	out.Reset()
	if err := c.SearchLog(t.Context(), job.ID, "last [0-9]", 10, &out); err != nil || out.String() != "last 0 lines\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if err := c.SearchLog(t.Context(), job.ID, "a", 1001, &out); status(err) != 422 {
		t.Errorf("a long tail: %v", err)
	}
}
