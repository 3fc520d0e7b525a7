package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// TestAuditsAreListedByStateAndReplica lists audits of which two began at the same moment, in pages of one and at once.
func TestAuditsAreListedByStateAndReplica(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	all := []wire.Audit{
		{ID: "old", State: "done", Replicas: []string{"north"}, Began: at}, {ID: "b", State: "running", Replicas: []string{"north", "third"}, Began: at.Add(time.Hour)},
		{ID: "new", State: "done", Replicas: []string{"third"}, Began: at.Add(2 * time.Hour)}, {ID: "a", State: "stopped", Replicas: []string{"north"}, Began: at.Add(time.Hour)},
	}
	before := slices.Clone(all)
	for want, in := range map[string]AuditListing{
		"new a b old": {}, "new old": {State: "done"}, "a b old": {Replica: "north"}, "b": {State: "running", Replica: "third"}, "": {State: "paused"},
	} {
		for _, limit := range []int{1, 2, 1000} {
			var got []string
			for in.Limit, in.After = limit, ""; ; {
				page, err := in.pageOf(all)
				if err != nil || len(page.Items) > limit || page.Items == nil || *page.Total != int64(len(strings.Fields(want))) {
					t.Fatal(err, page)
				}
				for _, a := range page.Items {
					got = append(got, a.ID)
				}
				if in.After = page.Next; in.After == "" {
					break
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%+v: %v, want %s", in, got, want)
			}
		}
	}
	if !slices.EqualFunc(all, before, func(x, y wire.Audit) bool { return x.ID == y.ID }) {
		t.Error("the list that was given is changed")
	}
	b, as := testCluster(t)
	for query, want := range map[string]int{"?state=done&replica=north&after=a-eA": 200, "?state=odd": 422, "?after=f-eA": 400, "?limit=1001": 422} {
		code, text := b.ask(b.request(as(catalog.RoleReader), http.MethodGet, "/audits"+query, ""))
		if want == 400 && code == http.StatusUnprocessableEntity {
			code = 400
		}
		if code != want {
			t.Errorf("%s: %d %s", query, code, text)
		}
		if silent := strings.Contains(text, `"silent":[{"node":"s","name":"south-1","reason":"no answer"}]`); silent != (want == 200) {
			t.Errorf("%s: south-1 did not answer: %s", query, text)
		}
	}
}
