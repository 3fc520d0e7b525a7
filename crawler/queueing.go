package crawler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// What queues are by.
const (
	queueByIP     = "ip"
	queueByDomain = scope.QueueByDomain
)

// entry is a URI as the frontier takes it: by what it is known, in which queue it stands, and what it costs.
func (c *Crawl) entry(url string, t fetch.Target, s *harvest.Settings) frontier.URI {
	u := frontier.URI{URL: url, Queue: queueOf(t, s), Cost: cost(t, s)}
	if site := t.Scheme + "://" + t.Authority; c.aside.has(site) {
		u.Queue = site
	}
	if key := c.canon.Canonical(url); key != url {
		u.Key = key
	}
	u.Host = hostOf(t)
	return u
}

// hostOf is the host as reports tell of it: without its port, as in Heritrix's.
func hostOf(t fetch.Target) string { return strings.TrimSuffix(t.Authority, ":"+t.Port) }

// queueOf names the queue of a URI. Queues by address are by host, too: it is their turns at a host that are by address,
// as a host may have another address tomorrow.
func queueOf(t fetch.Target, s *harvest.Settings) string {
	return scope.QueueName(s, t.Authority, func() string {
		subject := scope.Subject{URL: t.URL}
		return subject.Domain()
	})
}

// asideSites are the sites, as "https://example.org", that have a queue of their own as they did not answer: what shared their queue goes on without
// them. The queue is a place to wait in alone: turns at the host are those of all its URIs. It is safe for concurrent use.
type asideSites struct {
	mu    sync.RWMutex
	sites map[string]bool
}

func (a *asideSites) has(site string) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.sites[site]
}

func (a *asideSites) any() bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return len(a.sites) > 0
}

func (a *asideSites) add(site string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sites == nil {
		a.sites = map[string]bool{}
	}
	a.sites[site] = true
}

// siteOf is the site that a URI is for: its own or, of a prerequisite, that of the URI which needs it; "" if there is none.
func siteOf(u *frontier.URI) string {
	url := u.URL
	if isPrerequisite(u) {
		url = u.Via
	}
	t, err := fetch.ParseTarget(url)
	if err != nil {
		return ""
	}
	return t.Scheme + "://" + t.Authority
}

// setAside moves a URI of a site that has a queue of its own there, and tells whether it did.
func (w *worker) setAside(u *frontier.URI) (bool, error) {
	if !w.aside.any() {
		return false, nil
	}
	site := siteOf(u)
	if site == "" || u.Queue == site || !w.aside.has(site) {
		return false, nil
	}
	return true, w.frontier.Move(u, site)
}

// retryApart gives a URI back whose site does not answer, to be tried again after delay. What else is in its queue goes on meanwhile.
func (w *worker) retryApart(v *visit, delay time.Duration) error {
	wait := w.politeness(v)
	w.endTurn(v)
	site := siteOf(v.uri)
	if site == "" {
		w.frontier.Retry(v.uri, delay, wait, true)
		return nil
	}
	moved, err := w.frontier.RetryApart(v.uri, site, site+"/", delay, wait)
	if moved {
		w.aside.add(site)
		w.frontier.SetValue(valueAside+site, []byte("1"))
	}
	return err
}

// longPath is from where a path costs more.
const longPath = 100

// cost is what a fetch takes of its queue's budgets.
func cost(t fetch.Target, s *harvest.Settings) int64 {
	switch s.CostPolicy {
	case "zero":
		return 0
	case "wag":
		n := int64(1)
		if strings.Contains(t.Path, "?") {
			n++
		}
		if len(t.Path) > longPath {
			n++
		}
		return n
	}
	return 1
}

// policy tells the frontier how to treat a queue, of which uri gives a URI.
func (c *Crawl) policy(queue string, uri func() string) frontier.Policy {
	s := c.base()
	if !c.plan.Load().sheets.Empty() {
		s = c.settingsOfQueue(queue, uri())
	}
	return frontier.Policy{Valence: s.HostValence, SessionBudget: s.SessionBudget, TotalBudget: s.TotalBudget, Precedence: s.Precedence}
}

