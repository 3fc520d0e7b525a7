package journal

import (
	"fmt"
	"math"

	"holdfast/crawler/frontier"
)

// accounted is what a commit records about a WARC file: up to where its records are accounted for, and between which
// positions of crawl.log the lines of its URIs are, from the first commit that had one to the last.
type accounted struct {
	end, first, last int64
}

// valueWARC begins the names of the frontier's values that record how far a WARC file is accounted for.
const valueWARC = "warc/"

// readAccounted reads what was committed about a WARC file.
func readAccounted(f *frontier.Frontier, file string) (a accounted, err error) {
	v, err := f.Value(valueWARC + file)
	if err != nil || len(v) == 0 {
		return accounted{}, err
	}
	n, err := fmt.Sscan(string(v), &a.end, &a.first, &a.last)
	if n == 1 { // an earlier version kept no more
		return accounted{a.end, 0, math.MaxInt64}, nil
	}
	if err != nil {
		return accounted{}, fmt.Errorf("read what is stored about %s: %.100q: %w", file, v, err)
	}
	return a, nil
}

func (a accounted) bytes() []byte { return fmt.Appendf(nil, "%d %d %d", a.end, a.first, a.last) }

// accountFor keeps with the batch that the file's records up to end are accounted for, by lines of crawl.log from one
// offset up to another.
func accountFor(f *frontier.Frontier, b *frontier.Batch, file string, end, from, to int64) error {
	a, err := readAccounted(f, file)
	if err != nil {
		return err
	}
	if a.end == 0 {
		a.first = from
	}
	a.end, a.last = max(a.end, end), to
	b.Set(valueWARC+file, a.bytes())
	return nil
}
