package fetch

import (
	"sync"
	"time"
)

// idleTime is how long a connection is kept for a next request.
const idleTime = 15 * time.Second

// pool keeps idle connections, by server, the most recently used last.
type pool struct {
	mu    sync.Mutex
	max   int
	count int
	conns map[server][]*conn
}

func newPool(max int) *pool { return &pool{max: max, conns: map[server][]*conn{}} }

// take returns an idle connection to the server, or nil. A connection that speaks HTTP/2 is closed if HTTP/2 is not
// wanted.
func (p *pool) take(key server, h2 bool) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.conns[key]
	for len(list) > 0 {
		c := list[len(list)-1]
		list[len(list)-1] = nil
		list = list[:len(list)-1]
		p.count--
		p.conns[key] = list
		if len(list) == 0 {
			delete(p.conns, key)
		}
		if time.Since(c.idle) < idleTime && (h2 || c.h2 == nil) {
			return c
		}
		c.Close()
	}
	return nil
}

func (p *pool) put(key server, c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count >= p.max {
		p.evict()
	}
	if p.count >= p.max {
		c.Close()
		return
	}
	c.idle = time.Now()
	p.conns[key] = append(p.conns[key], c)
	p.count++
}

// evict closes the connection that has been idle longest.
func (p *pool) evict() {
	var oldest server
	var since time.Time
	for key, list := range p.conns {
		if since.IsZero() || list[0].idle.Before(since) {
			oldest, since = key, list[0].idle
		}
	}
	list := p.conns[oldest]
	if len(list) == 0 {
		return
	}
	list[0].Close()
	p.count--
	if len(list) == 1 {
		delete(p.conns, oldest)
		return
	}
	p.conns[oldest] = list[1:]
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, list := range p.conns {
		for _, c := range list {
			c.Close()
		}
		delete(p.conns, key)
	}
	p.count, p.max = 0, 0
}
