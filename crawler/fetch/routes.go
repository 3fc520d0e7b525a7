package fetch

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"holdfast/harvest"
)

// Way is how a host is reached. The zero value is the direct way from any of this machine's addresses.
type Way struct {
	Proxy  *Proxy
	Source netip.Addr
}

// dialer dials from the way's source address.
func (w Way) dialer(timeout time.Duration) net.Dialer {
	d := net.Dialer{Timeout: timeout, FallbackDelay: -1}
	if w.Source.IsValid() {
		d.LocalAddr = &net.TCPAddr{IP: w.Source.AsSlice()}
	}
	return d
}

// Proxy is a proxy that requests go through.
type Proxy struct {
	scheme, address, user, password string
}

// String is the proxy's address, without its user.
func (p *Proxy) String() string { return p.scheme + "://" + p.address }

// NewProxy reads http://[user:password@]host:port or socks5://….
func NewProxy(via string) (*Proxy, error) {
	u, err := url.Parse(via)
	if err != nil || u.Scheme != "http" && u.Scheme != "socks5" || u.Hostname() == "" || !isPort(u.Port()) {
		return nil, fmt.Errorf("proxy: want http://host:port or socks5://host:port") // the text may hold a password
	}
	p := &Proxy{scheme: u.Scheme, address: u.Host}
	if u.User != nil {
		p.user = u.User.Username()
		p.password, _ = u.User.Password()
	}
	return p, nil
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// Routes tells the way to each host. The zero value is the direct way to all.
type Routes struct {
	proxies []route
	sources []route
}

type route struct {
	hosts []string
	way   Way
}

// NewRoutes takes the settings proxies and source_addresses.
func NewRoutes(proxies, sources []harvest.Route) (*Routes, error) {
	r := &Routes{}
	for _, given := range proxies {
		out := route{hosts: lower(given.Hosts)}
		if given.Via != "direct" {
			p, err := NewProxy(given.Via)
			if err != nil {
				return nil, err
			}
			out.way.Proxy = p
		}
		r.proxies = append(r.proxies, out)
	}
	for _, given := range sources {
		out := route{hosts: lower(given.Hosts)}
		if given.Via != "direct" {
			addr, err := netip.ParseAddr(given.Via)
			if err != nil || addr.Zone() != "" {
				return nil, fmt.Errorf("source address %q: not an address", given.Via)
			}
			out.way.Source = addr.Unmap()
		}
		r.sources = append(r.sources, out)
	}
	return r, nil
}

// Way is the way to a host: of proxies and of source addresses, the first that matches counts.
func (r *Routes) Way(host string) Way {
	if r == nil || len(r.proxies) == 0 && len(r.sources) == 0 {
		return Way{}
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return Way{Proxy: first(r.proxies, host).Proxy, Source: first(r.sources, host).Source}
}

func first(routes []route, host string) Way {
	for _, r := range routes {
		for _, pattern := range r.hosts {
			if matches(pattern, host) {
				return r.way
			}
		}
	}
	return Way{}
}

func lower(hosts []string) []string {
	out := make([]string, len(hosts))
	for i, h := range hosts {
		out[i] = strings.ToLower(h)
	}
	return out
}

// matches reports whether s matches pattern, in which * stands for any text.
func matches(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, parts[last])
}
