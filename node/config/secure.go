package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// Secure says how connections to the TCP ports are protected. On addresses other than this machine's own, the ports
// speak HTTPS, or plain HTTP with trusted proxies in front of the node.
type Secure struct {
	Certificate    string         // PEM file with the certificate and its chain
	CertificateKey string         // PEM file with its key
	TrustedProxies []netip.Prefix // from which plain HTTP is taken, and X-Forwarded-For believed
}

// HTTPS reports whether the ports speak HTTPS.
func (s Secure) HTTPS() bool { return s.Certificate != "" }

// parseProxies reads addresses and prefixes such as "192.0.2.10" and "10.1.0.0/16".
func parseProxies(list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range list {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, errAddress := netip.ParseAddr(text)
			if errAddress != nil || a.Zone() != "" {
				return nil, fmt.Errorf("trusted-proxies: %q: want an address or a prefix, as in \"192.0.2.10\" or "+
					"\"10.1.0.0/16\"", text)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		if a := p.Addr(); a.Is4In6() { // addresses that it is compared with are not mapped
			p = netip.PrefixFrom(a.Unmap(), max(0, p.Bits()-96))
		}
		if least := narrowest(p); p.Bits() < least {
			return nil, fmt.Errorf("trusted-proxies: %q is too wide: every address in it may use plain HTTP, "+
				"and may say for whom it asks. Name the proxies themselves, as in \"192.0.2.10\", or their network, "+
				"/%d or narrower, as in \"10.1.0.0/16\"", text, least)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// narrowest returns how many bits a prefix of trusted proxies has at least.
func narrowest(p netip.Prefix) int {
	if p.Addr().Is4() {
		return 8
	}
	return 16
}

// check returns what is wrong with the settings of a port that listens on the address, or nil.
func (s Secure) check(key, address string) error {
	if (s.Certificate == "") != (s.CertificateKey == "") {
		return errors.New("certificate and certificate-key: set both or neither")
	}
	host, port, _ := net.SplitHostPort(address)
	if s.HTTPS() || len(s.TrustedProxies) > 0 || onlyHere(host) {
		return nil
	}
	return fmt.Errorf(`%s %q: others can reach this address, and plain HTTP would send access tokens and pages in clear.
Add one of these to cluster.toml. A certificate, as files that are read again when they change:
    certificate = "/etc/holdfast/node.pem"
    certificate-key = "/etc/holdfast/node.key"
or the addresses of proxies in front of the node, from which plain HTTP is taken:
    trusted-proxies = ["192.0.2.10"]
or let the port be for this machine alone:
    %s = "127.0.0.1:%s"`, key, address, key, port)
}

// onlyHere reports whether the host of an address to listen on is this machine's own.
func onlyHere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// Trusts reports whether plain HTTP from the address is that of a trusted proxy.
func (s Secure) Trusts(ip netip.Addr) bool {
	return slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip) })
}
