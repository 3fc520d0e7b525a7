package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Limits on how many types and codes are counted separately; servers may invent any number. The rest is summed up.
const (
	maxTypes    = 400
	maxStatuses = 300
	maxTypeName = 100
)

const otherTypes = "other"

// otherStatuses stands for all codes that are not counted separately.
const otherStatuses = 0

// Count is a number of URIs and their bytes.
type Count struct {
	URLs  int64 `json:"urls"`
	Bytes int64 `json:"bytes"`
}

func (c *Count) add(bytes int64) {
	c.URLs++
	c.Bytes += max(bytes, 0)
}

// Captures counts captures by how far they were new.
type Captures struct {
	Novel       Count `json:"novel"`
	DupByHash   Count `json:"dup_by_hash"`
	NotModified Count `json:"not_modified"`
}

// Add counts a capture.
func (c *Captures) Add(r Revisit, bytes int64) {
	switch r {
	case DupByHash:
		c.DupByHash.add(bytes)
	case NotModified:
		c.NotModified.add(bytes)
	case Discarded:
	default:
		c.Novel.add(bytes)
	}
}

// Stats are the figures of a crawl that its reports show. Their size is bounded: they are committed with every commit.
// Their methods are for one goroutine at a time.
type Stats struct {
	Started  time.Time        `json:"started"`
	Elapsed  time.Duration    `json:"elapsed"`
	Objects  int64            `json:"objects"` // documents, prerequisites apart
	Statuses map[int]int64    `json:"statuses"`
	Types    map[string]Count `json:"types"`
	Captures Captures         `json:"captures"`
	Discard  Count            `json:"discarded"` // fetched, not kept
}

// NewStats are the figures of a crawl that has just begun.
func NewStats() *Stats {
	return &Stats{Started: time.Now().UTC(), Statuses: map[int]int64{}, Types: map[string]Count{}}
}

// Clone returns a copy.
func (s *Stats) Clone() *Stats {
	out := *s
	out.Statuses, out.Types = maps.Clone(s.Statuses), maps.Clone(s.Types)
	return &out
}

// Add counts a line of the log.
func (s *Stats) Add(l *Line) {
	status := l.Status
	if _, known := s.Statuses[status]; !known && len(s.Statuses) >= maxStatuses {
		status = otherStatuses
	}
	s.Statuses[status]++
	if !l.Success() {
		return
	}
	if l.Size >= 0 && !strings.HasSuffix(l.Path, "P") {
		s.Objects++
	}
	revisit := l.Revisit()
	if s.Captures.Add(revisit, l.Size); revisit == Discarded {
		s.Discard.add(l.Size)
	}
	mime := strings.ToLower(mediaType(l.MIME))
	if mime == "" {
		mime = noType
	}
	c, known := s.Types[mime]
	if !known && (len(s.Types) >= maxTypes || len(mime) > maxTypeName) {
		mime = otherTypes
		c = s.Types[mime]
	}
	c.add(l.Size)
	s.Types[mime] = c
}

// TypeCount is how much there was of a media type.
type TypeCount struct {
	Type string `json:"type"`
	Count
}

// StatusCount is how many URIs ended with a status.
type StatusCount struct {
	Status int   `json:"status"`
	URLs   int64 `json:"urls"`
}

// TopTypes are the n types with the most URIs, and the sum of the rest.
func (s *Stats) TopTypes(n int) (top []TypeCount, rest Count) {
	for t, c := range s.Types {
		if t != otherTypes {
			top = append(top, TypeCount{t, c})
		}
	}
	rest = s.Types[otherTypes]
	slices.SortFunc(top, func(a, b TypeCount) int {
		return cmp.Or(cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Type, b.Type))
	})
	for _, c := range top[min(n, len(top)):] {
		rest.URLs += c.URLs
		rest.Bytes += c.Bytes
	}
	return top[:min(n, len(top))], rest
}

// TopStatuses are the n statuses with the most URIs, and the sum of the rest.
func (s *Stats) TopStatuses(n int) (top []StatusCount, rest int64) {
	for code, urls := range s.Statuses {
		if code != otherStatuses {
			top = append(top, StatusCount{code, urls})
		}
	}
	rest = s.Statuses[otherStatuses]
	slices.SortFunc(top, func(a, b StatusCount) int {
		return cmp.Or(cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Status, b.Status))
	})
	for _, c := range top[min(n, len(top)):] {
		rest += c.URLs
	}
	return top[:min(n, len(top))], rest
}
