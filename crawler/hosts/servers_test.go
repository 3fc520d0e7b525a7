package hosts

import (
	"testing"
	"time"

	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
)

// What one try failed at counts for a page in a browser, which cannot wait, and not for a URI that can.
func TestRobotsOfOneTry(t *testing.T) {
	t.Parallel()
	f, err := frontier.Open(frontier.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	servers := NewServers(f)
	target, err := fetch.ParseTarget("http://h.example/robots.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		answer        Answer
		waits         bool
		denied, alone bool
	}{
		{Answer{Status: 503, Once: true}, false, true, false},
		{Answer{Status: -2, Once: true}, false, false, true},
		{Answer{Status: 200, Once: true}, true, false, false},
		{Answer{Status: 503}, true, true, false},
	} {
		if err := servers.LearnRobots(target, tt.answer); err != nil {
			t.Fatal(err)
		}
		now, _, err := servers.Site(target, time.Now(), false)
		if err != nil || now == nil || now.DenyAll != tt.denied || now.Unreachable != tt.alone {
			t.Errorf("%+v: a page is told %+v, %v", tt.answer, now, err)
		}
		later, first, err := servers.Site(target, time.Now(), true)
		if err != nil || (later != nil) != tt.waits || later == nil && first != target.URL {
			t.Errorf("%+v: who waits is told %+v, %q, %v", tt.answer, later, first, err)
		}
	}
}
