package peer

import (
	"net"
	"testing"
)

// A machine that is to found a cluster learns whether one of that name runs at the other addresses, and whether
// somebody could not be asked.
func TestWhichFindsTheClusterOfAName(t *testing.T) {
	a := newTestNode(t, Config{Cluster: "0a1b", Name: "example"})
	b := newTestNode(t, Config{Cluster: "2c3d", Name: "other"})
	old := newTestNode(t, Config{Cluster: "4e5f"})
	free, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := free.LocalAddr().String()
	_ = free.Close()
	found, err := Which(within(t), "example", []string{a.Addr().String(), b.Addr().String(), old.Addr().String(), closed})
	if err != nil {
		t.Fatal(err)
	}
	want := []Found{{Node: a.ID(), Cluster: "0a1b"}, {Node: b.ID()}, {Node: old.ID()}, {Silent: true}}
	for i, w := range want {
		w.Address = found[i].Address
		if found[i] != w {
			t.Errorf("%d: %+v, want %+v", i, found[i], w)
		}
	}
}
