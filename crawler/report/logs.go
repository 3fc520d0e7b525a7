package report

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"holdfast/internal/disk"
)

// Names of the logs of a crawl.
const (
	CrawlLog         = "crawl.log"
	URIErrorsLog     = "uri-errors.log"
	RuntimeErrorsLog = "runtime-errors.log"
	NonfatalLog      = "nonfatal-errors.log"
	ProgressLog      = "progress-statistics.log"
	AlertsLog        = "alerts.log"
	JobLog           = "job.log"
)

// Logs are the logs of a crawl. The first four are about URIs: after a crash they are cut to what was committed with
// the URIs. The others are about what happened when, and keep every complete line.
type Logs struct {
	Crawl, URIErrors, RuntimeErrors, Nonfatal *Log
	Progress, Alerts, Job                     *Log
}

// Sizes are the sizes of the logs about URIs at a commit.
type Sizes struct {
	Crawl, URIErrors, RuntimeErrors, Nonfatal int64
}

// String is the form in which sizes are committed.
func (s Sizes) String() string {
	return fmt.Sprintf("%d %d %d %d", s.Crawl, s.URIErrors, s.RuntimeErrors, s.Nonfatal)
}

// ParseSizes reads what String wrote. Sizes that are not given are 0: an earlier version committed that of crawl.log
// alone.
func ParseSizes(s string) (Sizes, error) {
	var sizes Sizes
	words := strings.Fields(s)
	to := []*int64{&sizes.Crawl, &sizes.URIErrors, &sizes.RuntimeErrors, &sizes.Nonfatal}
	if len(words) > len(to) {
		return Sizes{}, fmt.Errorf("read sizes of logs: %.100q", s)
	}
	for i, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil || n < 0 {
			return Sizes{}, fmt.Errorf("read sizes of logs: %.100q", s)
		}
		*to[i] = n
	}
	return sizes, nil
}

// OpenLogs opens the logs in dir, or begins them; sizes are those of the last commit.
func OpenLogs(d disk.Disk, dir string, sizes Sizes) (*Logs, error) {
	l := &Logs{}
	for _, o := range []struct {
		to   **Log
		name string
		size int64 // negative: all whole lines
	}{
		{&l.Crawl, CrawlLog, sizes.Crawl}, {&l.URIErrors, URIErrorsLog, sizes.URIErrors},
		{&l.RuntimeErrors, RuntimeErrorsLog, sizes.RuntimeErrors}, {&l.Nonfatal, NonfatalLog, sizes.Nonfatal},
		{&l.Progress, ProgressLog, -1}, {&l.Alerts, AlertsLog, -1}, {&l.Job, JobLog, -1},
	} {
		path := filepath.Join(dir, o.name)
		var err error
		if o.size < 0 {
			*o.to, err = OpenWholeLog(d, path)
		} else {
			*o.to, err = OpenLog(d, path, o.size)
		}
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

func (l *Logs) all() []*Log {
	return []*Log{l.Crawl, l.URIErrors, l.RuntimeErrors, l.Nonfatal, l.Progress, l.Alerts, l.Job}
}

// Flush puts all lines on stable storage and returns the sizes to commit.
func (l *Logs) Flush() (Sizes, error) {
	var sizes [7]int64
	var errs []error
	for i, log := range l.all() {
		size, err := log.Flush()
		sizes[i] = size
		errs = append(errs, err)
	}
	return Sizes{sizes[0], sizes[1], sizes[2], sizes[3]}, errors.Join(errs...)
}

// Close closes the logs.
func (l *Logs) Close() error {
	var errs []error
	for _, log := range l.all() {
		if log != nil {
			errs = append(errs, log.Close())
		}
	}
	return errors.Join(errs...)
}
