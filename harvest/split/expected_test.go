package split

import (
	"testing"

	"holdfast/harvest"
	"holdfast/internal/seed"
)

func TestExpectedObjects(t *testing.T) {
	objects := func(n int64) Limits { return Limits{Objects: harvest.AtMost(n)} }
	bytes := func(n int64) Limits { return Limits{Bytes: harvest.AtMost(n)} }
	completed := func(objects, bytes int64) []History {
		return []History{{At: 1, Completed: true, Objects: objects, Bytes: bytes}}
	}
	unfinished := func(objects, bytes int64) []History { return []History{{At: 1, Objects: objects, Bytes: bytes}} }
	tests := []struct {
		name    string
		history []History
		limits  Limits
		want    int64
	}{
		{"no history, no limits", nil, Limits{}, 2500},
		{"no history, objects", nil, objects(4000), 2000},
		{"no history, bytes", nil, bytes(1e9), 13157},
		{"completed", completed(100, 100), objects(1100), 200},
		{"unfinished", unfinished(100, 100), objects(1100), 600},
		{"unfinished after completed", []History{{At: 1, Completed: true, Objects: 200}, {At: 2, Objects: 100}}, objects(2200), 400},
		{"unfinished before completed", []History{{At: 1, Objects: 100}, {At: 2, Completed: true, Objects: 200}}, objects(2200), 400},
		{"the largest of those unfinished", []History{{At: 1, Objects: 200}, {At: 2, Objects: 100}}, objects(2200), 1200},
		{"the latest of those completed", []History{{At: 1, Completed: true, Objects: 200}, {At: 2, Completed: true, Objects: 100}}, objects(2200), 310},
		{"few small objects", unfinished(40, 400), bytes(5_000_000), 85},
		{"more than the limit allows", completed(100_000, 1e10), bytes(1e9), 10_000},
		{"small objects", completed(100, 100*1000), bytes(1e9), 2721},
		{"large objects", unfinished(50, 50*100_000), bytes(1e9), 5025},
		{"too few large objects", unfinished(49, 49*100_000), bytes(1e9), 13_182},
		{"the smaller limit is of objects", nil, Limits{harvest.AtMost(100), harvest.AtMost(1e9)}, 50},
		{"the smaller limit is of bytes", nil, Limits{harvest.AtMost(1e6), harvest.AtMost(3_800_000)}, 50},
		{"nothing may be fetched", completed(100, 100), objects(0), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var best History
			for _, h := range tt.history {
				best = best.Better(h)
			}
			if got := DefaultSettings().Expected(best, tt.limits); got != tt.want {
				t.Errorf("%d objects, want %d", got, tt.want)
			}
		})
	}
}

// The best history is the same in whichever order the histories come, and whichever come twice.
func TestBestHistoryNeedsNoOrder(t *testing.T) {
	r := seed.Rand(t)
	for range 2000 {
		all := make([]History, 1+r.IntN(6))
		for i := range all {
			all[i] = History{At: r.Int64N(4), Completed: r.IntN(3) == 0, Objects: r.Int64N(4), Bytes: r.Int64N(3)}
		}
		var want, got History
		for _, h := range all {
			want = want.Better(h)
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, h := range append(all, all[0]) {
			got = h.Better(got)
		}
		if got != want {
			t.Fatalf("%+v: %+v in one order, %+v in another", all, want, got)
		}
	}
}

func TestLeftOut(t *testing.T) {
	own := func(objects, bytes harvest.Limit) Limits { return Limits{objects, bytes} }
	none, ten, twenty := harvest.Limit{}, harvest.AtMost(10), harvest.AtMost(20)
	stopped := func(by Stop) Earlier { return Earlier{by, own(ten, ten)} }
	tests := []struct {
		name      string
		candidate Candidate
		run       Run
		zero      bool
		want      Reason
	}{
		{"plain", Candidate{Seeds: true}, Run{Snapshot: true}, true, ""},
		{"alias", Candidate{Seeds: true, Alias: true}, Run{Snapshot: true}, false, IsAlias},
		{"alias in a selective harvest", Candidate{Seeds: true, Alias: true}, Run{}, false, ""},
		{"no seeds", Candidate{}, Run{}, false, NoSeeds},
		{"completed", Candidate{Seeds: true, Earlier: stopped(Completed)}, Run{Snapshot: true}, false, WasCompleted},
		{"unfinished", Candidate{Seeds: true, Earlier: stopped(Unfinished)}, Run{Snapshot: true}, false, ""},
		{"out of time", Candidate{Seeds: true, Earlier: stopped(TimeLimit)}, Run{Snapshot: true}, false, ""},
		{"the harvest's limit", Candidate{Seeds: true, Limits: own(ten, ten), Earlier: stopped(SizeLimit)}, Run{Snapshot: true}, false, ""},
		{"the same limit of bytes", Candidate{Seeds: true, Limits: own(twenty, ten), Earlier: stopped(ConfigSizeLimit)}, Run{Snapshot: true}, false, LimitNotRaised},
		{"the same limit of objects", Candidate{Seeds: true, Limits: own(ten, none), Earlier: stopped(ConfigObjectLimit)}, Run{Snapshot: true}, false, LimitNotRaised},
		{"a higher limit", Candidate{Seeds: true, Limits: own(twenty, ten), Earlier: stopped(ConfigObjectLimit)}, Run{Snapshot: true}, false, ""},
		{"a limit that is gone", Candidate{Seeds: true, Limits: own(ten, none), Earlier: stopped(ConfigSizeLimit)}, Run{Snapshot: true}, false, ""},
		{"zero limit", Candidate{Seeds: true, Limits: own(none, harvest.AtMost(0))}, Run{Snapshot: true}, true, ZeroLimit},
		{"the harvest's zero limit", Candidate{Seeds: true}, Run{Limits: own(harvest.AtMost(0), none)}, true, ZeroLimit},
		{"zero limit that is not left out", Candidate{Seeds: true, Limits: own(none, harvest.AtMost(0))}, Run{Snapshot: true}, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := DefaultSettings()
			s.LeaveOutZeroLimits = tt.zero
			if got := s.LeftOut(tt.candidate, tt.run); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
