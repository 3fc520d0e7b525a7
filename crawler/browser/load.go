package browser

import (
	"context"
	"sync"
	"time"
)

// load is one page being loaded; it counts the page's requests.
type load struct {
	ctx    context.Context // of the page: its requests come over connections of their own
	cancel context.CancelFunc
	web    Web
	asking sync.WaitGroup

	mu       sync.Mutex
	main     string // the page's URL, as Chromium writes it
	requests int
	inFlight int
	waiting  int // of them, for their turn
	last     time.Time
}

func newLoad(ctx context.Context, web Web) *load {
	l := &load{web: web, last: time.Now()}
	l.ctx, l.cancel = context.WithCancel(ctx)
	return l
}

// more counts a request, and tells whether the page may make it.
func (l *load) more() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	return l.requests <= maxRequests
}

func (l *load) began() { l.change(1, 0) }

func (l *load) ended() { l.change(-1, 0) }

func (l *load) waits(waits bool) {
	if waits {
		l.change(0, 1)
	} else {
		l.change(0, -1)
	}
}

func (l *load) change(inFlight, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight += inFlight
	l.waiting += waiting
	l.last = time.Now()
}

// quiet tells for how long nothing was asked for.
func (l *load) quiet(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inFlight > 0 {
		return 0
	}
	return now.Sub(l.last)
}

// held tells whether all that is under way waits for its turn.
func (l *load) held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight > 0 && l.inFlight == l.waiting
}

// total is how much was asked for so far.
func (l *load) total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests
}

// document records under which request the page itself was loaded.
func (l *load) document(url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.main = url
}

// is tells whether that is the page itself.
func (l *load) is(url string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.main == url
}