// settingsOfQueue are the settings in effect for a queue of which uri is one: those of the root of its site, as a queue is of a whole site
// or more; of a queue that a sheet names, those of the URI that has that name.
func (c *Crawl) settingsOfQueue(queue, uri string) *harvest.Settings {
	t, err := fetch.ParseTarget(uri)
	if err == nil {
		if s := c.settingsOf(t); s.QueueName == queue {
			return s
		}
		queue = t.Authority
	}
	switch {
	case t.Scheme != "":
		queue = t.Scheme + "://" + queue
	case !strings.Contains(queue, "://"): // else it is named for a site
		queue = "http://" + queue
	}
	if t, err = fetch.ParseTarget(queue + "/"); err != nil {
		return c.base()
	}
	return c.settingsOf(t)
}

// treatment is what decides how queues are treated now, and the windows of sheets that are open.
func (c *Crawl) treatment() (treatment []byte, windows []string, err error) {
	sheets := c.plan.Load().sheets
	s, windows := sheets.Base(), sheets.Windows(c.now())
	treatment, err = json.Marshal([]any{s.HostValence, s.SessionBudget, s.TotalBudget, s.Precedence, s.Redacted().Sheets, windows})
	if err != nil {
		return nil, nil, fmt.Errorf("tell how queues are treated: %w", err)
	}
	return treatment, windows, nil
}

// repolicy has the frontier treat its queues otherwise than it does, if they are to be.
func (c *Crawl) repolicy(ctx context.Context) error {
	c.treating.Lock()
	defer c.treating.Unlock()
	now, windows, err := c.treatment()
	if err != nil {
		return err
	}
	before, err := c.frontier.Value(valuePolicy)
	if err != nil {
		return err
	}
	c.windows.Store(&windows)
	if bytes.Equal(before, now) {
		return nil
	}
	c.frontier.SetValue(valuePolicy, []byte("under way")) // begun anew if it is broken off
	if err := c.frontier.Repolicy(ctx); err != nil {
		return err
	}
	c.frontier.SetValue(valuePolicy, now)
	return nil
}

// firstPolicy keeps how the queues of a new crawl are treated.
func (c *Crawl) firstPolicy() error {
	if before, err := c.frontier.Value(valuePolicy); err != nil || before != nil {
		return err
	}
	now, _, err := c.treatment()
	if err != nil {
		return err
	}
	c.frontier.SetValue(valuePolicy, now)
	return nil
}

// watchWindows re-applies queue policy when a sheet's time window opens or closes. It compares with what the queues were
// last treated by: a window that changed before the first look is seen, too.
func (c *Crawl) watchWindows(ctx context.Context, done <-chan struct{}) (err error) {
	watch(done, limitPoll, func() {
		treated := c.windows.Load()
		if err == nil && treated != nil && !slices.Equal(c.plan.Load().sheets.Windows(c.now()), *treated) {
			err = c.repolicy(ctx)
		}
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// limiters are the bandwidth limits of the queues that have one.
type limiters struct {
	mu sync.Mutex
	of map[string]*fetch.Limiter
}

// maxLimiters is how many queues' limits are kept; one that was pushed out begins anew.
const maxLimiters = 20_000

func newLimiters() *limiters { return &limiters{of: map[string]*fetch.Limiter{}} }

// get returns a queue's limiter at the rate, nil for none.
func (l *limiters) get(queue string, rate int64) *fetch.Limiter {
	if rate <= 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter := l.of[queue]
	if limiter == nil {
		for old := range l.of {
			if len(l.of) < maxLimiters {
				break
			}
			delete(l.of, old)
		}
		limiter = fetch.NewLimiter(rate)
		l.of[queue] = limiter
	}
	limiter.SetRate(rate)
	return limiter
}
