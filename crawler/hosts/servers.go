// Package hosts remembers what a crawl learnt about hosts, sites and domains (addresses, robots.txt files, how much
// was fetched), and whose turn it is at a host.
package hosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"
	"time"

	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/scope"
)

// How long facts about a server are used.
const (
	robotsLifetime  = 24 * time.Hour
	robotsKept      = 24 * time.Hour // longer, if it cannot be fetched any more
	FailureLifetime = time.Hour
	maxServers      = 20_000 // in memory, of each kind
	maxNames        = 8      // that a robots.txt is kept read for
)

// Host are where a host is. No address: its name could not be found.
type Host struct {
	Addrs   []netip.Addr `json:"addrs"`
	Expires time.Time    `json:"expires"`
}

// Site holds what a robots.txt said: that of a site, or one that another redirects to.
type Site struct {
	Body        []byte    `json:"body,omitempty"`
	Redirect    string    `json:"redirect,omitempty"`    // the rules are at this URL
	DenyAll     bool      `json:"deny_all,omitempty"`    // the answer was 5xx
	Unreachable bool      `json:"unreachable,omitempty"` // it could not be fetched, or cannot be read
	Once        bool      `json:"once,omitempty"`        // known after one try only; a caller that can wait asks again
	Expires     time.Time `json:"expires"`
	Fetched     time.Time `json:"fetched,omitzero"` // the rules, from the site

	mu    sync.Mutex
	rules map[string]*scope.Robots // by the name it is read for
}

