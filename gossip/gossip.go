// Package gossip keeps the list of nodes that are alive, where they are and how much room they have, with memberlist
// over a carrier that connects the nodes. The list is advice: no decision may follow from it alone.
package gossip

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// Carrier takes packets and streams to other nodes.
type Carrier interface {
	// Send sends a packet, or drops it and reports false. It never blocks.
	Send(to string, packet []byte) bool
	// Dial opens a stream that ends in the other node's Gossip.Stream.
	Dial(ctx context.Context, to string) (net.Conn, error)
}

// Config chooses how patient gossip is.
type Config struct {
	// "lan", the default: a crash is seen in about 6 s; "wan": in about 30 s; "local", on one machine: in about 3 s
	Profile string
}

// State is what gossip believes of a node.
type State string

const (
	Alive     State = "alive"
	Suspected State = "suspected" // does not answer; not given up yet
	Failed    State = "failed"
	Left      State = "left" // said goodbye
)

// Node is one node as gossip sees it.
type Node struct {
	Facts Facts
	State State
}

// EventKind is the kind of an Event.
type EventKind string

const (
	NodeJoined    EventKind = "joined"
	NodeLeft      EventKind = "left"
	NodeSuspected EventKind = "suspected"
	NodeRecovered EventKind = "recovered" // a suspicion proved wrong
	NodeFailed    EventKind = "failed"
	NodeUpdated   EventKind = "updated" // it says something new about itself
)

// Event is a change of what gossip believes about another node.
type Event struct {
	Kind  EventKind
	Facts Facts
}

const (
	packetSize    = 1100                   // what a QUIC datagram carries on every path
	updatePause   = 500 * time.Millisecond // at least, between two updates of our facts
	updateTime    = time.Second            // for one update to be sent on
	lonelyPause   = time.Second            // between attempts to find anyone
	joinAtOnce    = 3                      // nodes asked in one attempt
	leaveTime     = 3 * time.Second
	rejoinPauses  = 10 // probe intervals between attempts to find the missing
	streamsAtOnce = 16
	packetsAtOnce = 512
)

// Gossip is this node's part in the talk. Its methods may be called by several goroutines.
type Gossip struct {
	carrier Carrier
	log     *slog.Logger
	list    *memberlist.Config
	wire    *wire
	onEvent func(Event)
	changed chan struct{} // memberlist has news
	told    chan struct{} // our facts are new
	seeds   chan struct{} // the nodes to join are new

	mu    sync.Mutex
	self  Facts
	meta  []byte
	ids   []string
	nodes map[string]Node
}

// New prepares gossip as the node self. Nothing is sent before Run. Facts that are too
// large are refused with ErrTooLarge.
func New(cfg Config, self Facts, carrier Carrier, log *slog.Logger) (*Gossip, error) {
	if self.ID == "" {
		return nil, fmt.Errorf("gossip: this node has no id")
	}
	meta, err := self.encode()
	if err != nil {
		return nil, fmt.Errorf("gossip: %w", err)
	}
	g := &Gossip{
		carrier: carrier, log: log, onEvent: func(Event) {},
		wire:    newWire(self.ID, carrier),
		changed: make(chan struct{}, 1), told: make(chan struct{}, 1), seeds: make(chan struct{}, 1),
		self: self.clone(), meta: meta,
		nodes: map[string]Node{self.ID: {Facts: self.clone(), State: Alive}},
	}
	switch cfg.Profile {
	case "", "lan":
		g.list = memberlist.DefaultLANConfig()
	case "wan":
		g.list = memberlist.DefaultWANConfig()
	case "local":
		g.list = memberlist.DefaultLANConfig()
		g.list.ProbeInterval, g.list.GossipInterval = 500*time.Millisecond, 100*time.Millisecond
	default:
		return nil, fmt.Errorf(`gossip profile %q: want "lan", "wan" or "local"`, cfg.Profile)
	}
	g.list.Name = self.ID
	g.list.Transport = g.wire
	g.list.Delegate = teller{g}
	g.list.Events = listener{g}
	g.list.RequireNodeNames = true
	g.list.UDPBufferSize = packetSize
	g.list.EnableCompression = false
	g.list.Logger = adapt(log)
	return g, nil
}

// Events sets the function that is called with changes, in order. Call it before Run.
func (g *Gossip) Events(h func(Event)) { g.onEvent = h }

// Join sets the nodes to talk to: all that should be there. Gossip tries a few of those that it does not hear from,
// now and again, so that the two halves of a split network find each other again.
func (g *Gossip) Join(ids []string) {
	g.mu.Lock()
	g.ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == g.self.ID || id == "" })
	g.mu.Unlock()
	signal(g.seeds)
}

