package front

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Bounds on the connections of one TCP port.
const (
	connectionsInAll = 8192
	connectionsOfOne = 1024 // from one address, once half of all are taken
	filesPerPort     = 4    // a port takes at most this part of the files that the process may have open
	leastConnections = 64

	connectionRate  = 50  // new ones a second from one address
	connectionBurst = 500 // at once
)

// fullPrice is for how many connections one counts that makes another of its address close: an address that has as many
// as it may gets fewer new ones.
const fullPrice = 20

// network is for how many customers' networks one of a provider's counts, which may be a single caller's too: of IPv6,
// a /48 for the /64s in it.
const network = 4

// connectionWait is how long a connection over the rate is delayed. Meanwhile it costs only an open file.
const connectionWait = 20 * time.Second

// connections bounds the connections of a TCP port: how many are open, in all and from each address, and how fast new
// ones come from an address.
//
// When too many are open, the one that has been silent for longest is closed: a caller who holds many connections
// loses them, and one who asks and reads is served. A connection over the rate waits before anything is read from it,
// or is closed if it would wait too long; coming back at once after being cut off gains nothing.
type connections struct {
	net.Listener
	all, each int
	trusts    func(netip.Addr) bool // of proxies, each of which brings many callers
	rates     *rates

	in     chan net.Conn
	ended  chan struct{} // closed when the listener has failed or was closed; failed says how
	failed error
	begin  sync.Once

	mu   sync.Mutex
	open *list.List            // of *caller, by who was silent for longest
	from map[string]*list.List // the same, of one address or network
}

func newConnections(l net.Listener, all, each int, trusts func(netip.Addr) bool) *connections {
	return &connections{Listener: l, all: all, each: each, trusts: trusts,
		rates: newRates(connectionRate, connectionBurst, connectionWait),
		in:    make(chan net.Conn), ended: make(chan struct{}), open: list.New(), from: map[string]*list.List{}}
}

// connectionLimit returns how many connections a port may have, given how many files the process may open.
func connectionLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return leastConnections
	}
	return int(min(connectionsInAll, max(leastConnections, limit.Cur/filesPerPort)))
}

// Accept returns the next connection whose turn it is, and closes another when there are too many.
func (d *connections) Accept() (net.Conn, error) {
	d.begin.Do(func() { go d.receive() })
	select {
	case c := <-d.in:
		return c, nil
	case <-d.ended:
		return nil, d.failed
	}
}

// receive takes connections in until the listener fails or is closed.
func (d *connections) receive() {
	for {
		c, err := d.Listener.Accept()
		if temporary(err) {
			time.Sleep(acceptPause)
			continue
		}
		if err != nil {
			d.failed = err
			close(d.ended)
			return
		}
		d.take(c)
	}
}

// acceptPause is how long a port waits when the process cannot open more files.
const acceptPause = 50 * time.Millisecond

// temporary reports whether accepting may succeed later.
func temporary(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED) ||
		errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM)
}

// take lets a connection in, now or when it is its turn.
func (d *connections) take(c net.Conn) {
	from := addressOf(c.RemoteAddr())
	out := &caller{Conn: c, door: d, bounded: !d.trusts(from), counts: countsOf(c.RemoteAddr())}
	var wait time.Duration
	if out.bounded && !ownMachine(from, c.LocalAddr()) {
		price := 1.0
		if d.full(out) {
			price = fullPrice
		}
		for _, k := range out.counts {
			more, ok := d.rates.take(k.name, price/k.size)
			if wait = max(wait, more); !ok || wait > 0 && price > 1 {
				hangUp(c)
				return
			}
		}
	}
	for _, silent := range d.admit(out) {
		hangUp(silent)
	}
	prepare(c)
	if wait == 0 {
		d.hand(out)
		return
	}
	time.AfterFunc(wait, func() { d.hand(out) })
}

// prepare sets the options of an admitted connection. The listener sets none, so that a refused connection costs
// little.
func prepare(c net.Conn) {
	sendLittle(c)
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true}) // without it, a dead connection is only found later
	}
}

// listenTCP opens a TCP port for connections.
func listenTCP(ctx context.Context, address string) (net.Listener, error) {
	quick := net.ListenConfig{KeepAlive: -1}
	return quick.Listen(ctx, "tcp", address)
}

