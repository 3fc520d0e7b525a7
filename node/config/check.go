package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast/internal/trace"
)

// leastReserve is the room left free on a disk whatever the settings say: the node's databases need it to continue,
// and files must stop long before that.
const leastReserve = 192 << 20

const (
	maxWeight   = 1_000_000 // that the catalog takes
	leastLease  = Duration(time.Minute)
	leastMemory = 256 << 20
)

// check returns what is wrong with the node's settings, or nil.
func (c *Config) check() error {
	if err := c.checkAddresses(); err != nil {
		return err
	}
	if err := c.checkFolders(); err != nil {
		return err
	}
	if roles := []string{"none", "reader", "curator", "operator", "admin"}; !slices.Contains(roles, c.LocalToken) {
		return errors.New(suggest("local-token", c.LocalToken, roles))
	}
	if share := c.Limits.Challenges; !(share >= 0 && share <= 1) {
		return fmt.Errorf("challenge-share = %v: want a share from 0 to 1, such as 0.01", share)
	}
	if c.Limits.Crawls < 0 {
		return fmt.Errorf("crawls = %d: want 0 or more", c.Limits.Crawls)
	}
	if err := checkChannels(c.Channels); err != nil {
		return err
	}
	if err := c.Notices.check(); err != nil {
		return err
	}
	if err := c.Backups.check(c.Data); err != nil {
		return err
	}
	if err := c.OpenID.check(); err != nil {
		return err
	}
	if c.Limits.Lease < leastLease {
		return fmt.Errorf("lease = %q: want at least 1m, so that no job is taken from its node during an election",
			c.Limits.Lease)
	}
	if !slices.Contains(logLevels(), c.Limits.LogLevel) {
		return errors.New(suggest("log-level", c.Limits.LogLevel, logLevels()))
	}
	if err := c.Limits.checkLog(); err != nil {
		return err
	}
	if c.Traces != "" {
		if err := trace.CheckURL(c.Traces); err != nil {
			return fmt.Errorf("otlp-url = %q: %w", shownURL(c.Traces), err)
		}
	}
	if c.Limits.Memory < leastMemory {
		return fmt.Errorf("memory = %s: want at least 256MiB", c.Limits.Memory)
	}
	for _, id := range c.SecretsTo {
		if id == "" || strings.ContainsAny(id, " \t/") {
			return fmt.Errorf("secrets-to: %q: want the ids of nodes, as holdfast node list shows them", id)
		}
	}
	if !isHost(c.Organization) {
		return fmt.Errorf("organization = %q: want a name as hosts have it, such as \"example.org\": letters, digits, "+
			"dots and hyphens", c.Organization)
	}
	if c.Limits.RaftLog < 1<<20 {
		return fmt.Errorf("raft-log = %s: want at least 1MiB", c.Limits.RaftLog)
	}
	return nil
}

const (
	leastLogFile = 64 << 10
	mostLogBytes = 10 << 30 // of all log files
)

// checkLog returns what is wrong with the settings of the node's log, or nil.
func (l *Limits) checkLog() error {
	if formats := []string{"text", "json"}; !slices.Contains(formats, l.LogFormat) {
		return errors.New(suggest("log-format", l.LogFormat, formats))
	}
	if l.LogFiles < 0 {
		return fmt.Errorf("log-files = %d: want 0 or more", l.LogFiles)
	}
	if l.LogFiles == 0 {
		return nil
	}
	if l.LogSize < leastLogFile {
		return fmt.Errorf("log-file-size = %s: want at least 64KiB", l.LogSize)
	}
	if l.LogSize > mostLogBytes/Bytes(l.LogFiles) {
		return fmt.Errorf("log-files = %d and log-file-size = %s: want at most 10GiB in all", l.LogFiles, l.LogSize)
	}
	return nil
}

// isHost reports whether a name can be the host of a URI.
func isHost(name string) bool {
	return name != "" && len(name) <= 253 && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "-") &&
		!strings.ContainsFunc(name, func(r rune) bool {
			return r != '.' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		})
}

// mostChannels is how many channels a node can serve.
const mostChannels = 100

// checkChannels returns what is wrong with the channels that a node is to serve, or nil.
func checkChannels(names []string) error {
	if len(names) == 0 {
		return errors.New("channels = []: name at least one; crawls = 0 says that a node takes no jobs")
	}
	if len(names) > mostChannels {
		return fmt.Errorf("channels: %d of them: want at most %d", len(names), mostChannels)
	}
	for i, name := range names {
		if !regexp.MustCompile(`^[0-9A-Za-z_]{1,64}$`).MatchString(name) {
			return fmt.Errorf("channels: %q: want 1 to 64 letters, digits and underscores", name)
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("channels: %q is named twice", name)
		}
	}
	return nil
}

func (c *Config) checkAddresses() error {
	for _, a := range []struct{ key, value string }{{"peer", c.Listen.Peer}, {"api", c.Listen.API},
		{"access", c.Listen.Access}} {
		if err := checkAddress(a.value); err != nil {
			return fmt.Errorf("%s %q: %w", a.key, a.value, err)
		}
	}
	if collide(c.Listen.API, c.Listen.Access) {
		return fmt.Errorf("api %q and access %q: one address cannot serve both", c.Listen.API, c.Listen.Access)
	}
	var err error
	if c.Secure.TrustedProxies, err = parseProxies(c.proxies); err != nil {
		return err
	}
	for _, a := range []struct{ key, value string }{{"api", c.Listen.API}, {"access", c.Listen.Access}} {
		if err := c.Secure.check(a.key, a.value); err != nil {
			return err
		}
	}
	if err := c.checkOrigins(); err != nil {
		return err
	}
	for _, a := range c.Table.Addresses {
		if err := checkAddress(a); err != nil {
			return fmt.Errorf("addresses: %q: %w", a, err)
		}
		if host, port, _ := net.SplitHostPort(a); everywhere(host) || port == "0" {
			return fmt.Errorf("addresses: %q: want the host and port at which the other nodes reach this one", a)
		}
	}
	return nil
}

// collide reports whether two addresses to listen on with TCP are in each other's way.
func collide(a, b string) bool {
	hostA, portA, _ := net.SplitHostPort(a)
	hostB, portB, _ := net.SplitHostPort(b)
	return portA == portB && portA != "0" && (hostA == hostB || everywhere(hostA) || everywhere(hostB))
}

// everywhere reports whether the host of a listen address stands for all addresses of the machine.
func everywhere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

func (c *Config) checkFolders() error {
	if !filepath.IsAbs(c.Data) {
		return fmt.Errorf("data = %q: want a path from the root, as in \"/var/lib/holdfast\"", c.Data)
	}
	seen := map[string]bool{}
	for _, dir := range c.Files {
		clean := filepath.Clean(dir)
		switch {
		case !filepath.IsAbs(dir):
			return fmt.Errorf("files: %q: want a path from the root, as in \"/disk1/holdfast\"", dir)
		case seen[clean]:
			return fmt.Errorf("files: %q is listed twice", dir)
		}
		seen[clean] = true
	}
	return nil
}
