package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Origin is what browsers call a port by: the scheme, the host and the port of its URLs. The zero Origin is none.
type Origin struct {
	Scheme string // "http" or "https"
	Host   string // a name in lower case, or an IP address without brackets
	Port   int    // never 0, unless there is no origin
}

// UnmarshalText reads a URL that has a scheme, a host and perhaps a port, and nothing else. An empty text is none.
func (o *Origin) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*o = Origin{}
		return nil
	}
	u, err := url.Parse(string(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fmt.Errorf("%q is not a URL such as \"https://archive.example.org\"", text)
	}
	if u.User != nil || u.Path != "" && u.Path != "/" || strings.ContainsAny(string(text), "?#") {
		return fmt.Errorf("%q has more than scheme, host and port: want a URL such as \"%s://%s\"", text, u.Scheme,
			u.Host)
	}
	host, err := hostOf(u.Hostname())
	if err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	port := defaultPort(u.Scheme)
	if given := u.Port(); given != "" {
		if port, err = strconv.Atoi(given); err != nil || port < 1 || port > 65535 {
			return fmt.Errorf("%q: port %s: want a number from 1 to 65535", text, given)
		}
	}
	*o = Origin{Scheme: u.Scheme, Host: host, Port: port}
	return nil
}

// hostOf returns a host as browsers write it, or what is wrong with it.
func hostOf(text string) (string, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		if ip.IsUnspecified() || ip.Zone() != "" {
			return "", fmt.Errorf("browsers cannot open the address %s", text)
		}
		return ip.String(), nil
	}
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil { // browsers take it for an IP address
		return "", fmt.Errorf("%s is neither a name nor a whole IP address", text)
	}
	if !isHost(name) {
		return "", errors.New("want a host of letters, digits, dots and hyphens, as in \"archive.example.org\"; " +
			"a name with other letters is written as browsers send it, as in \"xn--arkv-dra.example\"")
	}
	return name, nil
}

func defaultPort(scheme string) int {
	if scheme == "https" {
		return 443
	}
	return 80
}

// MarshalText writes the origin as String does.
func (o Origin) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// String returns the origin as a URL without a path, empty for none.
func (o Origin) String() string {
	if o == (Origin{}) {
		return ""
	}
	return o.Scheme + "://" + o.HostPort()
}

// HostPort returns the host and the port as browsers send them: without the port that is the scheme's own.
func (o Origin) HostPort() string {
	if o.Port != defaultPort(o.Scheme) {
		return net.JoinHostPort(o.Host, strconv.Itoa(o.Port))
	}
	if strings.Contains(o.Host, ":") {
		return "[" + o.Host + "]"
	}
	return o.Host
}

// Loopback reports whether browsers reach the origin on their own machine only.
func (o Origin) Loopback() bool { return onlyHere(o.Host) }

// checkOrigins returns what is wrong with pages-url and access-url, or nil.
func (c *Config) checkOrigins() error {
	if c.PagesURL != (Origin{}) && c.PagesURL == c.AccessURL {
		return fmt.Errorf("pages-url and access-url are both %q: the archivists' pages and the captures have "+
			"addresses of their own, best with different host names", c.PagesURL)
	}
	return nil
}
