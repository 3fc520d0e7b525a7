package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"

	"holdfast/catalog/agree"
)

// Statistic is what an attempt of a job brought for a configuration of a domain. The last one of an attempt may have no
// domain: it sums up what counted for other domains.
type Statistic struct {
	Domain  string `json:"domain,omitempty"`
	Name    string `json:"name,omitempty"` // of the configuration
	Objects int64  `json:"objects"`
	Bytes   int64  `json:"bytes"`
	Stop    string `json:"stop,omitempty"` // why its harvest ended

	// The configuration's own limits, as they were; nil: none.
	MaxObjects *int64 `json:"maxObjects,omitempty"`
	MaxBytes   *int64 `json:"maxBytes,omitempty"`
}

// StatisticsInChunk is how many statistics each chunk has but the last, and MaxChunks how many chunks there are at
// most.
const (
	StatisticsInChunk = 300
	MaxChunks         = 900
)

// tally says which statistics of an attempt have come.
type tally struct {
	Chunks int  `json:"chunks"`
	Whole  bool `json:"whole,omitempty"` // the last of them is there
}

// chunk is a list of statistics as it is stored.
type chunk struct {
	Statistics []Statistic `json:"statistics"`
}

// Counted is how far the statistics of a job that has ended are in the history of its domains.
type Counted struct {
	Job   uint64 `json:"job"`
	After int    `json:"after,omitempty"` // as many chunks are there
}

func (b *JobStatistics) check() error {
	n := len(b.Statistics)
	if n < 1 || n > StatisticsInChunk || !b.Last && n < StatisticsInChunk || b.Number < 1 || b.Number > MaxChunks {
		return agree.Refuse(agree.Invalid, "chunk %d with %d statistics: want at most %d chunks, each with %d, or "+
			"fewer in the last", b.Number, n, MaxChunks, StatisticsInChunk)
	}
	for i := range b.Statistics {
		if err := b.Statistics[i].check(b.Last && i == n-1); err != nil {
			return err
		}
	}
	return nil
}

func (x *Statistic) check(last bool) error {
	if x.Objects < 0 || x.Bytes < 0 || len(x.Stop) > 64 || x.MaxObjects != nil && *x.MaxObjects < 0 ||
		x.MaxBytes != nil && *x.MaxBytes < 0 {
		return agree.Refuse(agree.Invalid, "statistics of %q: a number below 0, or a long stop reason",
			agree.Clip(x.Domain, 253))
	}
	if x.Domain == "" && x.Name == "" && last {
		return nil
	}
	if !isDomain(x.Domain) {
		return agree.Refuse(agree.Invalid, "statistics of %q, which is no domain", agree.Clip(x.Domain, 253))
	}
	return agree.CheckName("configuration", x.Name)
}

// isDomain reports whether a text can be the domain of a host: a name, or an address of version 4.
func isDomain(text string) bool {
	if text == "" || len(text) > 253 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}

