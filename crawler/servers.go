package crawler

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/scope"
)

// How long what was learnt about a server holds.
const (
	robotsLifetime  = 24 * time.Hour
	failureLifetime = time.Hour
	maxServers      = 20_000 // in memory, of each kind
	maxNames        = 8      // that a robots.txt is kept read for
)

// hostFacts are where a host is. No address: its name could not be found.
type hostFacts struct {
	Addrs   []netip.Addr `json:"addrs"`
	Expires time.Time    `json:"expires"`
}

// siteFacts are what a robots.txt said: a site's own, or one that such a one redirects to.
type siteFacts struct {
	Body        []byte    `json:"body,omitempty"`
	Redirect    string    `json:"redirect,omitempty"`    // it stands there
	DenyAll     bool      `json:"deny_all,omitempty"`    // 5xx, or what it says cannot be read
	Unreachable bool      `json:"unreachable,omitempty"` // it could not be fetched
	Once        bool      `json:"once,omitempty"`        // either, of one try: whoever can wait asks again
	Expires     time.Time `json:"expires"`

	mu    sync.Mutex
	rules map[string]*scope.Robots // by the name it is read for
}

// rulesFor is what it says to the crawler of that name.
func (f *siteFacts) rulesFor(name string) *scope.Robots {
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

// servers remembers what was learnt about hosts and sites. All of it is kept in the frontier, some in memory.
type servers struct {
	frontier *frontier.Frontier
	mu       sync.Mutex
	hosts    map[string]*hostFacts
	sites    map[string]*siteFacts // by the URL of the robots.txt
}

func newServers(f *frontier.Frontier) *servers {
	return &servers{frontier: f, hosts: map[string]*hostFacts{}, sites: map[string]*siteFacts{}}
}

// host returns what is known and still holds of a host, or nil.
func (s *servers) host(name string, now time.Time) (*hostFacts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.hosts[name]
	if f == nil {
		f = &hostFacts{}
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

// site returns what is known and still holds of a site's robots.txt, where it redirects of the one that it leads to; or nil and the URL
// that has to be asked for first. For one who can wait, a failure of one try is nothing known. After too many redirects the site has no rules.
func (s *servers) site(t fetch.Target, now time.Time, waits bool) (facts *siteFacts, first string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	url := robotsURL(t)
	for range maxRobotsRedirects + 1 {
		f := s.sites[url]
		if f == nil {
			f = &siteFacts{}
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
	return &siteFacts{}, "", nil
}

// delay is the Crawl-delay of a site for the crawler of that name, as far as it is in memory.
func (s *servers) delay(t fetch.Target, name string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	url := robotsURL(t)
	for range maxRobotsRedirects + 1 {
		f := s.sites[url]
		switch {
		case f == nil:
			return 0
		case f.Redirect == "":
			return f.rulesFor(name).Delay()
		}
		url = f.Redirect
	}
	return 0
}

func (s *servers) learnHost(name string, addrs []netip.Addr, lifetime time.Duration) error {
	f := &hostFacts{Addrs: addrs, Expires: time.Now().Add(lifetime)}
	s.mu.Lock()
	defer s.mu.Unlock()
	keep(s.hosts, name, f)
	return s.store("dns/"+name, f)
}

// answer is how a request for a robots.txt ended.
type answer struct {
	status     int
	body       []byte // of a success
	unreadable bool   // what it says cannot be told
	redirect   string // where it leads, if that may be fetched
	once       bool   // a failure is not the last word
}

// learnRobots takes in the answer to a request for a robots.txt by RFC 9309: success counts as it says, a client error allows everything,
// a server error or one that cannot be read forbids everything, as does a server that has had too many requests; silence leaves the
// site alone.
func (s *servers) learnRobots(t fetch.Target, a answer) error {
	f := &siteFacts{Expires: time.Now().Add(robotsLifetime)}
	switch {
	case a.status >= 500 || a.status == 429 || a.unreadable:
		f.DenyAll, f.Expires = true, time.Now().Add(failureLifetime)
	case a.status >= 200 && a.status < 300:
		f.Body = append([]byte(nil), a.body[:min(len(a.body), scope.MaxRobots)]...)
	case redirects(a.status):
		f.Redirect = a.redirect
	case a.status <= 0:
		f.Unreachable, f.Expires = true, time.Now().Add(failureLifetime)
	}
	f.Once = a.once && (f.DenyAll || f.Unreachable)
	s.mu.Lock()
	defer s.mu.Unlock()
	url := addressOf(t)
	keep(s.sites, url, f)
	return s.store("robots/"+url, f)
}

// forgetUnreachable has robots.txt asked for again where it could not be had: it may have been blocked.
func (s *servers) forgetUnreachable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone []string
	if err := s.frontier.Values("robots/", func(name string, data []byte) error {
		f := siteFacts{}
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

func (s *servers) load(name string, into any) (bool, error) {
	data, err := s.frontier.Value(name)
	if err != nil || len(data) == 0 {
		return false, err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return false, fmt.Errorf("read %s from the frontier: %w", name, err)
	}
	return true, nil
}

func (s *servers) store(name string, facts any) error {
	data, err := json.Marshal(facts)
	if err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	s.frontier.SetValue(name, data)
	return nil
}

// keep puts a value into a map that holds a bounded number.
func keep[T any](m map[string]T, name string, value T) {
	for old := range m {
		if len(m) < maxServers {
			break
		}
		delete(m, old)
	}
	m[name] = value
}

// learnAnswer takes in the end of a DNS look-up.
func (s *servers) learnAnswer(host string, a *fetch.Answer) error {
	if a.Code == fetch.CodeDNSOK {
		return s.learnHost(host, a.Addrs, a.TTL)
	}
	return s.learnHost(host, nil, failureLifetime)
}