// hand gives a connection to Accept.
func (d *connections) hand(c *caller) {
	if !d.counted(c) {
		return // it was closed while it waited
	}
	select {
	case d.in <- c:
	case <-d.ended:
		_ = c.Close()
	}
}

// hangUp closes a connection and drops data that it has not taken yet, which the kernel would keep for minutes.
func hangUp(c net.Conn) {
	dropUnsent(c)
	_ = c.Close()
}

func dropUnsent(c net.Conn) {
	if of, ok := c.(*caller); ok {
		c = of.Conn
	}
	if t, ok := c.(interface{ SetLinger(int) error }); ok {
		_ = t.SetLinger(0)
	}
}

// full reports whether the address has as many connections open as it may.
func (d *connections) full(c *caller) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(c.counts, d.tooMany)
}

// tooMany reports whether an address or network has as many connections open as it may. While the port has room, it may
// have more: a library's readers often share one address.
func (d *connections) tooMany(k count) bool {
	same := d.from[k.name]
	return same != nil && same.Len() >= int(k.size)*d.each && d.open.Len() >= d.all/2
}

// counted reports whether the connection was not closed.
func (d *connections) counted(c *caller) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return c.inAll != nil
}

// opened returns how many connections are open.
func (d *connections) opened() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open.Len()
}

// crowded reports whether enough connections are open for callers' rates to count.
func (d *connections) crowded() bool { return d.opened() >= min(crowd, d.all/2) }

// crowd is the number of open connections from which on requests have a rate.
const crowd = 512

// count is an address or network whose connections are bounded together.
type count struct {
	name string
	size float64 // for how many addresses it counts
	at   *list.Element
}

// countsOf returns what a connection from the address is counted for: the address without its port and, for IPv6, the
// networks that one customer and one site have.
func countsOf(a net.Addr) []count {
	ip := addressOf(a)
	if !ip.IsValid() {
		return []count{{name: a.String(), size: 1}}
	}
	out := []count{{name: hostPrefix(ip).String(), size: 1}}
	if site, ok := sitePrefix(ip); ok {
		out = append(out, count{name: site.String(), size: network})
	}
	return out
}

// sitePrefix returns the network that a site has, which may be one caller's: the 48 bits of an IPv6 address.
func sitePrefix(ip netip.Addr) (netip.Prefix, bool) {
	return netip.PrefixFrom(ip, 48).Masked(), ip.Is6()
}

// hostPrefix returns what counts as one caller: an IPv4 address, or the 64 bits of an IPv6 address that one customer
// has.
func hostPrefix(ip netip.Addr) netip.Prefix {
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(ip, bits).Masked()
}

// ownMachine reports whether the two ends of a connection are the same loopback address.
func ownMachine(remote netip.Addr, local net.Addr) bool {
	return remote.IsLoopback() && remote == addressOf(local)
}

// admit counts a new connection, and returns those to be closed for it.
func (d *connections) admit(c *caller) (silent []*caller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range c.counts {
		if c.bounded && d.tooMany(k) {
			silent = append(silent, d.drop(d.from[k.name].Front().Value.(*caller)))
		}
	}
	if d.open.Len() >= d.all {
		silent = append(silent, d.drop(d.open.Front().Value.(*caller)))
	}
	for i := range c.counts {
		k := &c.counts[i]
		if d.from[k.name] == nil {
			d.from[k.name] = list.New()
		}
		k.at = d.from[k.name].PushBack(c)
	}
	c.inAll = d.open.PushBack(c)
	return silent
}

// drop counts a connection out.
func (d *connections) drop(c *caller) *caller {
	if c.inAll == nil {
		return c
	}
	d.open.Remove(c.inAll)
	c.inAll = nil
	for _, k := range c.counts {
		same := d.from[k.name]
		same.Remove(k.at)
		if same.Len() == 0 {
			delete(d.from, k.name)
		}
	}
	return c
}

// heard notes that bytes went over a connection.
func (d *connections) heard(c *caller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.inAll == nil {
		return
	}
	d.open.MoveToBack(c.inAll)
	for _, k := range c.counts {
		d.from[k.name].MoveToBack(k.at)
	}
}

// caller is one connection.
type caller struct {
	net.Conn
	door    *connections
	bounded bool // by its address
	counts  []count
	inAll   *list.Element // nil once it is counted out
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
	if errors.Is(err, os.ErrDeadlineExceeded) {
		dropUnsent(c.Conn)
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
