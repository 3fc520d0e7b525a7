package events

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
)

// Read returns the events in the job.log at path that come after one number and before another, the oldest at most max
// of them. Missed says that the log does not reach back to the first of them: what only was a sample never stood in it,
// and is not missed.
func Read(path string, after, before uint64, max int) (found []Event, missed bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, fmt.Errorf("read events: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, false, fmt.Errorf("read events: %w", err)
	}
	end := info.Size()
	first, _, err := next(lines(f, 0, end))
	if err == nil {
		missed = first.Number > after+1 && after+1 < before
	}
	for r := lines(f, seek(f, end, after), end); err == nil && len(found) < max; {
		var e Event
		if e, _, err = next(r); err != nil || e.Number >= before {
			break
		}
		if e.Number > after {
			found = append(found, e)
		}
	}
	if err != nil && err != io.EOF {
		return nil, false, fmt.Errorf("read events: %w", err)
	}
	return found, missed, nil
}

// All is Read's before for no bound.
const All = math.MaxUint64

// near is how far before the target a search of the log may stop.
const near = 64 << 10

// seek finds where in the log, or little after which, the events after a number begin: numbers grow.
func seek(f io.ReaderAt, end int64, after uint64) int64 {
	low, high := int64(0), end
	for high-low > near {
		middle := low + (high-low)/2
		r := lines(f, middle, high)
		torn, _ := r.ReadBytes('\n') // its length is what counts
		e, skipped, err := next(r)
		if err != nil || e.Number > after {
			high = middle
		} else {
			low = middle + int64(len(torn)) + skipped
		}
	}
	return low
}

func lines(f io.ReaderAt, from, end int64) *bufio.Reader {
	return bufio.NewReader(io.NewSectionReader(f, from, end-from))
}

// next reads the next line that is an event, and how many bytes stood before that; io.EOF after the last. What no line
// ends is not one.
func next(r *bufio.Reader) (e Event, skipped int64, err error) {
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return e, skipped, err
		}
		if e, err = Parse(line); err == nil {
			return e, skipped, nil
		}
		skipped += int64(len(line))
	}
}
