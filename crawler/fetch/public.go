package fetch

import "net/netip"

// Public reports whether an address belongs to the public Internet: it is not loopback, private, link-local,
// multicast or reserved. If an IPv6 address contains the IPv4 address that it leads to, the IPv4 address decides.
func Public(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsValid() || addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() || addr.IsMulticast() ||
		addr.IsUnspecified() {
		return false
	}
	if addr.Is4() {
		b := addr.As4()
		switch {
		case b[0] == 0, b[0] >= 240, // this network, reserved
			b[0] == 100 && b[1]&0xc0 == 64,           // shared by carriers
			b[0] == 192 && b[1] == 0 && b[2] == 0,    // protocol assignments
			b[0] == 198 && b[1]&0xfe == 18,           // benchmarks
			b[0] == 192 && b[1] == 0 && b[2] == 2,    // documentation
			b[0] == 198 && b[1] == 51 && b[2] == 100, // documentation
			b[0] == 203 && b[1] == 0 && b[2] == 113:  // documentation
			return false
		}
		return true
	}
	b := addr.As16()
	switch {
	case liesIn("64:ff9b:1::/48", addr): // NAT64 with a prefix of the network's own
		return localNAT64(b)
	case liesIn("64:ff9b::/96", addr): // NAT64
		return Public(netip.AddrFrom4([4]byte(b[12:])))
	case b[0] == 0x20 && b[1] == 0x02: // 6to4
		return Public(netip.AddrFrom4([4]byte(b[2:6])))
	case liesIn("2001::/32", addr): // Teredo: its server, and its client in inverted bits
		client := [4]byte{^b[12], ^b[13], ^b[14], ^b[15]}
		return Public(netip.AddrFrom4([4]byte(b[4:8]))) && Public(netip.AddrFrom4(client))
	case liesIn("2001:db8::/32", addr), liesIn("3fff::/20", addr): // documentation
		return false
	}
	return b[0]&0xe0 == 0x20 // global unicast
}

func liesIn(prefix string, addr netip.Addr) bool { return netip.MustParsePrefix(prefix).Contains(addr) }

// localNAT64 judges an address of 64:ff9b:1::/48, which has the IPv4 address at one of four places (RFC 6052). Only
// the network knows which: every address that it may be has to be public, and there has to be one.
func localNAT64(b [16]byte) bool {
	if b[8] != 0 { // these bits are zero in all of them
		return false
	}
	empty := func(rest []byte) bool {
		for _, x := range rest {
			if x != 0 {
				return false
			}
		}
		return true
	}
	found := false
	for _, may := range []struct {
		addr [4]byte
		rest []byte // zero if the address is here
		own  []byte // not all zero
	}{
		{[4]byte{b[6], b[7], b[9], b[10]}, b[11:], nil},
		{[4]byte{b[7], b[9], b[10], b[11]}, b[12:], nil},
		{[4]byte{b[9], b[10], b[11], b[12]}, b[13:], nil},
		{[4]byte(b[12:]), nil, b[12:]},
	} {
		if !empty(may.rest) || may.own != nil && empty(may.own) {
			continue
		}
		if !Public(netip.AddrFrom4(may.addr)) {
			return false
		}
		found = true
	}
	return found
}
