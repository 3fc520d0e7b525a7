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
	"holdfast/harvest"
)

// How long what was learnt about a server holds.
const (
	robotsLifetime  = 24 * time.Hour
	failureLifetime = time.Hour
	maxServers      = 20_000 // in memory, of each kind
)

// hostFacts are where a host is. No address: its name could not be found.
type hostFacts struct {
	Addrs   []netip.Addr `json:"addrs"`
	Expires time.Time    `json:"expires"`
}

// siteFacts are what a site's robots.txt said.
type siteFacts struct {
	Body        []byte    `json:"body,omitempty"`
	DenyAll     bool      `json:"deny_all,omitempty"`    // 5xx
	Unreachable bool      `json:"unreachable,omitempty"` // it could not be fetched
	Expires     time.Time `json:"expires"`

	rules *scope.Robots
}

// servers remembers what was learnt about hosts and sites. All of it is kept in the frontier, some in memory.
type servers struct {
	frontier *frontier.Frontier
	mu       sync.Mutex
	hosts    map[string]*hostFacts
	sites    map[string]*siteFacts
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

// site returns what is known and still holds of a site's robots.txt, or nil.
func (s *servers) site(scheme, authority string, now time.Time) (*siteFacts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := scheme + "://" + authority
	f := s.sites[name]
	if f == nil {
		f = &siteFacts{}
		if ok, err := s.load("robots/"+name, f); !ok || err != nil {
			return nil, err
		}
		f.parse()
		keep(s.sites, name, f)
	}
	if f.Expires.Before(now) {
		return nil, nil
	}
	return f, nil
}

func (f *siteFacts) parse() {
	f.rules = scope.ParseRobots(f.Body, harvest.Product)
	if f.DenyAll {
		f.rules = scope.DenyAll()
	}
}

// delay is the Crawl-delay of a site, as far as it is in memory.
func (s *servers) delay(scheme, authority string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.sites[scheme+"://"+authority]; f != nil {
		return f.rules.Delay()
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

// learnSite takes in the answer to a request for robots.txt by RFC 9309: success counts as it says, a
// client error allows everything, a server error forbids everything, silence leaves the site alone.
func (s *servers) learnSite(scheme, authority string, status int, body []byte) error {
	f := &siteFacts{Expires: time.Now().Add(robotsLifetime)}
	switch {
	case status >= 200 && status < 300:
		f.Body = append([]byte(nil), body[:min(len(body), scope.MaxRobots)]...)
	case status >= 500:
		f.DenyAll, f.Expires = true, time.Now().Add(failureLifetime)
	case status <= 0:
		f.Unreachable, f.Expires = true, time.Now().Add(failureLifetime)
	}
	f.parse()
	s.mu.Lock()
	defer s.mu.Unlock()
	name := scheme + "://" + authority
	keep(s.sites, name, f)
	return s.store("robots/"+name, f)
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
