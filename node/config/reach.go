package config

import (
	"net"
	"slices"
)

// Reached returns the addresses at which other nodes find this one. Without addresses in the file that is the address
// it listens on, unless it listens on every address of the machine.
func (c Config) Reached() []string {
	if host, _, _ := net.SplitHostPort(c.Listen.Peer); len(c.Table.Addresses) == 0 && !everywhere(host) {
		return []string{c.Listen.Peer}
	}
	return c.Table.Addresses
}

// Address returns an IP address of this node: the first that others reach it at, else one that it listens on. It is
// empty if the settings name none.
func (c Config) Address() string {
	for _, at := range append(slices.Clone(c.Table.Addresses), c.Listen.Peer) {
		host, _, _ := net.SplitHostPort(at)
		if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() {
			return ip.String()
		}
	}
	return ""
}
