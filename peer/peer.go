// Package peer connects the nodes of a cluster: node keys, the member list as trust,
// join tokens, and mutually authenticated QUIC connections on one UDP port. Rooms above
// see streams (net.Conn), calls and packets, never QUIC.
//
// Each pair of nodes has two connections, one for control and one for bulk, so that
// copying cannot starve heartbeats. Either side may dial; what one dialled serves both.
package peer

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"golang.org/x/time/rate"
)

// Class says which of a pair's two connections a stream uses.
type Class byte

const (
	Control Class = 0 // small and urgent: gossip, Raft, calls
	Bulk    Class = 1 // large and patient: files

	joinClass  Class = 2 // a machine that wants to become a member
	checkClass Class = 3 // a member that measures the path
	whichClass Class = 4 // anyone who asks for the cluster of a name
)

func (c Class) String() string {
	switch c {
	case Control:
		return "control"
	case Bulk:
		return "bulk"
	case joinClass:
		return "join"
	case checkClass:
		return "check"
	case whichClass:
		return "which"
	}
	return fmt.Sprintf("class %d", byte(c))
}

// Config holds the settings of a Peer, besides its key.
type Config struct {
	Listen     string        // UDP address; ":7480" if empty
	Cluster    string        // id of the cluster; required
	Name       string        // of the cluster: who asks for it by name is told the id; empty: nobody is
	Epoch      uint64        // of the last known member list; SetMembers raises it
	KeepAlive  time.Duration // between signs of life, so that NAT keeps a path open; 15 s, at most 20 s
	MaxStreams int           // streams that one node may have open towards us per connection; 512
	Window     uint64        // bytes under way at most on one bulk connection; 96 MiB
}

// maxKeepAlive is the longest pause that NAT devices are known to bear.
const maxKeepAlive = 20 * time.Second

func (c Config) withDefaults() (Config, error) {
	c.Listen = cmp.Or(c.Listen, ":7480")
	c.KeepAlive = cmp.Or(c.KeepAlive, 15*time.Second)
	c.MaxStreams = cmp.Or(c.MaxStreams, 512)
	c.Window = cmp.Or(c.Window, 96<<20)
	switch {
	case c.Cluster == "" || len(c.Cluster) > maxTokenField:
		return c, fmt.Errorf("cluster id of %d bytes: want 1 to %d", len(c.Cluster), maxTokenField)
	case c.KeepAlive < 0 || c.KeepAlive > maxKeepAlive:
		return c, fmt.Errorf("keepalive of %s: at most %s", c.KeepAlive, maxKeepAlive)
	case c.MaxStreams < 0:
		return c, fmt.Errorf("%d streams: want a positive number", c.MaxStreams)
	}
	return c, nil
}

// Member is one node of the member list.
type Member struct {
	ID        ID
	Name      string
	Key       []byte   // Ed25519 public key; its fingerprint is ID
	Addresses []string // host:port, inside and outside; none if it can only dial out
	OutOnly   bool     // it is never dialled
	Removed   bool     // it was a member once: refused, and told so
}

// service is what answers the streams of one kind.
type service struct {
	class  Class
	handle func(ctx context.Context, from ID, s net.Conn)
}

// JoinFunc answers the request of a machine that is not a member. TLS has proved that
// the machine holds key; nothing else about it is known.
type JoinFunc func(ctx context.Context, key ed25519.PublicKey, request []byte) (reply []byte, err error)

// Peer is this node's end of all its connections. Its methods may be called by several
// goroutines; Handle, HandleCall, HandleJoin, Packets and Events only before Run.
type Peer struct {
	cfg   Config
	self  ID
	boot  uint64
	cert  tls.Certificate
	log   *slog.Logger
	noise *rate.Limiter // log lines that strangers cause

	udp       *net.UDPConn
	transport *quic.Transport
	listener  *quic.Listener
	gate      *gate
	windows   *windows

	services map[string]service
	join     JoinFunc
	onPacket func(from ID, packet []byte)
	onEvent  func(Event)
	count    counters
	tasks    sync.WaitGroup
	changed  chan struct{} // the member list was changed

	mu      sync.Mutex
	state   runState
	epoch   uint64
	remotes map[ID]*remote
	removed map[ID]bool
	outOnly bool   // this node cannot be dialled, so it dials everyone
	order   uint64 // of links, as they came
}

type runState int

const (
	idle runState = iota
	running
	stopped
)