// addStatistics adds a chunk of the statistics of an attempt that is under way. The same chunk again changes nothing;
// another takes its place, and those behind it go. They count when the attempt ends and says so.
func addStatistics(s *agree.State, b *JobStatistics) (any, error) {
	if err := s.SpeaksFor(b.Node); err != nil {
		return nil, err
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	j, err := fenced(s, b.ID, b.Node, b.Attempt)
	if err != nil {
		return nil, err
	}
	if !j.busy() {
		return nil, agree.Refuse(agree.Conflict, "job %d is %s", j.ID, j.State)
	}
	t, _, err := agree.Get[tally](s, keyTally(b.ID, b.Attempt))
	if err != nil {
		return nil, err
	}
	if b.Number > t.Chunks+1 || b.Number == t.Chunks+1 && t.Whole {
		return nil, agree.Refuse(agree.Conflict, "attempt %d of job %d has %d chunks of statistics: the next is not %d",
			b.Attempt, b.ID, t.Chunks, b.Number)
	}
	if b.Number <= t.Chunks {
		same, err := b.same(s)
		if err != nil || same && b.Last == (t.Whole && b.Number == t.Chunks) {
			return nil, err
		}
	}
	for n := b.Number + 1; n <= t.Chunks; n++ {
		s.Delete(keyChunk(b.ID, b.Attempt, n))
	}
	if err := s.Set(keyChunk(b.ID, b.Attempt, b.Number), chunk{b.Statistics}); err != nil {
		return nil, err
	}
	return nil, s.Set(keyTally(b.ID, b.Attempt), tally{Chunks: b.Number, Whole: b.Last})
}

// same reports whether the chunk is there as it is.
func (b *JobStatistics) same(s *agree.State) (bool, error) {
	had, _, err := agree.Get[chunk](s, keyChunk(b.ID, b.Attempt, b.Number))
	if err != nil {
		return false, err
	}
	is, err := json.Marshal(had.Statistics)
	if err != nil {
		return false, err
	}
	want, err := json.Marshal(b.Statistics)
	return bytes.Equal(is, want), err
}

// count makes the chunks of the attempt that ends count, as many as it says; all or none of them. It reads and writes
// as much for one chunk as for many.
func (j *Job) count(s *agree.State, chunks int) error {
	if chunks == 0 {
		return j.lose(s)
	}
	t, _, err := agree.Get[tally](s, keyTally(j.ID, j.Attempt))
	if err != nil {
		return err
	}
	if t.Chunks != chunks || !t.Whole {
		return agree.Refuse(agree.Conflict, "attempt %d of job %d has %d chunks of statistics, not %d", j.Attempt,
			j.ID, t.Chunks, chunks)
	}
	j.Statistics = chunks
	return s.Set(keyUncounted(j.ID), Counted{Job: j.ID})
}

// lose notes that the statistics of the attempt, if there are any, count for nothing: they are removed later.
func (j *Job) lose(s *agree.State) error {
	if s.Cluster.Level < LevelOfParts {
		return nil
	}
	there, err := agree.Has(s, keyTally(j.ID, j.Attempt))
	if err == nil && there {
		s.Mark(keyLost(j.ID, j.Attempt))
	}
	return err
}

// dropStatistics removes the statistics of an attempt that count for nothing. Nothing is left of them.
func dropStatistics(s *agree.State, b *JobRef) (any, error) {
	if b.Attempt < 0 {
		return nil, agree.Refuse(agree.Invalid, "attempt %d", b.Attempt)
	}
	if there, err := agree.Has(s, keyLost(b.ID, b.Attempt)); err != nil || !there {
		return nil, err
	}
	t, _, err := agree.Get[tally](s, keyTally(b.ID, b.Attempt))
	if err != nil {
		return nil, err
	}
	for n := 1; n <= t.Chunks; n++ {
		s.Delete(keyChunk(b.ID, b.Attempt, n))
	}
	s.Delete(keyTally(b.ID, b.Attempt))
	s.Delete(keyLost(b.ID, b.Attempt))
	return nil, nil
}

// CountNext notes that one more chunk of the job's statistics is in the history.
func CountNext(s *agree.State, j *Job, c Counted) error {
	if c.After++; c.After < j.Statistics {
		return s.Set(keyUncounted(j.ID), c)
	}
	s.Delete(keyUncounted(j.ID))
	return nil
}

// Uncounted returns at most n jobs that have ended and whose statistics are not all in the history yet.
func (v View) Uncounted(n int) ([]Counted, error) {
	return agree.List[Counted](v.Reader, PrefixUncounted, "", n)
}

// UncountedJob returns how far the job's statistics are in the history, or ErrNotFound if all are or it has none.
func (v View) UncountedJob(id uint64) (Counted, error) {
	return agree.Found(agree.Get[Counted](v.Reader, keyUncounted(id)))
}

// Chunk returns a chunk of the statistics of a job that has ended; the first is 1.
func (v View) Chunk(j *Job, n int) ([]Statistic, error) {
	if n < 1 || n > j.Statistics {
		return nil, agree.ErrNotFound
	}
	c, there, err := agree.Get[chunk](v.Reader, keyChunk(j.ID, j.Attempt, n))
	if err == nil && !there {
		err = agree.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("chunk %d of the statistics of job %d: %w", n, j.ID, err)
	}
	return c.Statistics, nil
}

// Statistics returns at most n statistics of a job that has ended, behind the first ones, in the order in which they
// came: that of the domains.
func (v View) Statistics(j *Job, after, n int) (out []Statistic, err error) {
	for number := after/StatisticsInChunk + 1; number <= j.Statistics && len(out) < n; number++ {
		some, err := v.Chunk(j, number)
		if err != nil {
			return nil, err
		}
		some = some[min(after-(number-1)*StatisticsInChunk, len(some)):]
		some = some[:min(n-len(out), len(some))]
		out, after = append(out, some...), after+len(some)
	}
	return out, nil
}

// LostStatistics returns at most n attempts whose statistics count for nothing and are there still.
func (v View) LostStatistics(n int) (out []JobRef, err error) {
	tails, err := agree.Tails(v.Reader, PrefixLost, "", n)
	for _, tail := range tails {
		var ref JobRef
		if _, err := fmt.Sscanf(tail, "%16x/%8x", &ref.ID, &ref.Attempt); err != nil {
			return nil, fmt.Errorf("catalog key %q: %w", PrefixLost+tail, err)
		}
		out = append(out, ref)
	}
	return out, err
}
