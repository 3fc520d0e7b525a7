package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/cdx"
)

// indexesOfJobs are indexes of two lines, of all jobs but 2; the first of them is incomplete. That of documents breaks after its first line, and that of
// job 3 before.
type indexesOfJobs struct{}

func (indexesOfJobs) Open(_ context.Context, kind wire.JobIndexKind, jobs []uint64) (JobIndex, wire.JobIndex, error) {
	jobs = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(jobs))), func(id uint64) bool { return id == 2 })
	return indexOfJobs{kind, jobs}, wire.JobIndex{Jobs: jobs, Incomplete: jobs[:min(len(jobs), 1)]}, nil
}

// Records are an index whose kind is what was asked for.
func (indexesOfJobs) Records(_ context.Context, job uint64, url, kind *regexp.Regexp, gate cdx.Gate) (JobIndex, error) {
	if !gate.Passes(&cdx.Capture{Key: "org,example)/secret", Timestamp: "20260101000000"}) {
		kind = regexp.MustCompile("without the secret")
	}
	if job == 2 {
		return nil, ErrNotFound
	}
	return indexOfJobs{wire.JobIndexKind(fmt.Sprint(url, kind)), []uint64{job}}, nil
}

type indexOfJobs struct {
	kind wire.JobIndexKind
	jobs []uint64
}

func (i indexOfJobs) WriteTo(w io.Writer) (int64, error) {
	if slices.Contains(i.jobs, 3) {
		return 0, errors.New("cannot be read")
	}
	n, err := io.WriteString(w, string(i.kind)+"\n")
	if err == nil && i.kind == wire.JobIndexDocuments {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		return int64(n), errors.New("cannot be read on")
	}
	if err == nil && len(i.jobs) > 0 {
		_, err = io.WriteString(w, "second\n")
	}
	return 0, err
}

func (indexOfJobs) Close() error { return nil }

// An index is streamed, and says of which jobs it is. One that breaks is seen to be broken.
func TestIndexOfJobs(t *testing.T) {
	b, c, _ := keeperAnd(t)
	for range 3 {
		if _, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}}); err != nil {
			t.Fatal(err)
		}
	}
	var text strings.Builder
	of, err := c.Jobs().Index(t.Context(), wire.JobIndexFull, []uint64{2, 1, 2}, &text)
	if err != nil || text.String() != "full\nsecond\n" || !slices.Equal(of.Jobs, []uint64{1}) ||
		!slices.Equal(of.Missing, []uint64{2}) || !slices.Equal(of.Incomplete, []uint64{1}) {
		t.Errorf("%q %+v %v", text.String(), of, err)
	}
	if of, err = c.Jobs().Index(t.Context(), wire.JobIndexCDX, []uint64{2}, io.Discard); err != nil || len(of.Jobs) != 0 {
		t.Errorf("%+v %v", of, err)
	}
	if _, err := c.Jobs().Index(t.Context(), wire.JobIndexDocuments, []uint64{1}, io.Discard); err == nil {
		t.Error("an index that breaks ends well")
	}
	var problem *wire.Error
	_, err = c.Jobs().Index(t.Context(), wire.JobIndexCDX, []uint64{3}, io.Discard)
	if !errors.As(err, &problem) || problem.Status != http.StatusInternalServerError {
		t.Errorf("cannot be read: %v", err)
	}
	for want, jobs := range map[int][]uint64{404: {1, 99}, 422: nil} {
		_, err := c.Jobs().Index(t.Context(), wire.JobIndexCDX, jobs, io.Discard)
		if !errors.As(err, &problem) || problem.Status != want {
			t.Errorf("%v: %v", jobs, err)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.server.URL+"/api/v1/jobs/index?job=1&kind=cdx", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "identity")
	r.Header.Set("Authorization", "Bearer "+b.tokens[c])
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	plain, err := io.ReadAll(answer.Body)
	if err != nil || string(plain) != "cdx\nsecond\n" || answer.Header.Get("Content-Type") != "application/x-cdx" {
		t.Errorf("%q %v %v", plain, answer.Header, err)
	}
}

// Records are streamed as an index is; expressions are checked before.
func TestRecordsOfAJob(t *testing.T) {
	_, c, _ := keeperAnd(t)
	for range 3 {
		if _, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}}); err != nil {
			t.Fatal(err)
		}
	}
	var text strings.Builder
	if err := c.Jobs().Records(t.Context(), 1, "^http://a", "", &text); err != nil ||
		text.String() != "^http://a <nil>\nsecond\n" {
		t.Errorf("%q %v", text.String(), err)
	}
	for want, ask := range map[int][3]any{404: {uint64(2), "", ""}, 422: {uint64(1), "a", "("}, 500: {uint64(3), "", ""}} {
		err := c.Jobs().Records(t.Context(), ask[0].(uint64), ask[1].(string), ask[2].(string), io.Discard)
		var problem *wire.Error
		if !errors.As(err, &problem) || problem.Status != want {
			t.Errorf("%v: %v", ask, err)
		}
	}
}
