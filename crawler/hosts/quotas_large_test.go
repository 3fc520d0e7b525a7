//go:build !race

package hosts

import (
	"fmt"
	"testing"

	"holdfast/crawler/frontier"
	"holdfast/crawler/scope"
)

// Of more domains than are kept in memory none is miscounted, and what is not finished yet is not durable.
func TestDomainsInMemory(t *testing.T) {
	t.Parallel()
	f, err := frontier.Open(frontier.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	q := NewQuotas(f, &scope.Domains{})
	name := func(i int) string { return fmt.Sprintf("d%d.example", i) }
	add := func(domain string) {
		t.Helper()
		if err := q.Add(domain, 10); err != nil {
			t.Fatal(err)
		}
	}
	commit := func(domains ...string) {
		t.Helper()
		f.SetValue("something", []byte("1"))
		b := f.Take()
		for _, domain := range domains {
			q.Take(domain, 10)
		}
		q.Keep(b)
		if err := f.Commit(b); err != nil {
			t.Fatal(err)
		}
		q.Committed()
	}
	add("late.example")
	add("late.example")
	const page = 5000
	for from := 0; from < maxServers+2*page; from += page {
		var domains []string
		for i := range page {
			domains = append(domains, name(from+i), name(i))
			add(name(from + i))
			add(name(i))
		}
		commit(domains...)
		if len(q.domains) > maxServers {
			t.Fatalf("%d domains in memory", len(q.domains))
		}
	}
	count := func(domain string) (objects, bytes int64) {
		t.Helper()
		err := q.Each(t.Context(), "", func(name string, of scope.Quota) bool {
			if name == domain {
				objects, bytes = of.Objects, of.Bytes
			}
			return name != domain
		})
		if err != nil {
			t.Fatal(err)
		}
		return objects, bytes
	}
	if n, _ := count("late.example"); n != 0 {
		t.Errorf("%d documents are durable that are not finished", n)
	}
	commit("late.example")
	for domain, want := range map[string]int64{"late.example": 1, name(0): 7, name(page - 1): 7, name(page): 1, name(maxServers + 2*page - 1): 1} {
		if n, bytes := count(domain); n != want || bytes != 10*want {
			t.Errorf("%s: %d documents, %d bytes, want %d", domain, n, bytes, want)
		}
	}
	if q.domains["late.example"].Objects != 2 {
		t.Errorf("for the limits %+v", q.domains["late.example"])
	}
}
