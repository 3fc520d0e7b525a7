package runner

import (
	"testing"

	"holdfast/crawler"
)

// soFar is a crawl that has brought that many URIs.
type soFar struct{ uris int64 }

func (s *soFar) Progress() (p crawler.Progress) {
	p.Succeeded, p.Bytes = s.uris, 10*s.uris
	return p
}

// A crawl counts from where it was when it was opened here, once, and stays counted when it has ended.
func TestTally(t *testing.T) {
	t.Parallel()
	var tally Tally
	first, resumed := &soFar{}, &soFar{uris: 100} // by an earlier process
	shows := func(want int64) {
		t.Helper()
		if got := tally.Brought(); got != (Brought{Succeeded: want, Bytes: 10 * want}) {
			t.Errorf("%+v, want %d URIs", got, want)
		}
	}
	shows(0)
	tally.begin(first)
	tally.begin(resumed)
	shows(0)
	first.uris, resumed.uris = 5, 107
	shows(12)
	tally.end(first)
	shows(12)
	resumed.uris = 108
	tally.end(resumed)
	shows(13)
	restored := &soFar{uris: 3} // the first again, from a checkpoint
	tally.begin(restored)
	shows(13)
	restored.uris = 4
	shows(14)
}
