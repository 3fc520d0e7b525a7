package node

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// Bounds on the connections of one TCP port.
const (
	connectionsInAll = 8192
	connectionsOfOne = 1024 // from one address
	filesPerPort     = 4    // a port takes at most this part of the files that the process may have open
	leastConnections = 64
)

// connections bounds the connections of a TCP port, in all and from each address. It turns nobody away: when there are too many, the one
// that has been silent for longest is closed, so that whoever holds many connections open loses these, and whoever asks and
// reads is served.
type connections struct {
	net.Listener
	all, each int
	trusts    func(netip.Addr) bool // of proxies, each of which brings many callers

	mu   sync.Mutex
	open *list.List            // of *caller, by who was silent for longest
	from map[string]*list.List // the same, of one address
}

func newConnections(l net.Listener, all, each int, trusts func(netip.Addr) bool) *connections {
	return &connections{Listener: l, all: all, each: each, trusts: trusts, open: list.New(), from: map[string]*list.List{}}
}

// connectionLimit returns how many connections a port may have, by what the process may open.
func connectionLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return leastConnections
	}
	return int(min(connectionsInAll, max(leastConnections, limit.Cur/filesPerPort)))
}

// Accept returns the next connection, and closes another when there are too many.
func (d *connections) Accept() (net.Conn, error) {
	c, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	out := &caller{Conn: c, door: d, host: hostOf(c.RemoteAddr())}
	for _, silent := range d.admit(out) {
		_ = silent.Close()
	}
	return out, nil
}

// hostOf returns the address without the port; of an IPv6 address, the network that one customer has.
func hostOf(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return a.String()
	}
	if tcp.IP.To4() == nil {
		return tcp.IP.Mask(net.CIDRMask(64, 128)).String()
	}
	return tcp.IP.String()
}

// admit counts a connection in, and returns those that are to be closed for it.
func (d *connections) admit(c *caller) (silent []*caller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	same := d.from[c.host]
	if same == nil {
		same = list.New()
		d.from[c.host] = same
	}
	if same.Len() >= d.each && !d.trusts(addressOf(c.RemoteAddr())) {
		silent = append(silent, d.drop(same.Front().Value.(*caller)))
	}
	if d.open.Len() >= d.all {
		silent = append(silent, d.drop(d.open.Front().Value.(*caller)))
	}
	if d.from[c.host] == nil { // the last one of it was dropped
		d.from[c.host] = same
	}
	c.inAll, c.inHost = d.open.PushBack(c), same.PushBack(c)
	return silent
}

// drop counts a connection out.
func (d *connections) drop(c *caller) *caller {
	if c.inAll == nil {
		return c
	}
	d.open.Remove(c.inAll)
	same := d.from[c.host]
	same.Remove(c.inHost)
	if same.Len() == 0 {
		delete(d.from, c.host)
	}
	c.inAll, c.inHost = nil, nil
	return c
}

// heard notes that bytes went over a connection.
func (d *connections) heard(c *caller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.inAll != nil {
		d.open.MoveToBack(c.inAll)
		d.from[c.host].MoveToBack(c.inHost)
	}
}

// caller is one connection.
type caller struct {
	net.Conn
	door          *connections
	host          string
	inAll, inHost *list.Element // nil once it is counted out
}

func (c *caller) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.door.heard(c)
	}
	return n, err
}

func (c *caller) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if n > 0 {
		c.door.heard(c)
	}
	return n, err
}

// Close closes the connection and counts it out.
func (c *caller) Close() error {
	c.door.mu.Lock()
	c.door.drop(c)
	c.door.mu.Unlock()
	return c.Conn.Close()
}