// SetFacts says something new about this node; the ID cannot change. Others hear of it
// within seconds. Facts that are too large are refused with ErrTooLarge, and the old ones stay.
func (g *Gossip) SetFacts(f Facts) error {
	meta, err := f.encode()
	if err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	g.mu.Lock()
	f.ID = g.self.ID
	g.self, g.meta = f.clone(), meta
	g.nodes[f.ID] = Node{Facts: f.clone(), State: Alive}
	g.mu.Unlock()
	signal(g.told)
	return nil
}

// Alive returns what is known of the nodes that are alive or only suspected, this one included, by ID.
func (g *Gossip) Alive() []Facts {
	var alive []Facts
	for _, n := range g.Nodes() {
		if n.State == Alive || n.State == Suspected {
			alive = append(alive, n.Facts)
		}
	}
	return alive
}

// Nodes returns all nodes heard of lately, by ID.
func (g *Gossip) Nodes() []Node {
	g.mu.Lock()
	defer g.mu.Unlock()
	nodes := make([]Node, 0, len(g.nodes))
	for _, n := range g.nodes {
		nodes = append(nodes, Node{Facts: n.Facts.clone(), State: n.State})
	}
	slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.Facts.ID, b.Facts.ID) })
	return nodes
}

// Packet takes a packet that another node's carrier sent here. It does not block: when
// too many wait the packet is dropped.
func (g *Gossip) Packet(from string, packet []byte) { g.wire.packet(from, packet) }

// Stream takes a stream that another node dialled here, and closes it in the end.
func (g *Gossip) Stream(from string, c net.Conn) { g.wire.stream(c) }

// Run talks until ctx ends, then says goodbye, so that others see this node as left and not as failed. A Gossip runs
// once. A probe of memberlist that is under way may wait a few seconds longer for an answer; it can no longer send or
// dial.
func (g *Gossip) Run(ctx context.Context) error {
	list, err := memberlist.Create(g.list)
	if err != nil {
		return fmt.Errorf("start gossip: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var loops sync.WaitGroup
	loops.Go(func() { g.watch(ctx) })
	loops.Go(func() { g.tell(ctx, list) })
	loops.Go(func() { g.seek(ctx, list) })
	<-ctx.Done()
	loops.Wait()
	if err := list.Leave(leaveTime); err != nil {
		g.log.Debug("goodbye was not heard", "reason", err.Error())
	}
	if err := list.Shutdown(); err != nil {
		return fmt.Errorf("stop gossip: %w", err)
	}
	return nil
}

// watch compares what memberlist believes with what it believed before: whenever it reports a change, and at each
// probe interval, because it does not report suspicions.
func (g *Gossip) watch(ctx context.Context) {
	tick := time.NewTicker(g.list.ProbeInterval)
	defer tick.Stop()
	for {
		states, err := g.wire.states(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			g.log.Warn("gossip cannot read its own state", "reason", err.Error())
		default:
			for _, e := range g.update(states) {
				g.log.Debug("node "+string(e.Kind), "node", e.Facts.ID, "name", e.Facts.Name)
				g.onEvent(e)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-g.changed:
		}
	}
}

// tell spreads our facts after they have changed, and not too often.
func (g *Gossip) tell(ctx context.Context, list *memberlist.Memberlist) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.told:
		}
		if err := list.UpdateNode(updateTime); err != nil {
			g.log.Debug("facts are still on their way", "reason", err.Error())
		}
		if !pause(ctx, updatePause, nil) {
			return
		}
	}
}

// seek asks some of the nodes that should be there and are not.
func (g *Gossip) seek(ctx context.Context, list *memberlist.Memberlist) {
	for {
		missing, lonely := g.missing()
		rand.Shuffle(len(missing), func(i, j int) { missing[i], missing[j] = missing[j], missing[i] })
		missing = missing[:min(len(missing), joinAtOnce)]
		for i, id := range missing {
			missing[i] = id + "/" + address(id)
		}
		if len(missing) > 0 {
			if _, err := list.Join(missing); err != nil {
				g.log.Debug("gossip found nobody", "reason", err.Error())
			}
		}
		wait := rejoinPauses * g.list.ProbeInterval
		if lonely {
			wait = lonelyPause
		}
		if !pause(ctx, time.Duration(float64(wait)*(0.75+rand.Float64()/2)), g.seeds) {
			return
		}
	}
}

// missing returns the nodes to join that are not alive, and whether no other node is.
func (g *Gossip) missing() (ids []string, lonely bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	lonely = true
	for id, n := range g.nodes {
		if id != g.self.ID && (n.State == Alive || n.State == Suspected) {
			lonely = false
		}
	}
	for _, id := range g.ids {
		if state := g.nodes[id].State; state != Alive && state != Suspected {
			ids = append(ids, id)
		}
	}
	return ids, lonely && len(g.ids) > 0
}

// pause waits for a time, or for early; it reports false once ctx has ended.
func pause(ctx context.Context, wait time.Duration, early <-chan struct{}) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-early:
	}
	return true
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
