package raft

import (
	"cmp"
	"slices"

	"holdfast/catalog"
)

// Candidate is a member as the choice of voters sees it.
type Candidate struct {
	ID      catalog.NodeID
	Place   string // where it is and fails together with others
	OutOnly bool   // can only dial out, never votes
	Voter   bool   // votes now
	Lost    bool   // the leader has not heard it for longer than the grace time
	Ready   bool   // knows nearly all that the leader knows; of no account for a voter
}

// ChooseVoters returns which members should vote, in the order of their ids: 7 of nine or more that may, 5 of five or
// more, 3 of three or more, else 1; fewer if places or lost members do not allow as many.
//
// A present voter stays unless it is lost and another can take its place, it may not vote, or the number or the
// spread requires fewer of its place. If there are three places, none holds a majority. While a voter is lost, no
// place gets a majority that it did not have. If no choice keeps these promises, the present voters that may vote
// stay.
func ChooseVoters(members []Candidate) []catalog.NodeID {
	able := slices.DeleteFunc(slices.Clone(members), func(c Candidate) bool { return c.OutOnly })
	present := slices.DeleteFunc(slices.Clone(able), func(c Candidate) bool { return !c.Voter })
	lost := slices.ContainsFunc(present, func(c Candidate) bool { return c.Lost })
	usable := slices.DeleteFunc(slices.Clone(able), func(c Candidate) bool { return !c.Voter && (c.Lost || !c.Ready) })
	for size := wanted(len(able)); size >= 1; size -= 2 {
		chosen := spread(usable, size, placesOf(able))
		if chosen == nil || lost && (len(chosen) < len(present) || shifts(present, chosen)) {
			continue
		}
		return idsOf(chosen)
	}
	return idsOf(present)
}

// wanted returns how many of n members are to vote.
func wanted(n int) int {
	switch {
	case n >= 9:
		return 7
	case n >= 5:
		return 5
	case n >= 3:
		return 3
	}
	return min(n, 1)
}

// spread picks size members, present voters that are heard first and present voters that are lost last, each
// time from the place that has the fewest so far; nil when there are not enough.
func spread(usable []Candidate, size, places int) []Candidate {
	most := size
	if places >= 3 {
		most = (size - 1) / 2 // of one place, so that none has a majority
		if size == 1 {
			most = 1
		}
	}
	left := slices.Clone(usable)
	count := make(map[string]int)
	var chosen []Candidate
	for len(chosen) < size {
		left = slices.DeleteFunc(left, func(c Candidate) bool { return count[c.Place] >= most })
		if len(left) == 0 {
			return nil
		}
		slices.SortFunc(left, func(a, b Candidate) int {
			return cmp.Or(rank(a)-rank(b), count[a.Place]-count[b.Place], cmp.Compare(a.ID, b.ID))
		})
		chosen = append(chosen, left[0])
		count[left[0].Place]++
		left = left[1:]
	}
	return chosen
}

// rank orders candidates: heard voters, then others, then lost voters.
func rank(c Candidate) int {
	switch {
	case c.Voter && c.Lost:
		return 2
	case c.Voter:
		return 0
	}
	return 1
}

// shifts reports whether a place has a majority of next that did not have one of now.
func shifts(now, next []Candidate) bool {
	before := majority(now)
	after := majority(next)
	return after != nil && (before == nil || *before != *after)
}

// majority returns the place with more than half of the members, or nil.
func majority(members []Candidate) *string {
	count := make(map[string]int)
	for _, c := range members {
		if count[c.Place]++; 2*count[c.Place] > len(members) {
			return &c.Place
		}
	}
	return nil
}

func placesOf(members []Candidate) int {
	places := make(map[string]struct{})
	for _, c := range members {
		places[c.Place] = struct{}{}
	}
	return len(places)
}

func idsOf(members []Candidate) []catalog.NodeID {
	ids := make([]catalog.NodeID, 0, len(members))
	for _, c := range members {
		ids = append(ids, c.ID)
	}
	slices.Sort(ids)
	return ids
}
