package catalog_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/jobs"
	"holdfast/internal/seed"
)

// about makes a job of a run that crawls domains; its number is returned.
func (c *cluster) about(t *testing.T, b jobs.JobOpening, submit bool, domains ...string) uint64 {
	t.Helper()
	var all []jobs.Configuration
	for _, name := range domains {
		all = append(all, jobs.Configuration{Domain: name, Name: "x", Seeds: []string{"http://" + name + "/"}})
	}
	parts, err := jobs.DivideConfigurations(all)
	if err != nil {
		t.Fatal(err)
	}
	parts = append([]jobs.Part{{Kind: jobs.PartJob, Text: `{"name":"j"}`}}, parts...)
	sum, err := jobs.SumOf(parts)
	if err != nil {
		t.Fatal(err)
	}
	id := opened(t, c, b)
	for i, p := range parts {
		c.must(t, jobs.AddPart, jobs.JobAddition{ID: id, Number: i + 1, Part: p})
	}
	c.must(t, jobs.CloseJob, jobs.JobClosing{ID: id, Parts: len(parts), Sum: sum, Submit: submit})
	return id
}

// searched pages through what a search finds.
func searched(t *testing.T, v catalog.View, q jobs.Search, n int) (ids []uint64) {
	t.Helper()
	for before := uint64(0); ; {
		page, err := v.Search(q, before, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range page.Jobs {
			ids = append(ids, j.ID)
		}
		if len(page.Jobs) > n || before != 0 && page.Next >= before {
			t.Fatalf("a page of %d jobs, and the next is below %d, behind %d", len(page.Jobs), page.Next, before)
		}
		if before = page.Next; before == 0 {
			return ids
		}
	}
}

// TestSearchForJobs makes jobs of two harvests, some runs, three channels and ten domains, in all states, some of them
// taken over from others, and compares what is found with the jobs themselves.
func TestSearchForJobs(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(seed.Of(t), 1))
	c := aloneAt(t, catalog.Level)
	of := map[uint64][]string{} // domains of jobs
	last := map[[2]uint64]uint64{}
	for range 150 {
		run := [2]uint64{rng.Uint64N(3), 0}
		if run[0] > 0 {
			run[1] = 1 + rng.Uint64N(4)
		}
		b := jobs.JobOpening{Harvest: "h", Collection: "web", Number: run[0], Run: run[1],
			Channel: []string{"FOCUSED", "SNAPSHOT", "OWN"}[rng.IntN(3)]}
		if run[0] > 0 {
			b.After = last[run]
		}
		var names []string
		for i := range 10 {
			if rng.IntN(4) == 0 {
				names = append(names, fmt.Sprintf("d%d.org", i))
			}
		}
		id := c.about(t, b, rng.IntN(3) > 0, names...)
		of[id], last[run] = names, id
		for next := id; rng.IntN(4) == 0; { // it fails, and another takes over
			if res := c.apply(t, catalog.WishJob, catalog.JobWishing{ID: next, Wish: catalog.WishStop}); res.Refusal != nil {
				break
			}
			var again jobs.Job
			if err := json.Unmarshal(c.must(t, catalog.ResubmitJob, catalog.JobRef{ID: next}).Value, &again); err != nil {
				t.Fatal(err)
			}
			next = again.ID
			of[next] = names
		}
	}
	opened(t, c, jobs.JobOpening{}) // is not whole
	all, err := c.view().Jobs("", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(all)
	for range 400 {
		var q jobs.Search
		maybe := func(set func()) {
			if rng.IntN(3) == 0 {
				set()
			}
		}
		maybe(func() { q.State = jobs.States()[rng.IntN(len(jobs.States()))] })
		maybe(func() { q.Harvest = new(uint64); *q.Harvest = rng.Uint64N(4) })
		if q.Harvest != nil {
			maybe(func() { q.Run = 1 + rng.Uint64N(4) })
		}
		maybe(func() { q.Channel = []string{"FOCUSED", "SNAPSHOT", "OWN", "NONE"}[rng.IntN(4)] })
		maybe(func() { q.Domain = fmt.Sprintf("d%d.org", rng.IntN(11)) })
		maybe(func() { q.From = all[rng.IntN(len(all))].Created + catalog.Time(rng.IntN(3)) })
		maybe(func() { q.Until = all[rng.IntN(len(all))].Created + catalog.Time(rng.IntN(3)) })
		var want []uint64
		for _, j := range all {
			if (q.State == "" || q.State == j.State) && (q.Harvest == nil || *q.Harvest == j.Number) &&
				(q.Run == 0 || q.Run == j.Run) && (q.Channel == "" || q.Channel == j.Channel) &&
				(q.Domain == "" || slices.Contains(of[j.ID], q.Domain)) && j.Created >= q.From &&
				(q.Until == 0 || j.Created < q.Until) {
				want = append(want, j.ID)
			}
		}
		if got := searched(t, c.view(), q, 1+rng.IntN(30)); !slices.Equal(got, want) {
			t.Fatalf("%+v: %v, want %v", q, got, want)
		}
	}
}

// counting counts the keys that are read.
type counting struct {
	agree.Reader
	keys int
}

func (c *counting) Get(key []byte) ([]byte, error) { c.keys++; return c.Reader.Get(key) }

func (c *counting) Scan(prefix, from []byte, visit func(key, value []byte) bool) error {
	return c.Reader.Scan(prefix, from, func(key, value []byte) bool { c.keys++; return visit(key, value) })
}

// TestASearchIsBounded: two long lists have no job in common. No page reads them all, and pages end.
func TestASearchIsBounded(t *testing.T) {
	t.Parallel()
	c := aloneAt(t, catalog.Level)
	const many = 40_000
	for n := range uint64(many) {
		list := "state/DONE"
		if n%2 == 0 {
			list = "channel/OWN"
		}
		c.put(fmt.Sprintf("joblist/%s/%016x", list, uint64(1<<63-1)-n-1), "\x01")
	}
	c.put("jobcount", "\x01"+fmt.Sprint(many))
	before, pages := uint64(0), 0
	for q := (jobs.Search{State: catalog.JobDone, Channel: "OWN"}); ; {
		in := &counting{Reader: c}
		page, err := jobs.NewView(in).Search(q, before, 100)
		if err != nil || len(page.Jobs) > 0 || in.keys > many*3/2 {
			t.Fatalf("%+v, %v after %d keys", page, err, in.keys)
		}
		pages++
		if before = page.Next; before == 0 {
			break
		}
	}
	if pages < 3 || pages > 10 {
		t.Errorf("%d pages", pages)
	}
}

// TestAJobThatIsDroppedLeavesNoDomain: a job of which the parts go again, some with each command, is in no list.
func TestAJobThatIsDroppedLeavesNoDomain(t *testing.T) {
	t.Parallel()
	c := aloneAt(t, catalog.Level)
	before := c.starting("joblist/")
	id := opened(t, c, jobs.JobOpening{})
	for n := range 5 {
		p := jobs.Part{Kind: jobs.PartConfigurations, Items: 500, Text: "[]"}
		for i := range 500 {
			p.Domains = append(p.Domains, fmt.Sprintf("d%d-%d.org", n, i))
		}
		c.must(t, jobs.AddPart, jobs.JobAddition{ID: id, Number: n + 1, Part: p})
	}
	if n := c.starting("joblist/domain/"); n != 2500 {
		t.Fatalf("%d domains", n)
	}
	if got := searched(t, c.view(), jobs.Search{Domain: "d1-1.org"}, 10); len(got) != 0 {
		t.Errorf("a job that is not whole is found: %v", got)
	}
	for commands := 0; ; commands++ {
		res := c.must(t, jobs.DropJob, catalog.JobRef{ID: id})
		if string(res.Value) == "0" {
			break
		}
		if commands > 10 {
			t.Fatal("the job does not go")
		}
	}
	if n := c.starting("joblist/"); n != before {
		t.Errorf("%d keys are left", n-before)
	}
	long := jobs.Part{Kind: jobs.PartSeeds, Text: "[]", Domains: []string{strings.Repeat("a", 254)}}
	for _, p := range []jobs.Part{long, {Kind: jobs.PartSeeds, Text: "[]", Domains: []string{"a/b"}},
		{Kind: jobs.PartSeeds, Text: "[]", Domains: make([]string, 501)}} {
		next := opened(t, c, jobs.JobOpening{})
		refusedAs(t, c.apply(t, jobs.AddPart, jobs.JobAddition{ID: next, Number: 1, Part: p}), catalog.Invalid, "domains")
	}
}
