package catalog_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/jobs"
)

// overlapsOf pages through the overlaps of a job.
func overlapsOf(t *testing.T, v catalog.View, id uint64, n int) (out []string) {
	t.Helper()
	j, err := v.Job(id)
	if err != nil {
		t.Fatal(err)
	}
	for after := 0; ; {
		page, next, err := v.Overlaps(&j, after, n)
		if err != nil || next != 0 && next <= after {
			t.Fatalf("%v, next %d after %d", err, next, after)
		}
		for _, o := range page {
			out = append(out, fmt.Sprint(o.Domain, o.Jobs))
		}
		if after = next; after == 0 {
			return out
		}
	}
}

// TestOpenJobsWithTheSameDomain: each of two open jobs shows the domain that both have, until one ends; one that takes
// over counts in its place. An end of a job writes as much with many domains as with one.
func TestOpenJobsWithTheSameDomain(t *testing.T) {
	t.Parallel()
	c := aloneAt(t, catalog.Level)
	var many []string
	for i := range 2500 {
		many = append(many, fmt.Sprintf("d%04d.org", i))
	}
	large := c.about(t, jobs.JobOpening{}, true, many...)
	if got := overlapsOf(t, c.view(), large, 10); got != nil {
		t.Errorf("alone: %v", got)
	}
	small := c.about(t, jobs.JobOpening{}, false, "a.org", "d0007.org", "d2400.org")
	first := c.about(t, jobs.JobOpening{}, true, "d0007.org")
	want := func(id uint64, want ...string) {
		t.Helper()
		for _, n := range []int{1, 2, 100} {
			if got := overlapsOf(t, c.view(), id, n); !slices.Equal(got, want) {
				t.Errorf("job %d: %v, want %v", id, got, want)
			}
		}
	}
	want(large, fmt.Sprintf("d0007.org[%d %d]", small, first), fmt.Sprintf("d2400.org[%d]", small))
	want(small, fmt.Sprintf("d0007.org[%d %d]", large, first), fmt.Sprintf("d2400.org[%d]", large))
	want(first, fmt.Sprintf("d0007.org[%d %d]", large, small))
	c.must(t, catalog.WishJob, catalog.JobWishing{ID: first, Wish: catalog.WishStop})
	want(first)
	want(small, fmt.Sprintf("d0007.org[%d]", large), fmt.Sprintf("d2400.org[%d]", large))
	var again jobs.Job
	if err := json.Unmarshal(c.must(t, catalog.ResubmitJob, catalog.JobRef{ID: first}).Value, &again); err != nil {
		t.Fatal(err)
	}
	want(small, fmt.Sprintf("d0007.org[%d %d]", large, again.ID), fmt.Sprintf("d2400.org[%d]", large))
	written := map[uint64]int{}
	for _, id := range []uint64{large, again.ID} {
		j := c.claimed(t, id)
		c.written = 0
		c.end(t, j, 0, false)
		written[id] = c.written
	}
	if written[large] != written[again.ID] {
		t.Errorf("the end of a large job writes %d keys, that of a small one %d", written[large], written[again.ID])
	}
	want(small)
}

// TestADomainOfManyJobsIsAskedForFewKeys: a domain that was harvested 5 000 times, and a job that has waited since
// before the first of them.
func TestADomainOfManyJobsIsAskedForFewKeys(t *testing.T) {
	t.Parallel()
	c := aloneAt(t, catalog.Level)
	oldest := c.about(t, jobs.JobOpening{}, true, "a.org", "b.org")
	for n := range uint64(5000) {
		c.put(fmt.Sprintf("joblist/domain/a.org/%016x", uint64(1<<63-1)-oldest-1-n), "\x01")
	}
	c.put("jobcount", "\x0110000")
	newest := c.about(t, jobs.JobOpening{}, true, "a.org")
	in := &counting{Reader: c}
	v := jobs.NewView(in)
	open, err := v.OpenNow(nil)
	if err != nil || open.Len() != 2 {
		t.Fatalf("%v, %v", open, err)
	}
	in.keys = 0
	if got, err := open.Of(in, "a.org"); err != nil || !slices.Equal(got, []uint64{oldest, newest}) || in.keys > 200 {
		t.Errorf("%v, %v after %d keys", got, err, in.keys)
	}
	if is, known, err := v.OpenWith("a.org", nil); err != nil || !is || !known {
		t.Errorf("the newest job of many is open: %t, %t, %v", is, known, err)
	}
	skip := func(j *jobs.Job) bool { return j.ID == newest }
	if is, known, err := v.OpenWith("a.org", skip); err != nil || is || known {
		t.Errorf("the oldest job of many is open: %t, %t, %v", is, known, err)
	}
	if is, known, err := v.OpenWith("b.org", skip); err != nil || !is || !known {
		t.Errorf("the only job is open: %t, %t, %v", is, known, err)
	}
	in.keys = 0
	if got, err := open.Of(in, "c.org"); err != nil || len(got) != 0 || in.keys > 10 {
		t.Errorf("%v, %v after %d keys", got, err, in.keys)
	}
}
