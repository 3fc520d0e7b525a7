package raft

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/catalog"
)

// members reads "north: a* b / south: c*!": * votes, ! is lost, - is not ready, > only dials out.
func members(t *testing.T, text string) (out []Candidate) {
	t.Helper()
	for _, part := range strings.Split(text, "/") {
		place, nodes, ok := strings.Cut(part, ":")
		if !ok {
			t.Fatalf("members %q", text)
		}
		for _, node := range strings.Fields(nodes) {
			out = append(out, Candidate{
				ID: catalog.NodeID(node[:1]), Place: strings.TrimSpace(place), Voter: strings.Contains(node, "*"),
				Lost: strings.Contains(node, "!"), Ready: !strings.Contains(node, "-"), OutOnly: strings.Contains(node, ">"),
			})
		}
	}
	return out
}

func TestChooseVoters(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, members, want string }{
		{"one node", "n: a*", "a"},
		{"two nodes keep one voter", "n: a* / s: b", "a"},
		{"three places, three nodes", "n: a* / s: b / w: c", "a b c"},
		{"a third that is not caught up is waited for", "n: a* / s: b / w: c-", "a"},
		{"two places, three nodes", "n: a* b / s: c", "a b c"},
		{"out-only nodes never vote", "n: a* / s: b / w: c>", "a"},
		{"a voter that became out-only goes", "n: a* / s: b* / w: c*> d", "a b d"},
		{"one of each place before two of one", "n: a* b d / s: c / w: e", "a c e"},
		{"five of five in three places", "n: a* b / s: c d / w: e", "a b c d e"},
		{"a place with many nodes gets no majority of five", "n: a b c* f / s: d / w: e", "c d e"},
		{"nine make seven", "n: a* b c / s: d e f / w: g h i", "a b c d e g h"},
		{"present voters stay", "n: a b* / s: c d* / w: e*", "a b c d e"},
		{"no change without need", "n: a b* / s: d* / w: e*", "b d e"},
		{"a third place takes a vote from the one with two", "n: a* b* / s: c* / w: d", "a c d"},
		{"a lost voter is replaced at its place", "n: a*! b / s: c* / w: d*", "b c d"},
		{"a lost voter without a substitute stays", "n: a*! / s: c* d / w: e*", "a c e"},
		{"a lost voter is replaced from a fourth place", "n: a*! / s: c* / w: d* / e: f", "c d f"},
		{"no majority is handed to another place", "n: a*! b* / s: c* d", "a b c"},
		{"the place with the majority may replace its own", "n: a*! b* f / s: c*", "b c f"},
		{"a lost non-voter is not promoted", "n: a* / s: b! / w: c", "a"},
		{"a removed voter is replaced", "n: a* b / s: c*", "a b c"},
		{"the number is not lowered while a voter is lost", "n: a* / s: b*!", "a b"},
		{"a checksum replica's node votes like any", "north: a* / south: b / third: c", "a b c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Trim(fmt.Sprint(ChooseVoters(members(t, tt.members))), "[]")
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestChooseVotersKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.IntRange(1, 5).Draw(t, "places")
		var all []Candidate
		for i := range rapid.IntRange(1, 12).Draw(t, "nodes") {
			all = append(all, Candidate{
				ID: catalog.NodeID(rune('a' + i)), Place: fmt.Sprint(rapid.IntRange(1, places).Draw(t, "place")),
				OutOnly: rapid.IntRange(0, 5).Draw(t, "out") == 0, Lost: rapid.IntRange(0, 3).Draw(t, "lost") == 0,
				Ready: rapid.Bool().Draw(t, "ready"),
			})
		}
		// From no voters to some, and on from there with some lost.
		first := ChooseVoters(all)
		check(t, all, first)
		for i := range all {
			all[i].Voter = slices.Contains(first, all[i].ID)
			all[i].Lost = rapid.IntRange(0, 3).Draw(t, "lost later") == 0
			all[i].Ready = true
		}
		next := ChooseVoters(all)
		check(t, all, next)
		for range 3 { // it comes to rest
			for i := range all {
				all[i].Voter = slices.Contains(next, all[i].ID)
			}
			again := ChooseVoters(all)
			check(t, all, again)
			if slices.Equal(again, next) {
				return
			}
			next = again
		}
		t.Fatalf("not settled at %v", next)
	})
}

// check fails unless a choice from members keeps what ChooseVoters promises.
func check(t *rapid.T, members []Candidate, ids []catalog.NodeID) {
	var chosen, able, present []Candidate
	lost := false
	for _, c := range members {
		if slices.Contains(ids, c.ID) {
			chosen = append(chosen, c)
			if c.OutOnly || !c.Voter && (c.Lost || !c.Ready) {
				t.Fatalf("%s may not become a voter", c.ID)
			}
		}
		if !c.OutOnly {
			able = append(able, c)
			if c.Voter {
				present = append(present, c)
				lost = lost || c.Lost
			}
		}
	}
	if len(chosen) != len(ids) || len(ids) > 7 {
		t.Fatalf("chosen %v of %v", ids, members)
	}
	if len(ids) > 0 && len(ids)%2 == 0 {
		t.Fatalf("%d voters", len(ids))
	}
	if placesOf(able) >= 3 && len(chosen) > 1 && majority(chosen) != nil {
		t.Fatalf("place %s holds a majority of %v", *majority(chosen), ids)
	}
	if lost && shifts(present, chosen) {
		t.Fatalf("place %s got a majority", *majority(chosen))
	}
}
