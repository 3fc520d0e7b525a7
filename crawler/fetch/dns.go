package fetch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// Limits on a DNS answer.
const (
	maxAnswers  = 64 // addresses
	maxAliases  = 16 // from one name to the next
	maxQueries  = 2 * 8
	maxServers  = 4 // that are asked in turn
	minTTL      = time.Minute
	defaultTTL  = 24 * time.Hour // the longest, unless the Resolver says so
	negativeTTL = time.Hour      // the longest of an answer that there is nothing
	hostsTTL    = time.Hour
	maxHosts    = 16 << 20 // bytes of a hosts file
)

var errAliases = fmt.Errorf("more than %d aliases", maxAliases)

// Resolver reads the system's hosts file and then asks its name servers. It has no cache.
type Resolver struct {
	Hosts   string        // path of the hosts file
	Config  string        // path of resolv.conf
	Server  string        // name servers to ask instead of those of Config: address and port, separated by commas
	Timeout time.Duration // of one question to one server; 0: 5 s. A look-up takes ten times that at most
	MaxTTL  time.Duration // the longest that an answer may hold; 0: 24 h
}

// Answer is the result of looking up a name.
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

// Lookup finds the addresses of a host. It always returns an Answer; if the answer has no address, TTL says how long
// that holds.
func (r Resolver) Lookup(ctx context.Context, host string) Answer {
	if r.Timeout == 0 {
		r.Timeout = 5 * time.Second
	}
	if r.MaxTTL == 0 {
		r.MaxTTL = defaultTTL
	}
	a := Answer{Code: CodeDNSFailed, Begin: time.Now(), TTL: min(minTTL, r.MaxTTL)}
	defer func() { a.Duration = time.Since(a.Begin) }()
	name := dns.Fqdn(strings.ToLower(host))
	stamp := a.Begin.UTC().Format("20060102150405") + "\n"
	if addrs := r.fromHosts(strings.TrimSuffix(name, ".")); len(addrs) > 0 {
		a.Code, a.Addrs, a.TTL, a.Text = CodeDNSOK, addrs, min(hostsTTL, r.MaxTTL), []byte(stamp+hostsText(name, addrs))
		return a
	}
	if _, ok := dns.IsDomainName(name); !ok || len(name) > 254 {
		a.Err, a.Permanent = fmt.Errorf("look up %.100q: not a host name", host), true
		return a
	}
	servers, err := r.servers()
	if err != nil {
		a.Err = fmt.Errorf("look up %s: %w", host, err)
		return a
	}
	ctx, cancel := context.WithTimeout(ctx, 10*r.Timeout)
	defer cancel()
	l := lookup{resolver: r, servers: servers, chain: map[string]bool{name: true}, last: name, ttl: r.MaxTTL,
		negative: min(negativeTTL, r.MaxTTL)}
	err = l.run(ctx)
	a.Server = l.server
	if len(l.addrs) == 0 {
		a.Err, a.Permanent, a.TTL = fmt.Errorf("look up %s: %w", host, err), l.permanent,
			max(l.negative, min(minTTL, r.MaxTTL))
		return a
	}
	a.Code, a.Addrs, a.TTL, a.Text = CodeDNSOK, l.addrs, max(l.ttl, min(minTTL, r.MaxTTL)),
		[]byte(stamp+l.text.String())
	return a
}

// servers returns the name servers to ask, each an address and a port.
func (r Resolver) servers() ([]string, error) {
	if r.Server != "" {
		var out []string
		for at := range strings.SplitSeq(r.Server, ",") {
			if at = strings.TrimSpace(at); at == "" {
				continue
			}
			if _, _, err := net.SplitHostPort(at); err != nil {
				at = net.JoinHostPort(strings.Trim(at, "[]"), "53")
			}
			out = append(out, at)
		}
		return out[:min(len(out), maxServers)], nil
	}
	cfg, err := dns.ClientConfigFromFile(r.Config)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, s := range cfg.Servers[:min(len(cfg.Servers), maxServers)] {
		out = append(out, net.JoinHostPort(s, cfg.Port))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no name server in %s", r.Config)
	}
	return out, nil
}

// hostsText is an answer of the hosts file as it is archived.
func hostsText(name string, addrs []netip.Addr) string {
	text := ""
	for _, addr := range addrs {
		kind := "A"
		if addr.Is6() {
			kind = "AAAA"
		}
		text += fmt.Sprintf("%s\t%d\tIN\t%s\t%s\n", name, int(hostsTTL.Seconds()), kind, addr)
	}
	return text
}

// fromHosts reads the hosts file; localhost is this machine even where the file does not say so.
func (r Resolver) fromHosts(name string) []netip.Addr {
	var addrs []netip.Addr
	if f, err := os.Open(r.Hosts); err == nil {
		defer f.Close()
		for sc := bufio.NewScanner(io.LimitReader(f, maxHosts)); sc.Scan(); {
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
