package crawler

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// A site whose pages all lead through a wall that never lets one in, with a new cookie each time, is asked at
// most about twice as much as one without walls.
func TestWallsEverywhere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var links strings.Builder
	for i := range 40 {
		fmt.Fprintf(&links, "<a href=/p%d>", i)
	}
	s.html("/{$}", links.String())
	var number atomic.Int64
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", fmt.Sprintf("a=%d; path=/", number.Add(1)))
		if next := r.URL.Query().Get("next"); next != "" {
			http.Redirect(w, r, next, http.StatusFound)
			return
		}
		http.Redirect(w, r, "/wall?next="+r.URL.Path, http.StatusFound)
	})
	if sum := run(t, t.TempDir(), newJob(s.URL+"/")); sum.Reason != "completed" || sum.Counters.Queued != 0 {
		t.Errorf("summary %+v", sum)
	}
	if n := len(s.requests()); n > 2+2*2*40+6*2*2 {
		t.Errorf("%d requests", n)
	}
}
