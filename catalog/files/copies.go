package files

import (
	"strings"

	"holdfast/catalog/cluster"
)

// CopyFault says what is wrong with copies that are looked for.
type CopyFault string

// What may be wrong with a copy.
const (
	CopyOwed     CopyFault = "owed"     // it is required and not verified
	CopyDisputed CopyFault = "disputed" // an audit's finding waits for a verdict
	CopyCorrupt  CopyFault = "corrupt"  // its bytes were found to be others, and it is not repaired
	CopyMissing  CopyFault = "missing"  // it was not found, and is not repaired
)

// CopySearch says which copies are looked for.
type CopySearch struct {
	Fault   CopyFault
	Replica cluster.ReplicaName // empty: any
}

// FoundCopy is a copy that a search found, with its file.
type FoundCopy struct {
	File    File
	Replica cluster.ReplicaName
}

// FoundCopies are copies that a search found.
type FoundCopies struct {
	Copies []FoundCopy
	// Next is where there may be more, empty if there is none. There may be a next page behind an empty one.
	Next string
	// Total is how many copies all pages have, of those that are owed or disputed; else -1.
	Total int64
}

// Bounds of one page: how many copies are looked at in all, and at once.
const (
	copiesSeen = 2000
	copiesPage = 200
)

// The lists that searches go through: first the disputed copies by file, then the owed ones by replica and shard. A
// place in them is text: the list's letter and what is behind its prefix in the key.
const (
	inDisputed = "d"
	inOwed     = "o"
)

// Copies returns at most n copies behind the place; empty is the start. Copies that are not required any more are in no
// list. What was found corrupt or missing is disputed until the verdict, and owed from then on until the repair, and is
// looked for in both lists. A page ends after copiesSeen that were looked at.
func (v View) Copies(q CopySearch, after string, n int) (FoundCopies, error) {
	s := copySearch{View: v, q: q, n: n, after: after}
	whole, err := true, s.count()
	if err == nil && q.Fault != CopyOwed {
		whole, err = s.walk(inDisputed, PrefixDisputed, PrefixDisputed)
	}
	if err == nil && whole && q.Fault != CopyDisputed {
		within := prefixOwed
		if q.Replica != "" {
			within = PrefixOwed(q.Replica)
		}
		_, err = s.walk(inOwed, prefixOwed, within)
	}
	return s.found, err
}

// copySearch is one search.
type copySearch struct {
	View
	q     CopySearch
	n     int
	after string // the place that was seen last
	seen  int
	found FoundCopies
}

// count adds up what the replicas have counted.
func (s *copySearch) count() error {
	if s.q.Fault != CopyOwed && s.q.Fault != CopyDisputed {
		s.found.Total = -1
		return nil
	}
	replicas, err := s.Replicas()
	for _, r := range replicas {
		if s.q.Replica != "" && s.q.Replica != r.Name {
			continue
		}
		totals, err := s.Totals(r.Name)
		if err != nil {
			return err
		}
		if s.q.Fault == CopyOwed {
			s.found.Total += totals.Owed
		} else {
			s.found.Total += totals.Disputed
		}
	}
	return err
}

// walk goes through what is within a list. It reports false when the page ended before the list.
func (s *copySearch) walk(list, prefix, within string) (bool, error) {
	for s.after < list+"\xff" {
		from := within
		if tail, inside := strings.CutPrefix(s.after, list); inside {
			from = max(from, prefix+tail+"\x00")
		}
		var tails []string
		err := s.Reader.Scan([]byte(within), []byte(from), func(key, _ []byte) bool {
			tails = append(tails, string(key[len(prefix):]))
			return len(tails) < copiesPage
		})
		if err != nil {
			return false, err
		}
		for _, tail := range tails {
			if s.seen == copiesSeen {
				s.found.Next = s.after
				return false, nil
			}
			s.seen++
			if whole, err := s.take(list, tail); err != nil || !whole {
				return false, err
			}
			s.after = list + tail
		}
		if len(tails) < copiesPage {
			break
		}
	}
	return true, nil
}

// take puts a copy into the page if it is one that is looked for. It reports false when the page is full.
func (s *copySearch) take(list, tail string) (bool, error) {
	name, replica, _ := strings.Cut(tail, "/")
	if list == inOwed {
		replica, name, _ = strings.Cut(tail, "/")
		_, name, _ = strings.Cut(name, "/")
	}
	if s.q.Replica != "" && replica != string(s.q.Replica) {
		return true, nil
	}
	f, err := s.File(FileName(name))
	if err != nil {
		return false, err
	}
	c := f.Copy(cluster.ReplicaName(replica))
	if c == nil || !s.matches(list, c) {
		return true, nil
	}
	if len(s.found.Copies) == s.n {
		s.found.Next = s.after
		return false, nil
	}
	s.found.Copies = append(s.found.Copies, FoundCopy{f, c.Replica})
	return true, nil
}

func (s *copySearch) matches(list string, c *Copy) bool {
	if list == inOwed && s.q.Fault != CopyOwed && c.Disputed { // it was in the other list
		return false
	}
	switch s.q.Fault {
	case CopyCorrupt:
		return c.Checksum == ChecksumCorrupt
	case CopyMissing:
		return c.FileList == FileListMissing
	}
	return true
}
