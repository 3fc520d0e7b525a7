package fetch

import "net/netip"

// Public reports whether an address is one of the public Internet: not loopback, private, link-local, multicast or reserved.
func Public(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsValid() || addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified() {
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
	case b[0] == 0 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b: // NAT64: judge the address within
		return Public(netip.AddrFrom4([4]byte(b[12:])))
	case b[0] == 0x20 && b[1] == 0x02: // 6to4: likewise
		return Public(netip.AddrFrom4([4]byte(b[2:6])))
	}
	return b[0]&0xe0 == 0x20 // global unicast
}