// RulesFor returns the rules for a crawler of that name.
func (f *Site) RulesFor(name string) *scope.Robots {
	if f.DenyAll {
		return scope.DenyAll()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.rules[name]
	if r == nil {
		if f.rules == nil || len(f.rules) >= maxNames {
			f.rules = map[string]*scope.Robots{}
		}
		r = scope.ParseRobots(f.Body, name)
		f.rules[name] = r
	}
	return r
}

// Servers remembers what was learnt about hosts and sites. All of it is stored in the frontier, some also in memory.
type Servers struct {
	frontier *frontier.Frontier
	mu       sync.Mutex
	hosts    map[string]*Host
	sites    map[string]*Site // by the URL of the robots.txt
}

// NewServers returns what the frontier knows about hosts and sites.
func NewServers(f *frontier.Frontier) *Servers {
	return &Servers{frontier: f, hosts: map[string]*Host{}, sites: map[string]*Site{}}
}

// Host returns the facts about a host that have not expired, or nil.
func (s *Servers) Host(name string, now time.Time) (*Host, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.hosts[name]
	if f == nil {
		f = &Host{}
		if ok, err := s.load("dns/"+name, f); !ok || err != nil {
			return nil, err
		}
		keep(s.hosts, name, f)
	}
	if f.Expires.Before(now) {
		return nil, nil
	}
	return f, nil
}

// maxRobotsRedirects is how many redirects of a robots.txt are followed (RFC 9309 asks for five).
const maxRobotsRedirects = 5

// Site returns the facts about a site's robots.txt that have not expired, following redirects; or nil, and the URL to
// fetch first. With waits, a failure after one try counts as not known. After too many redirects the site has no
// rules.
func (s *Servers) Site(t fetch.Target, now time.Time, waits bool) (facts *Site, first string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	url := robotsURL(t)
	for range maxRobotsRedirects + 1 {
		f := s.sites[url]
		if f == nil {
			f = &Site{}
			if ok, err := s.load("robots/"+url, f); err != nil {
				return nil, "", err
			} else if !ok {
				return nil, url, nil
			}
			keep(s.sites, url, f)
		}
		if f.Expires.Before(now) || waits && f.Once {
			return nil, url, nil
		}
		if f.Redirect == "" {
			return f, "", nil
		}
		url = f.Redirect
	}
	return &Site{}, "", nil
}

// Delay is the Crawl-delay of a site for the crawler of that name, as far as it is in memory.
func (s *Servers) Delay(t fetch.Target, name string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	url := robotsURL(t)
	for range maxRobotsRedirects + 1 {
		f := s.sites[url]
		switch {
		case f == nil:
			return 0
		case f.Redirect == "":
			return f.RulesFor(name).Delay()
		}
		url = f.Redirect
	}
	return 0
}

// LearnHost stores the addresses of a host. No address means that its name could not be resolved.
func (s *Servers) LearnHost(name string, addrs []netip.Addr, lifetime time.Duration) error {
	f := &Host{Addrs: addrs, Expires: time.Now().Add(lifetime)}
	s.mu.Lock()
	defer s.mu.Unlock()
	keep(s.hosts, name, f)
	return s.store("dns/"+name, f)
}

// Answer is how a request for a robots.txt ended.
type Answer struct {
	Status     int
	Body       []byte // of a success
	Unreadable bool   // the answer cannot be read
	Redirect   string // where it leads, if that may be fetched
	Once       bool   // after a failure, the caller may ask again
	Keep       bool   // after a failure, the rules that are known stay valid for up to a day
}

// failed reports whether the answer says nothing about rules.
func (a *Answer) failed() bool {
	return a.Status <= 0 || a.Status >= 500 || a.Status == 429 || a.Unreadable
}

// LearnRobots stores the answer to a request for a robots.txt, according to RFC 9309. A success counts as it says. A
// client error allows everything. A server error forbids everything. No answer, or one that cannot be read, means that
// the site is not fetched from. Where such an answer keeps the rules, they stay valid for up to a day, and are asked
// for each hour.
func (s *Servers) LearnRobots(t fetch.Target, a Answer) error {
	now := time.Now()
	f := &Site{Expires: now.Add(robotsLifetime), Fetched: now}
	switch {
	case a.Unreadable, a.Status <= 0:
		f.Unreachable, f.Expires = true, now.Add(FailureLifetime)
	case a.Status >= 500:
		f.DenyAll, f.Expires = true, now.Add(FailureLifetime)
	case a.Status >= 200 && a.Status < 300:
		f.Body = append([]byte(nil), a.Body[:min(len(a.Body), scope.MaxRobots)]...)
	case fetch.Redirects(a.Status):
		f.Redirect = a.Redirect
	case a.Status == 429: // none, for now
		f.Expires, f.Fetched = now.Add(FailureLifetime), time.Time{}
	}
	f.Once = a.Once && (a.Status == 429 || f.DenyAll || f.Unreachable)
	s.mu.Lock()
	defer s.mu.Unlock()
	url := AddressOf(t)
	if a.failed() && a.Keep {
		old, err := s.lasting(url, now)
		if err != nil {
			return err
		}
		if old != nil {
			f = &Site{Body: old.Body, Redirect: old.Redirect, Fetched: old.Fetched,
				Expires: earlier(now.Add(FailureLifetime), old.until())}
		}
	}
	keep(s.sites, url, f)
	return s.store("robots/"+url, f)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// until is how long the rules of a site are used that cannot be fetched any more.
func (f *Site) until() time.Time { return f.Fetched.Add(robotsLifetime + robotsKept) }

// Keeps reports whether the rules of a site are known, and may be used although its robots.txt cannot be fetched.
func (s *Servers) Keeps(t fetch.Target, now time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.lasting(AddressOf(t), now)
	return f != nil, err
}

// lasting returns what is known of a robots.txt, expired or not, if that may still be used; else nil.
func (s *Servers) lasting(url string, now time.Time) (*Site, error) {
	f := s.sites[url]
	if f == nil {
		f = &Site{}
		if ok, err := s.load("robots/"+url, f); !ok || err != nil {
			return nil, err
		}
	}
	if f.DenyAll || f.Unreachable || f.Fetched.IsZero() || !now.Before(f.until()) {
		return nil, nil
	}
	return f, nil
}

// ForgetUnreachable makes the crawl ask again for each robots.txt that could not be fetched: a block may have been
// the reason.
func (s *Servers) ForgetUnreachable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone []string
	if err := s.frontier.Values("robots/", func(name string, data []byte) error {
		f := Site{}
		if err := json.Unmarshal(data, &f); err != nil {
			return fmt.Errorf("read %s from the frontier: %w", name, err)
		}
		if f.Unreachable {
			gone = append(gone, name)
		}
		return nil
	}); err != nil {
		return err
	}
	for _, name := range gone {
		s.frontier.SetValue(name, nil)
		delete(s.sites, strings.TrimPrefix(name, "robots/"))
	}
	return nil
}

func (s *Servers) load(name string, into any) (bool, error) {
	data, err := s.frontier.Value(name)
	if err != nil || len(data) == 0 {
		return false, err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return false, fmt.Errorf("read %s from the frontier: %w", name, err)
	}
	return true, nil
}

func (s *Servers) store(name string, facts any) error {
	data, err := json.Marshal(facts)
	if err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	s.frontier.SetValue(name, data)
	return nil
}

// keep puts a value into a map that holds a bounded number.
func keep[T any](m map[string]T, name string, value T) {
	if _, there := m[name]; there {
		m[name] = value
		return
	}
	for old := range m {
		if len(m) < maxServers {
			break
		}
		delete(m, old)
	}
	m[name] = value
}

// LearnAnswer stores the result of a DNS look-up.
func (s *Servers) LearnAnswer(host string, a *fetch.Answer) error {
	if a.Code == fetch.CodeDNSOK {
		return s.LearnHost(host, a.Addrs, a.TTL)
	}
	return s.LearnHost(host, nil, FailureLifetime)
}

// AddressOf returns a URL without the parts that are not sent to a server.
func AddressOf(t fetch.Target) string { return t.Scheme + "://" + t.Authority + t.Path }

// IsRobots tells whether a URL is that of a site's robots.txt.
func IsRobots(t fetch.Target) bool { return t.Path == "/robots.txt" }

// RobotsCount reports whether the text read of a robots.txt counts, just fetched or read again from its record. A
// complete text counts, correctly coded or not; so does what was received of a truncated response. err is how reading
// ended, truncated says why the response is incomplete. Of an incomplete text, or one that is not text, only rules
// that forbid something count: otherwise a broken answer would allow everything.
func RobotsCount(body []byte, err error, truncated string) bool {
	cut, binary := truncated != "" && len(body) < scope.MaxRobots, bytes.ContainsFunc(body, noText)
	switch {
	case errors.Is(err, fetch.ErrCoding) && binary:
		return false
	case err != nil && !errors.Is(err, fetch.ErrCoding) && !(truncated != "" && errors.Is(err, io.ErrUnexpectedEOF)):
		return false
	case cut, binary:
		return forbids(body)
	}
	return true
}

// noText reports whether a character never occurs in text.
func noText(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\v\f\r", r) }

// WholeLines is what was received of a robots.txt that was cut off, without the line that is not whole.
func WholeLines(body []byte) []byte { return body[:bytes.LastIndexAny(body, "\r\n")+1] }

// forbids reports whether one of the whole lines of a robots.txt forbids something.
func forbids(body []byte) bool {
	body = WholeLines(body)
	for line := range bytes.FieldsFuncSeq(body, func(r rune) bool { return r == '\r' || r == '\n' }) {
		line, _, _ = bytes.Cut(line, []byte{'#'})
		name, value, _ := bytes.Cut(line, []byte{':'})
		if bytes.EqualFold(bytes.TrimSpace(name), []byte("disallow")) && len(bytes.TrimSpace(value)) > 0 {
			return true
		}
	}
	return false
}

func robotsURL(t fetch.Target) string { return t.Scheme + "://" + t.Authority + "/robots.txt" }