// New binds the UDP port. Nothing is accepted or dialled before Run. A Peer that is
// never run must be closed.
func New(cfg Config, id Identity, log *slog.Logger) (*Peer, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	cert, err := id.certificate()
	if err != nil {
		return nil, err
	}
	var boot [8]byte
	if _, err := rand.Read(boot[:]); err != nil {
		return nil, fmt.Errorf("draw boot number: %w", err)
	}
	p := &Peer{
		cfg: cfg, self: id.ID(), boot: binary.BigEndian.Uint64(boot[:]), cert: cert, log: log,
		noise:    rate.NewLimiter(1, 20),
		gate:     newGate(),
		windows:  newWindows(),
		services: make(map[string]service),
		onPacket: func(ID, []byte) {},
		onEvent:  func(Event) {},
		changed:  make(chan struct{}, 1),
		epoch:    cfg.Epoch,
		remotes:  make(map[ID]*remote),
		removed:  make(map[ID]bool),
	}
	if err := p.bind(id); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Peer) bind(id Identity) error {
	address, err := net.ResolveUDPAddr("udp", p.cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen address: %w", err)
	}
	reset, err := id.secret("holdfast stateless reset", 32)
	if err != nil {
		return err
	}
	if p.udp, err = net.ListenUDP("udp", address); err != nil {
		return fmt.Errorf("bind peer port: %w", err)
	}
	p.transport = &quic.Transport{
		Conn:                p.udp,
		StatelessResetKey:   (*quic.StatelessResetKey)(reset),
		VerifySourceAddress: func(net.Addr) bool { return p.gate.crowded() },
		ConnContext:         p.admitHandshake,
	}
	p.listener, err = p.transport.Listen(serverTLS(p.cert), quicConfig(p.cfg, p.windows))
	if err != nil {
		return errors.Join(fmt.Errorf("listen on peer port: %w", err), p.transport.Close(), p.udp.Close())
	}
	return nil
}

func quicConfig(cfg Config, windows *windows) *quic.Config {
	return &quic.Config{
		HandshakeIdleTimeout:           handshakeTime,
		MaxIdleTimeout:                 2 * cfg.KeepAlive,
		KeepAlivePeriod:                cfg.KeepAlive,
		MaxIncomingStreams:             int64(cfg.MaxStreams),
		MaxIncomingUniStreams:          -1,
		InitialStreamReceiveWindow:     firstWindow,
		MaxStreamReceiveWindow:         cfg.Window,
		InitialConnectionReceiveWindow: firstWindow,
		MaxConnectionReceiveWindow:     cfg.Window,
		AllowConnectionWindowIncrease:  windows.allow,
		EnableDatagrams:                true,
	}
}

// ID returns this node's own ID.
func (p *Peer) ID() ID { return p.self }

// Addr returns the address of the UDP port.
func (p *Peer) Addr() net.Addr { return p.udp.LocalAddr() }

// Handle names the function that answers streams of a kind, and the connection they use.
// It runs in a goroutine of its own and must close s, now or later; ctx ends with the
// connection or with Run. All nodes must give a kind the same class.
func (p *Peer) Handle(kind string, class Class, h func(ctx context.Context, from ID, s net.Conn)) {
	p.services[kind[:min(len(kind), maxKind)]] = service{class: class, handle: h}
}

// HandleJoin names the function that answers machines that want to become members.
// Calls to it are limited in rate and number.
func (p *Peer) HandleJoin(h JoinFunc) { p.join = h }

// Packets names the function that takes packets. It must not block.
func (p *Peer) Packets(h func(from ID, packet []byte)) { p.onPacket = h }

// Events sets the function that is called with events. It must not block.
func (p *Peer) Events(h func(Event)) { p.onEvent = h }

// Run accepts and dials until ctx ends. When it returns all connections are closed, all
// handlers have returned and the port is free. A Peer runs once.
func (p *Peer) Run(ctx context.Context) error {
	p.mu.Lock()
	if p.state != idle {
		p.mu.Unlock()
		return ErrStopped
	}
	p.state = running
	p.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	failed := make(chan error, 1)
	p.tasks.Go(func() { failed <- p.accept(ctx) })
	p.tasks.Go(func() { p.follow(ctx) })
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel()
	return errors.Join(err, p.Close())
}

// Close closes all connections, waits for handlers, and frees the port. Run does it by itself.
func (p *Peer) Close() error {
	p.mu.Lock()
	if p.state == stopped {
		p.mu.Unlock()
		return nil
	}
	p.state = stopped
	var links []*link
	for _, r := range p.remotes {
		links = append(links, r.links...)
		r.signal()
	}
	p.mu.Unlock()
	for _, l := range links {
		closeConn(l.conn, Stopping, "node is stopping")
	}
	p.listener.Close() // its only error is that of the transport, below
	err := p.transport.Close()
	p.tasks.Wait()
	if err := errors.Join(err, p.udp.Close()); err != nil {
		return fmt.Errorf("close peer port: %w", err)
	}
	return nil
}

func (p *Peer) stopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state == stopped
}

// follow keeps, for each member, the loops that dial it and send it packets.
func (p *Peer) follow(ctx context.Context) {
	loops := make(map[*remote]context.CancelFunc)
	for {
		p.mu.Lock()
		current := make(map[*remote]bool, len(p.remotes))
		for _, r := range p.remotes {
			current[r] = true
		}
		p.mu.Unlock()
		for r, stop := range loops {
			if !current[r] {
				stop()
				delete(loops, r)
			}
		}
		for r := range current {
			if loops[r] != nil {
				continue
			}
			own, stop := context.WithCancel(ctx)
			loops[r] = stop
			p.tasks.Go(func() { keeper{p, r, Control}.run(own) })
			p.tasks.Go(func() { keeper{p, r, Bulk}.run(own) })
			p.tasks.Go(func() { p.sendPackets(own, r) })
		}
		select {
		case <-ctx.Done():
			for _, stop := range loops {
				stop()
			}
			return
		case <-p.changed:
		}
	}
}
