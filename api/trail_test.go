package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/client"
)

// TestTheTrailIsListedByWhatWasDone makes channels in the names of two people and finds the events, in both orders and
// over several pages.
func TestTheTrailIsListedByWhatWasDone(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleReader)
	b.as(catalog.Local(self), catalog.SetCollection, catalog.Collection{Name: "before"})
	begin := time.Now().Add(time.Minute)
	for i := range 7 {
		b.later += time.Minute
		actor := catalog.PersonID("reader-1").Actor()
		if i%2 == 0 {
			actor = catalog.Local(self)
		}
		b.as(actor, catalog.SetCollection, catalog.Collection{Name: catalog.CollectionName(fmt.Sprintf("c%d", i))})
	}
	found := func(q client.EventQuery) string {
		t.Helper()
		var got []string
		for e, err := range c.Trail().Find(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Subject)
		}
		return strings.Join(got, " ")
	}
	for want, q := range map[string]client.EventQuery{
		"c6 c5 c4 c3 c2 c1 c0 before": {Act: "collection.set", Newest: true}, "before c0 c1 c2 c3 c4 c5 c6": {Act: "collection.set"},
		"c1 c3 c5": {Act: "collection.set", Actor: "reader-1"}, "c5 c3 c1": {Act: "collection.set", Actor: "person:reader-1", Newest: true},
		"c6 c4 c2 c0 before": {Act: "collection.set", Actor: string(self), Newest: true}, "c3": {Subject: "c3"}, "": {Subject: "c", Newest: true},
		"c0 c1": {From: begin.Add(-30 * time.Second), Until: begin.Add(90 * time.Second), Act: "collection.set"},
	} {
		if got := found(q); got != want {
			t.Errorf("%+v: %q, want %q", q, got, want)
		}
	}
	var all, pages []string
	for e, err := range c.Trail().All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(e.Seq))
	}
	for after := ""; ; {
		code, text := b.ask(b.request(c, http.MethodGet, "/trail?sort=newest&limit=3&after="+after, ""))
		page := struct {
			Items []struct{ Seq uint64 }
			Next  string
		}{}
		if code != http.StatusOK {
			t.Fatal(code, text)
		}
		if err := json.Unmarshal([]byte(text), &page); err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Items {
			pages = append(pages, fmt.Sprint(e.Seq))
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if slices.Reverse(all); !slices.Equal(all, pages) {
		t.Errorf("newest first, page by page: %v, want %v", pages, all)
	}
	if _, text := b.ask(b.request(c, http.MethodGet, "/trail?limit=1", "")); !strings.Contains(text, fmt.Sprintf(`"total":%d`, len(all))) {
		t.Errorf("%d events, and a page says %s", len(all), text)
	}
	if code, text := b.ask(b.request(c, http.MethodGet, "/trail?sort=newest&after=e-0", "")); code != http.StatusOK || !strings.Contains(text, `"items":[]`) {
		t.Errorf("before the first event: %d %s", code, text)
	}
	for _, bad := range []string{"sort=best", "from=yesterday", "after=x-1", "actor=" + strings.Repeat("x", 201), "kind=x"} {
		if code, text := b.ask(b.request(c, http.MethodGet, "/trail?"+bad, "")); code != http.StatusUnprocessableEntity && code != http.StatusBadRequest {
			t.Errorf("%.20s: %d %s", bad, code, text)
		}
	}
}
