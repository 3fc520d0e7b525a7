package replica

import (
	"sync"
	"time"
)

// restAfter is how long a Reading keeps its source open while nobody reads on. A slow reader must not hold a file
// open, or take up one of the limited readings that another node serves at once.
const restAfter = time.Second

// rest is the part of a Reading that closes what is open while nobody reads.
type rest struct {
	mu     sync.Mutex // held while something is read
	timer  *time.Timer
	asleep bool
	closed bool
}

// watch begins to wait for the next Read.
func (rd *Reading) watch() { rd.timer = time.AfterFunc(restAfter, rd.sleep) }

// sleep closes what is open, unless somebody is reading.
func (rd *Reading) sleep() {
	if !rd.mu.TryLock() {
		return // the end of that Read starts the wait again
	}
	defer rd.mu.Unlock()
	if rd.closed || rd.asleep || rd.in == nil {
		return
	}
	rd.asleep = true
	if err := rd.letGo(); err != nil {
		rd.r.log.Warn("a file that nobody reads on was not closed", "file", rd.want.Name, "err", err)
	}
}

// Read implements io.Reader.
func (rd *Reading) Read(p []byte) (int, error) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	if rd.asleep {
		rd.asleep = false
		rd.plan()
		if err := rd.next(); err != nil {
			return 0, err
		}
	}
	n, err := rd.read(p)
	if rd.in != nil {
		rd.timer.Reset(restAfter)
	}
	return n, err
}

// Close implements io.Closer.
func (rd *Reading) Close() error {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.closed = true
	if rd.timer != nil {
		rd.timer.Stop()
	}
	err := rd.letGo()
	rd.at = rd.end
	return err
}
