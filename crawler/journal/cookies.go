package journal

import (
	"fmt"
	"sync/atomic"
	"time"

	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
)

// valueCookies names the frontier's value that has the cookies.
const valueCookies = "cookies"

// All cookies are written when any changed. A few, and those of a login, are durable with the answer that set them;
// many wait so that they do not take the disk, and a crash takes them back that far.
const (
	fewCookies   = 32 << 10  // bytes
	cookieRate   = 256 << 10 // bytes a second of more
	cookiesEvery = 5 * time.Second
)

// Cookies keeps a jar's cookies in the frontier.
type Cookies struct {
	jar      *fetch.Jar
	frontier *frontier.Frontier
	due      atomic.Bool

	kept uint64 // changes of the jar that were kept; this and what follows is of the one who commits
	at   time.Time
	size int
}

// NewCookies keeps the cookies of a jar.
func NewCookies(jar *fetch.Jar, f *frontier.Frontier) *Cookies {
	return &Cookies{jar: jar, frontier: f}
}

// Due has the cookies kept with the next commit.
func (c *Cookies) Due() { c.due.Store(true) }

// load reads the cookies that were kept; first are those of a crawl that has kept none.
func (c *Cookies) load(first string) error {
	cookies, err := c.frontier.Value(valueCookies)
	if err == nil && len(cookies) > 0 {
		err = c.jar.Import(cookies, time.Now())
	} else if err == nil {
		_, err = c.jar.ImportText([]byte(first), time.Now())
	}
	if err != nil {
		return fmt.Errorf("read cookies: %w", err)
	}
	return nil
}

// keep keeps the cookies with the commit, if they changed and are due, as they are with the last one.
func (c *Cookies) keep(b *frontier.Batch, now time.Time, last bool) error {
	changes := c.jar.Changes()
	wait := time.Duration(0)
	if size := c.size; size > fewCookies {
		wait = min(time.Duration(size)*time.Second/cookieRate, cookiesEvery)
	}
	if due := c.due.Swap(false); changes == c.kept || now.Sub(c.at) < wait && !due && !last {
		return nil
	}
	data, err := c.jar.Export()
	if err != nil {
		return fmt.Errorf("keep cookies: %w", err)
	}
	b.Set(valueCookies, data)
	c.kept, c.at, c.size = changes, now, len(data)
	return nil
}
