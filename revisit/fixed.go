package revisit

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Interval is how long URIs of a media type wait in the policy fixed.
type Interval struct {
	Type string // text/html, text/* or *
	Wait time.Duration
}

// Fixed is the policy fixed: an interval by media type, whatever the visits find.
type Fixed struct {
	intervals []Interval
}

// NewFixed checks the intervals. The first whose media type matches counts; the last is that of *.
func NewFixed(intervals []Interval) (*Fixed, error) {
	if len(intervals) == 0 {
		return nil, refuse("intervals", "empty", "a list that ends with *")
	}
	for i, in := range intervals {
		last := i == len(intervals)-1
		var err error
		switch {
		case last != (in.Type == "*"):
			err = refuse("type", fmt.Sprintf("%q", in.Type), "* for the last interval, a media type for the others")
		case !last && !mediaType.MatchString(in.Type):
			err = refuse("type", fmt.Sprintf("%q", in.Type), "a media type such as text/html or text/*")
		case in.Wait < time.Second || in.Wait > 3650*24*time.Hour:
			err = refuse("wait", in.Wait, "1s to 10 years")
		}
		if err != nil {
			return nil, fmt.Errorf("interval %d: %w", i+1, err)
		}
	}
	return &Fixed{intervals}, nil
}

// A media type, or all of a kind.
var mediaType = regexp.MustCompile(`\A[A-Za-z0-9!#$&^_.+-]+/([A-Za-z0-9!#$&^_.+-]+|\*)\z`)

// Wait is the interval of a content type, in milliseconds. Parameters and case do not count.
func (f *Fixed) Wait(contentType string) int64 {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	main, _, whole := strings.Cut(media, "/")
	for _, in := range f.intervals {
		of := strings.ToLower(in.Type)
		if of == "*" || of == media || whole && of == main+"/*" {
			return in.Wait.Milliseconds()
		}
	}
	return f.intervals[len(f.intervals)-1].Wait.Milliseconds()
}
