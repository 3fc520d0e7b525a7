package split

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// ErrOrder reports a configuration that comes out of order, or twice.
var ErrOrder = errors.New("the configuration is out of order")

// mostOpen is how many jobs are open at a time, because a domain has several configurations.
const mostOpen = 64

// Job is the configurations of one job. They have one template, one set of settings laid over it and one byte limit.
type Job struct {
	Configurations []Configuration
	Expected       int64 // objects, of all configurations

	least, most int64 // expected of a configuration
	domains     map[string]struct{}
}

// Builder makes jobs of configurations that come one by one, in order. A configuration whose domain is in a job already
// goes into another job beside it; one that does not fit for another reason ends the job. It is not safe for concurrent
// use.
type Builder struct {
	settings Settings
	most     int // configurations in a job
	open     []*Job
	inHand   int
	last     Configuration
	begun    bool
}

// NewBuilder begins the jobs of a snapshot harvest, or of one that is selective or of an event.
func NewBuilder(s Settings, snapshot bool) *Builder {
	return &Builder{settings: s, most: s.mostIn(snapshot)}
}

// Add takes the next configuration and returns the jobs that are complete by that, in order. The error is ErrOrder;
// then nothing has changed.
func (b *Builder) Add(c Configuration) (done []*Job, err error) {
	if b.begun && Compare(b.last, c) >= 0 {
		return nil, fmt.Errorf("%w: %s of %s after %s of %s", ErrOrder, c.Name, c.Domain, b.last.Name, b.last.Domain)
	}
	if b.begun && !alike(b.last, c) {
		done = b.End()
	}
	b.last, b.begun = c, true
	for len(b.open) == mostOpen || b.inHand >= int(b.settings.DomainConfigSubsetSize) {
		done = append(done, b.end(0))
	}
	for i := 0; i < len(b.open); {
		job := b.open[i]
		if _, there := job.domains[c.Domain]; there {
			i++
		} else if !b.fits(job, c) {
			done = append(done, b.end(i))
		} else {
			b.put(job, c)
			return done, nil
		}
	}
	job := &Job{least: math.MaxInt64, domains: map[string]struct{}{}}
	b.open = append(b.open, job)
	b.put(job, c)
	return done, nil
}

// End returns the jobs that are left, in order.
func (b *Builder) End() (done []*Job) {
	for len(b.open) > 0 {
		done = append(done, b.end(0))
	}
	return done
}

// end takes a job out of those that are open.
func (b *Builder) end(i int) *Job {
	job := b.open[i]
	b.open = append(b.open[:i], b.open[i+1:]...)
	b.inHand -= len(job.Configurations)
	job.domains = nil
	return job
}

func (b *Builder) put(job *Job, c Configuration) {
	job.Configurations = append(job.Configurations, c)
	job.domains[c.Domain] = struct{}{}
	job.Expected = c.Expected + min(job.Expected, math.MaxInt64-c.Expected)
	job.least, job.most = min(job.least, c.Expected), max(job.most, c.Expected)
	b.inHand++
}

// alike reports whether two configurations may be in one job, as far as their settings go.
func alike(a, b Configuration) bool {
	return a.Template == b.Template && a.Overlay == b.Overlay && a.Bytes == b.Bytes
}

// fits reports whether there is room in a job, and the configuration is of a size with the others.
func (b *Builder) fits(job *Job, c Configuration) bool {
	if len(job.Configurations) >= b.most {
		return false
	}
	if b.settings.Generator == FixedCount {
		return true
	}
	if c.Expected > b.settings.MaxTotalSize-job.Expected {
		return false
	}
	least, most := min(job.least, c.Expected), max(job.most, c.Expected)
	return most-least < b.settings.MinAbsoluteSizeDifference || !b.settings.differ(least, most)
}

// differ reports whether the largest expectation is more than the given multiple of the smallest; 0 counts as 1.
func (s Settings) differ(least, most int64) bool {
	over, times := bits.Mul64(uint64(max(least, 1)), uint64(s.MaxRelativeSizeDifference))
	return over == 0 && uint64(max(most, 1)) > times
}
