package front

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"holdfast/alert"
	"holdfast/node/config"
)

// Origins are where browsers reach a node: the archivists' pages, at the API's port, and the captures, at the access
// port. Browsers keep cookies by host name, whatever the port: under one name, an archived page could plant cookies for
// the archivists' pages.
type Origins struct {
	Pages    config.Origin // none: nobody knows
	Captures config.Origin // none: nobody knows

	chosen bool     // at least one of them stands in the settings
	tls    bool     // browsers on other machines speak TLS with the node, or with a trusted proxy
	names  []string // of the node, by which proxies may ask for it
}

// OriginsOf returns where browsers reach a node with the settings. Call it when the node listens: the addresses in
// cfg.Listen have the ports that it listens at.
func OriginsOf(cfg config.Config) Origins {
	o := Origins{Pages: cfg.PagesURL, Captures: cfg.AccessURL,
		chosen: cfg.PagesURL != config.Origin{} || cfg.AccessURL != config.Origin{},
		tls:    cfg.Secure.HTTPS() || len(cfg.Secure.TrustedProxies) > 0}
	for _, at := range cfg.Table.Addresses {
		o.names = append(o.names, nameOf(at))
	}
	if o.Pages == (config.Origin{}) {
		o.Pages = listening(cfg.Listen.API, cfg.Secure)
		if ip, err := netip.ParseAddr(o.Pages.Host); err == nil && usual(ip) {
			o.Pages.Host = "localhost"
		}
	}
	if o.Captures == (config.Origin{}) {
		o.Captures = listening(cfg.Listen.Access, cfg.Secure)
		if o.Captures.Loopback() && !o.Pages.Loopback() { // whoever opens the pages cannot open it
			o.Captures = config.Origin{}
		}
	}
	return o
}

// usual reports whether browsers find the loopback address by the name localhost, too.
func usual(ip netip.Addr) bool {
	return ip == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || ip == netip.IPv6Loopback()
}

// listening returns the origin of an address to listen at, none if browsers cannot open it.
func listening(address string, secure config.Secure) config.Origin {
	host, text, err := net.SplitHostPort(address)
	port, errPort := strconv.Atoi(text)
	ip, errIP := netip.ParseAddr(host)
	if err != nil || errPort != nil || errIP != nil || ip.IsUnspecified() || ip.Zone() != "" {
		return config.Origin{}
	}
	switch ip = ip.Unmap(); {
	case ip.IsLoopback():
		return config.Origin{Scheme: "http", Host: ip.String(), Port: port}
	case secure.HTTPS():
		return config.Origin{Scheme: "https", Host: ip.String(), Port: port}
	}
	return config.Origin{} // it answers proxies alone
}

// PagesAllowed reports whether the archivists' pages, where people sign in, may be served; if not, the reason says
// what an operator can do about it.
func (o Origins) PagesAllowed() (allowed bool, reason string) {
	switch {
	case o.Pages == (config.Origin{}):
		return false, "the node does not know at which address browsers reach its API port: set pages-url in " +
			"cluster.toml, as in pages-url = \"https://archive.example.org\""
	case o.Captures == (config.Origin{}):
		return false, "the node does not know at which address browsers reach its access port: set access-url in " +
			"cluster.toml, as in access-url = \"https://captures.example.org\""
	case !o.Pages.Loopback() && o.Pages.Scheme != "https":
		return false, "passwords would be sent in clear to " + o.Pages.String() + ": give the node a certificate, or " +
			"a proxy that speaks HTTPS, and a pages-url in cluster.toml that begins with https://"
	case !o.Pages.Loopback() && !o.tls:
		return false, "the node neither speaks HTTPS nor knows the proxy that does: set certificate and " +
			"certificate-key, or trusted-proxies, in cluster.toml"
	case o.sameHost() && !o.chosen:
		return false, "an archived page could plant cookies for them, because the API and the access port both " +
			"listen at " + o.Pages.Host + ": let access have another address, or set pages-url and access-url in " +
			"cluster.toml, with different host names"
	}
	return true, ""
}

// Shared reports whether the archivists' pages are served under the host name of the captures, as the settings say.
func (o Origins) Shared() bool {
	allowed, _ := o.PagesAllowed()
	return allowed && o.sameHost()
}

// Alerts says that pages and captures share a host name, if they do.
func (o Origins) Alerts() []alert.Alert {
	if !o.Shared() {
		return nil
	}
	return []alert.Alert{alert.New(alert.SharedHost, o.Pages.Host, "pages", o.Pages.String(),
		"access", o.Captures.String())}
}

func (o Origins) sameHost() bool {
	return o.Pages != (config.Origin{}) && o.Pages.Host == o.Captures.Host
}

// browsed is what a browser has in its address bar, as far as its request tells.
type browsed struct {
	scheme string // "http" or "https"
	host   string // as in config.Origin; empty if there is none
	// relayed: a proxy passed the request on for a browser on another machine, or a proxy that is not trusted
	relayed bool
}

// believes reports whether a Host may be what a trusted proxy wrote for the browser's, so that its X-Forwarded-Host
// counts. A name that anybody can have in the DNS is the browser's own: a page there could send that header, too.
func (o Origins) believes(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || !strings.Contains(host, ".") || slices.Contains(o.names, host)
}

// isPages reports whether that is where the archivists' pages are. The port does not count: it may be that of a
// tunnel, and it does not tell cookies apart.
func (o Origins) isPages(b browsed) bool {
	return o.Pages != (config.Origin{}) && b.host == o.Pages.Host && b.scheme == o.Pages.Scheme &&
		!(o.Pages.Loopback() && b.relayed)
}

// misplaced reports whether captures must not be shown there, because cookies that are set there reach the archivists'
// pages, and the captures have another host name. A proxy on this machine may have written localhost itself.
func (o Origins) misplaced(b browsed) bool {
	if o.Pages == (config.Origin{}) || o.Captures == (config.Origin{}) || o.sameHost() ||
		o.Pages.Loopback() && b.relayed {
		return false
	}
	host := strings.TrimRight(b.host, ".")
	return host == o.Pages.Host || host != o.Captures.Host && strings.HasSuffix(host, "."+o.Pages.Host)
}
