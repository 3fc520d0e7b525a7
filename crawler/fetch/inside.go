package fetch

import (
	"net/netip"
	"slices"
)

// metadata are the addresses at which hosting providers tell a machine about itself: its keys and passwords, too. Some
// look public.
var metadata = [...]netip.Addr{
	netip.AddrFrom4([4]byte{169, 254, 169, 254}), // most providers
	netip.AddrFrom4([4]byte{169, 254, 169, 253}), // their name server
	netip.AddrFrom4([4]byte{169, 254, 170, 2}),   // containers at Amazon
	netip.AddrFrom4([4]byte{169, 254, 170, 23}),
	netip.AddrFrom4([4]byte{169, 254, 42, 42}),   // Scaleway
	netip.AddrFrom4([4]byte{169, 254, 0, 23}),    // Tencent
	netip.AddrFrom4([4]byte{100, 100, 100, 200}), // Alibaba
	netip.AddrFrom4([4]byte{168, 63, 129, 16}),   // Azure
	netip.AddrFrom4([4]byte{192, 0, 0, 192}),     // Oracle, before
	netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("fd00:ec2::253"),
	netip.MustParseAddr("fd00:ec2::23"),
	netip.MustParseAddr("fd20:ce::254"), // Google
	netip.MustParseAddr("fd00:42::42"),
	netip.MustParseAddr("fe80::a9fe:a9fe"), // OpenStack
}

// Metadata reports whether a hosting provider may tell a machine about itself at an address.
func Metadata(addr netip.Addr) bool {
	return leadsTo(addr, func(a netip.Addr) bool { return slices.Contains(metadata[:], a) })
}

// LinkLocal reports whether an address is one of the network's own segment, IPv4 or IPv6.
func LinkLocal(addr netip.Addr) bool {
	return leadsTo(addr, func(a netip.Addr) bool { return a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() })
}

// leadsTo reports whether a test holds for an address, or for an IPv4 address that it contains and may lead to.
func leadsTo(addr netip.Addr, is func(netip.Addr) bool) bool {
	addr = addr.WithZone("").Unmap()
	if is(addr) || !addr.Is6() {
		return is(addr)
	}
	b := addr.As16()
	var within [][4]byte
	switch {
	case liesIn("64:ff9b:1::/48", addr):
		within = [][4]byte{{b[6], b[7], b[9], b[10]}, {b[7], b[9], b[10], b[11]}, {b[9], b[10], b[11], b[12]},
			[4]byte(b[12:])}
	case liesIn("64:ff9b::/96", addr), liesIn("::/96", addr), liesIn("::ffff:0:0:0/96", addr), // RFC 2765
		b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP
		within = [][4]byte{[4]byte(b[12:])}
	case b[0] == 0x20 && b[1] == 0x02: // 6to4
		within = [][4]byte{[4]byte(b[2:6])}
	case liesIn("2001::/32", addr): // Teredo
		within = [][4]byte{[4]byte(b[4:8]), {^b[12], ^b[13], ^b[14], ^b[15]}}
	}
	return slices.ContainsFunc(within, func(v4 [4]byte) bool { return is(netip.AddrFrom4(v4)) })
}
