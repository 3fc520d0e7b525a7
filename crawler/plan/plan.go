// Package plan holds the settings that a crawl follows now: the settings for a URI, the queue that it belongs to, how
// its queue is treated, and what was changed while the crawl ran.
package plan

import (
	"fmt"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"holdfast/cdx"
	"holdfast/crawler/fetch"
	"holdfast/harvest"
)

// Plan is the settings as they are followed at one moment. It is not changed: a change of settings is another plan.
type Plan struct {
	Sheets *harvest.Sheets
	Routes *fetch.Routes
	times  harvest.Windows
}

// New makes settings a plan. The error wraps harvest.ErrInvalid.
func New(s harvest.Settings) (*Plan, error) {
	sheets, err := harvest.NewSheets(s, &memo{merged: map[string]*harvest.Settings{}})
	if err != nil {
		return nil, err
	}
	routes, err := fetch.NewRoutes(s.Proxies, s.SourceAddresses)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", harvest.ErrInvalid, err)
	}
	times, err := harvest.NewWindows(s.Windows)
	if err != nil {
		return nil, err
	}
	return &Plan{Sheets: sheets, Routes: routes, times: times}, nil
}

// Current is the plan that is followed now. It is safe for concurrent use.
type Current struct {
	at  atomic.Pointer[Plan]
	now func() time.Time
}

// Follow makes settings the plan that is followed; now is the clock that the windows of sheets are seen by.
func Follow(s harvest.Settings, now func() time.Time) (*Current, error) {
	c := &Current{now: now}
	return c, c.Follow(s)
}

// Follow makes other settings the plan.
func (c *Current) Follow(s harvest.Settings) error {
	p, err := New(s)
	if err != nil {
		return err
	}
	c.Set(p)
	return nil
}

// Set makes another plan the one that is followed.
func (c *Current) Set(p *Plan) { c.at.Store(p) }

// Base returns the job's own settings. They are shared: do not change them.
func (c *Current) Base() *harvest.Settings { return c.Sheets().Base() }

// Sheets returns the settings with the sheets that apply to some URIs.
func (c *Current) Sheets() *harvest.Sheets { return c.at.Load().Sheets }

// Way is how a host is asked: directly, or through a proxy.
func (c *Current) Way(host string) fetch.Way { return c.at.Load().Routes.Way(host) }

// LooksUp reports whether the crawl itself looks up the address of a URI's host. A proxy does that for URIs fetched
// through it.
func (c *Current) LooksUp(t fetch.Target) bool { return c.Way(t.Host).Proxy == nil }

// For returns the settings in effect for a URI. They are shared: do not change them.
func (c *Current) For(t fetch.Target) *harvest.Settings {
	sheets := c.Sheets()
	if sheets.Empty() {
		return sheets.Base()
	}
	return sheets.For(c.Context(t))
}

// Context is what sheets look at.
func (c *Current) Context(t fetch.Target) harvest.Context {
	port, err := strconv.Atoi(t.Port)
	if err != nil {
		port = 0
	}
	surt, err := cdx.SURT(t.URL)
	if err != nil {
		surt = ""
	}
	return harvest.Context{URL: t.URL, SURT: surt, Port: port, Now: c.now()}
}

// Windows are the windows of sheets that are open now.
func (c *Current) Windows() []string { return c.Sheets().Windows(c.now()) }

// Open tells whether the job is to crawl now: it has no windows, or one of them is open.
func (c *Current) Open() bool { return c.at.Load().times.Open(c.now()) }

// Allowed tells whether an address may be reached.
func (c *Current) Allowed(addr netip.Addr) bool {
	s := c.Base()
	switch {
	case s.OperatorContact == "" && !addr.Unmap().IsLoopback(), fetch.Metadata(addr):
		return false
	case fetch.LinkLocal(addr):
		return s.AllowLinkLocal
	}
	return s.AllowPrivate || fetch.Public(addr)
}

// settingBrowse names the setting that sends pages to a browser.
const settingBrowse = "browser_rules"

// Browses tells whether any rule of the settings may send a page to a browser.
func Browses(s *harvest.Settings) bool {
	if len(s.BrowserRules) > 0 {
		return true
	}
	for _, sheet := range s.Sheets {
		if _, ok := sheet.Settings[settingBrowse]; ok {
			return true
		}
	}
	return false
}

// Seeds returns seeds in normal form, and those that are not web URLs.
func Seeds(given []string) (seeds, bad []string) {
	for _, seed := range given {
		url, err := cdx.Normalize(seed)
		if err == nil {
			_, err = fetch.ParseTarget(url)
		}
		if err != nil {
			bad = append(bad, seed)
			continue
		}
		seeds = append(seeds, url)
	}
	return seeds, bad
}
