package cli

import (
	"net"
	"net/netip"
	"testing"
)

// TestOurs takes each address of this machine for its own, and no other.
func TestOurs(t *testing.T) {
	t.Parallel()
	a := &app{ctx: t.Context()}
	own, err := net.InterfaceAddrs()
	if err != nil || len(own) == 0 {
		t.Fatal(own, err)
	}
	for _, o := range own {
		prefix, err := netip.ParsePrefix(o.String())
		if err != nil {
			t.Fatal(err)
		}
		if !a.ours(prefix.Addr().String()) {
			t.Errorf("%s is not ours", prefix.Addr())
		}
	}
	for _, other := range []string{"192.0.2.1", "2001:db8::1", "nosuch.invalid", ""} {
		if a.ours(other) {
			t.Errorf("%q is ours", other)
		}
	}
}
