package render

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"holdfast/crawler/browser"
	"holdfast/crawler/plan"
	"holdfast/harvest"
)

// Bounds of the crawl's browsers.
const (
	maxBrowsers = 2                // at a time
	maxPages    = 50               // of one browser; then another is started, as they grow
	browserIdle = 30 * time.Second // after which a browser is ended that nobody needs
)

// Browsers are those of the crawl. They are started when a page needs one, and loaded with page after page.
type Browsers struct {
	dir string // of profiles

	memory *webMemory

	mu    sync.Mutex
	seats int // taken
	idle  []*idleBrowser
	clean bool // files of a killed process have been removed
}

type idleBrowser struct {
	*browser.Browser
	timer *time.Timer
}

// NewBrowsers are those of the crawl in a folder.
func NewBrowsers(dir string) *Browsers {
	return &Browsers{dir: filepath.Join(dir, "state", "browser"), memory: newWebMemory()}
}

// Available is nil if the browser that the settings ask for is there. The error wraps harvest.ErrInvalid.
func Available(s *harvest.Settings) error {
	if !plan.Browses(s) {
		return nil
	}
	if _, err := browser.Available(); err != nil {
		return fmt.Errorf("%w: browser_rules: %w", harvest.ErrInvalid, err)
	}
	return nil
}

// reserve takes a seat: the right to one browser. There are as many as workers, but few.
func (b *Browsers) reserve(workers int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seats >= min(workers, maxBrowsers) {
		return false
	}
	b.seats++
	return true
}

// leave gives a seat back.
func (b *Browsers) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seats--
}

// take returns a browser, which the caller, who has a seat, gives back or closes.
func (b *Browsers) take(ctx context.Context, cfg browser.Config) (*browser.Browser, error) {
	b.mu.Lock()
	if n := len(b.idle); n > 0 {
		last := b.idle[n-1]
		b.idle = b.idle[:n-1]
		b.mu.Unlock()
		last.timer.Stop()
		return last.Browser, nil
	}
	err := b.prepare()
	b.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("start a browser: %w", err)
	}
	cfg.Dir = b.dir
	return browser.Start(ctx, cfg)
}

// prepare empties and makes the folder of profiles. The caller holds mu.
func (b *Browsers) prepare() error {
	if b.clean {
		return nil
	}
	if err := browser.Clean(b.dir); err != nil {
		return err
	}
	b.clean = true
	return os.MkdirAll(b.dir, 0o755)
}

// give takes a browser back that is whole.
func (b *Browsers) give(one *browser.Browser) {
	if one.Pages() >= maxPages {
		one.Close()
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := &idleBrowser{Browser: one}
	i.timer = time.AfterFunc(browserIdle, func() { b.retire(i) })
	b.idle = append(b.idle, i)
}

// retire ends a browser that is still idle.
func (b *Browsers) retire(i *idleBrowser) {
	b.mu.Lock()
	kept := b.idle[:0]
	found := false
	for _, other := range b.idle {
		if other == i {
			found = true
			continue
		}
		kept = append(kept, other)
	}
	b.idle = kept
	b.mu.Unlock()
	if found {
		i.Close()
	}
}

// Close ends all browsers. Nobody may be using one.
func (b *Browsers) Close() error {
	b.mu.Lock()
	idle, clean := b.idle, b.clean
	b.idle = nil
	b.mu.Unlock()
	for _, i := range idle {
		i.timer.Stop()
		i.Close()
	}
	if !clean {
		return nil
	}
	return browser.Clean(b.dir)
}
