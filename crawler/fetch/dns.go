package fetch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// Limits on a DNS answer.
const (
	maxAnswers = 64
	minTTL     = time.Minute
	maxTTL     = 24 * time.Hour
	hostsTTL   = time.Hour
)

// Resolver asks the system's name servers, and its hosts file before them.
type Resolver struct {
	Hosts   string // path of the hosts file
	Config  string // path of resolv.conf
	Server  string // address and port of a name server to ask instead of those of Config
	Timeout time.Duration
}

// Answer is what was found out about a name.
type Answer struct {
	Code      int // CodeDNSOK or CodeDNSFailed
	Addrs     []netip.Addr
	Text      []byte     // the answer as it is archived: the time, then the records, one a line
	Server    netip.Addr // the name server; not valid for answers from the hosts file
	TTL       time.Duration
	Begin     time.Time
	Duration  time.Duration
	Err       error
	Permanent bool // the name does not exist
}

// Lookup finds the addresses of a host. It always returns an Answer.
func (r Resolver) Lookup(ctx context.Context, host string) Answer {
	a := Answer{Code: CodeDNSFailed, Begin: time.Now(), TTL: minTTL}
	defer func() { a.Duration = time.Since(a.Begin) }()
	name := dns.Fqdn(strings.ToLower(host))
	text := a.Begin.UTC().Format("20060102150405") + "\n"
	if addrs := r.fromHosts(strings.TrimSuffix(name, ".")); len(addrs) > 0 {
		for _, addr := range addrs {
			kind := "A"
			if addr.Is6() {
				kind = "AAAA"
			}
			text += fmt.Sprintf("%s\t%d\tIN\t%s\t%s\n", name, int(hostsTTL.Seconds()), kind, addr)
		}
		a.Code, a.Addrs, a.TTL, a.Text = CodeDNSOK, addrs, hostsTTL, []byte(text)
		return a
	}
	cfg, err := r.servers()
	if err != nil {
		a.Err = fmt.Errorf("look up %s: %w", host, err)
		return a
	}
	if len(cfg.Servers) == 0 {
		a.Err = fmt.Errorf("look up %s: no name server in %s", host, r.Config)
		return a
	}
	if _, ok := dns.IsDomainName(name); !ok || len(name) > 254 {
		a.Err, a.Permanent = fmt.Errorf("look up %.100q: not a name", host), true
		return a
	}
	ttl := maxTTL
	for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
		reply, server, err := r.ask(ctx, cfg, name, kind)
		if err != nil {
			a.Err = errors.Join(a.Err, err)
			continue
		}
		a.Server = server
		a.Permanent = reply.Rcode == dns.RcodeNameError
		for _, rr := range reply.Answer[:min(len(reply.Answer), maxAnswers)] {
			text += rr.String() + "\n"
			ttl = min(ttl, time.Duration(rr.Header().Ttl)*time.Second)
			if addr, ok := address(rr); ok {
				a.Addrs = append(a.Addrs, addr)
			}
		}
		if a.Permanent {
			break
		}
	}
	if len(a.Addrs) == 0 {
		if a.Err == nil {
			a.Err, a.Permanent = fmt.Errorf("look up %s: no address", host), true
		}
		return a
	}
	a.Code, a.Err, a.TTL, a.Text = CodeDNSOK, nil, max(ttl, minTTL), []byte(text)
	return a
}

// servers returns the name servers to ask.
func (r Resolver) servers() (*dns.ClientConfig, error) {
	if r.Server == "" {
		return dns.ClientConfigFromFile(r.Config)
	}
	host, port, err := net.SplitHostPort(r.Server)
	return &dns.ClientConfig{Servers: []string{host}, Port: port}, err
}

func address(rr dns.RR) (netip.Addr, bool) {
	switch rr := rr.(type) {
	case *dns.A:
		addr, ok := netip.AddrFromSlice(rr.A.To4())
		return addr, ok
	case *dns.AAAA:
		addr, ok := netip.AddrFromSlice(rr.AAAA)
		return addr, ok
	}
	return netip.Addr{}, false
}

// ask puts one question to the servers in turn, by UDP and, where the answer is cut, by TCP.
func (r Resolver) ask(ctx context.Context, cfg *dns.ClientConfig, name string, kind uint16) (*dns.Msg, netip.Addr, error) {
	q := new(dns.Msg)
	q.SetQuestion(name, kind)
	q.SetEdns0(1232, false)
	var failed error
	for _, server := range cfg.Servers {
		at := net.JoinHostPort(server, cfg.Port)
		var reply *dns.Msg
		var err error
		for _, network := range []string{"udp", "udp", "tcp"} {
			client := dns.Client{Net: network, Timeout: r.Timeout}
			reply, _, err = client.ExchangeContext(ctx, q, at)
			if err == nil && !reply.Truncated {
				break
			}
		}
		if err == nil && (reply.Rcode == dns.RcodeSuccess || reply.Rcode == dns.RcodeNameError) {
			addr, _ := netip.ParseAddr(server)
			return reply, addr, nil
		}
		if err == nil {
			err = errors.New(dns.RcodeToString[reply.Rcode])
		}
		failed = errors.Join(failed, fmt.Errorf("ask %s for %s: %w", server, name, err))
	}
	return nil, netip.Addr{}, failed
}

// fromHosts reads the hosts file; localhost is this machine even where the file does not say so.
func (r Resolver) fromHosts(name string) []netip.Addr {
	var addrs []netip.Addr
	if f, err := os.Open(r.Hosts); err == nil {
		defer f.Close()
		for sc := bufio.NewScanner(f); sc.Scan(); {
			line, _, _ := strings.Cut(sc.Text(), "#")
			words := strings.Fields(line)
			if len(words) < 2 {
				continue
			}
			for _, w := range words[1:] {
				if strings.EqualFold(strings.TrimSuffix(w, "."), name) {
					if addr, err := netip.ParseAddr(words[0]); err == nil {
						addrs = append(addrs, addr.WithZone(""))
					}
				}
			}
		}
	}
	if len(addrs) == 0 && (name == "localhost" || strings.HasSuffix(name, ".localhost")) {
		addrs = append(addrs, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	return addrs
}
