package agree_test

import (
	"fmt"
	"slices"
	"testing"

	"holdfast/catalog/agree"
	"holdfast/internal/kv/memory"
)

// trailOf makes a trail of n events, one each second: of three actors in turn, each fifth about a part of x.
func trailOf(t *testing.T, n int) *machine {
	t.Helper()
	m := newMachine(t)
	for i := 1; i <= n; i++ {
		name := "other"
		switch {
		case i%5 == 0:
			name = "x/part"
		case i%5 == 1:
			name = "x"
		case i%5 == 2:
			name = "x2"
		}
		m.do(t, agree.Command{Kind: count, Node: "m", Boot: 1, Seq: uint64(i), At: agree.Time(i * 1000), Actor: fmt.Sprint("actor-", i%3)}, fmt.Sprintf(`{"name":%q}`, name))
	}
	return m
}

// counted is a Reader that counts what is read.
type counted struct {
	memory.Tx
	values int
}

func (c *counted) Scan(prefix, from []byte, visit func(key, value []byte) bool) error {
	return c.Tx.Scan(prefix, from, func(key, value []byte) bool { c.values++; return visit(key, value) })
}

// All pages together are what reading the whole trail finds, in both orders, and no page reads more than its bound.
func TestTheTrailIsSearched(t *testing.T) {
	const n = 2603
	reader := &counted{Tx: trailOf(t, n).Tx}
	v := agree.View{Reader: reader}
	whole, err := v.Trail(0, 0)
	if err != nil || len(whole) != n {
		t.Fatalf("%v, %d events", err, len(whole))
	}
	for _, q := range []agree.TrailSearch{
		{}, {Actors: []string{"actor-1"}}, {Actors: []string{"actor-1", "actor-2"}}, {Actors: []string{"nobody"}}, {Act: "count"}, {Act: "begin"},
		{Subject: "x"}, {Subject: "x/part"}, {Subject: "x/"}, {From: 1_300_500}, {Until: 1_300_500}, {From: 1_000_000, Until: 1_003_000, Subject: "x"}, {From: 9, Until: 5},
		{From: 6_000_000}, {Until: 1000},
	} {
		for _, limit := range []int{1, 7, 1000} {
			for _, newest := range []bool{false, true} {
				q.Newest = newest
				var want, got []uint64
				for i := range whole {
					if e := &whole[i]; matches(q, e) {
						want = append(want, e.Seq)
					}
				}
				if newest {
					slices.Reverse(want)
				}
				if limit == 1 {
					want = want[:min(20, len(want))] // of these, more tell nothing
				}
				for at, pages := uint64(0), 0; ; pages++ {
					reader.values = 0
					page, err := v.SearchTrail(q, at, limit)
					if err != nil || len(page.Events) > limit || pages > n {
						t.Fatalf("%+v: %v, page %d of %d events", q, err, pages, len(page.Events))
					}
					all := len(q.Actors) == 0 && q.Act+q.Subject == "" && q.From+q.Until == 0
					if all && page.Total != n || !all && page.Total != -1 {
						t.Fatalf("%+v: %d in all", q, page.Total)
					}
					if reader.values > 2500 {
						t.Errorf("%+v: a page reads %d events", q, reader.values)
					}
					for _, e := range page.Events {
						got = append(got, e.Seq)
					}
					if at = page.Next; at == 0 || limit == 1 && len(got) >= 20 {
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%+v, %d a page: %d events, want %d: %v, %v", q, limit, len(got), len(want), got[:min(9, len(got))], want[:min(9, len(want))])
				}
			}
		}
	}
}

func matches(q agree.TrailSearch, e *agree.Event) bool {
	return (len(q.Actors) == 0 || slices.Contains(q.Actors, e.Actor)) && (q.Act == "" || e.Act == q.Act) &&
		(q.Subject == "" || e.Subject == q.Subject || q.Subject == "x" && e.Subject == "x/part") &&
		e.At >= q.From && (q.Until == 0 || e.At < q.Until)
}
