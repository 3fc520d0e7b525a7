// Package nemesis attacks a cluster of real processes and checks what it answered. A plan of faults follows from a seed
// alone; clients put, get, replay and administer meanwhile, and each answer enters a history; pure checks over the
// history and the final state say what an archive must never do. The test itself has the build tag nemesis.
package nemesis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Kind is a kind of fault.
type Kind string

// The faults. Those that last end by themselves at the end of their time.
const (
	Kill     Kind = "kill"      // SIGKILL, and a start when its time is over
	Stop     Kind = "stop"      // SIGTERM, and a start when its time is over
	Pause    Kind = "pause"     // SIGSTOP, and SIGCONT
	Cut      Kind = "cut"       // nothing passes between two nodes
	OneWay   Kind = "one-way"   // what Node sends to Peer is lost
	Isolate  Kind = "isolate"   // a node has no network
	Full     Kind = "full"      // a node's disk has Amount bytes left
	Clock    Kind = "clock"     // a node's clock is Amount seconds ahead
	FlipFile Kind = "flip-file" // a bit of a file of the archive changes
	FlipLine Kind = "flip-line" // a digit of a manifest changes
	FlipOut  Kind = "flip-out"  // a bit of a file in the outbox changes
	Vanish   Kind = "vanish"    // a file of the archive is gone
	Truncate Kind = "truncate"  // a file of the archive loses its end
	Unread   Kind = "unread"    // reading a file of the archive is an error
	// kill, part of its Raft state is deleted; it must not start, and joins again with its old folder
	LoseState Kind = "lose-raft"
	Lose      Kind = "lose"  // the node is removed as lost; it joins again with its old folder
	Drain     Kind = "drain" // the node is to hold no shards; and is to hold some again
)

// Fault is one thing that goes wrong. Times count from the start of the traffic.
type Fault struct {
	At, For time.Duration
	Kind    Kind
	Node    string
	Peer    string // of Cut and OneWay
	Pick    uint64 // which file, byte and bit, of those that there are by then
	Amount  int64  // of Full and Clock
}

func (f Fault) String() string {
	s := fmt.Sprintf("%5.1fs %-9s %s", f.At.Seconds(), f.Kind, f.Node)
	if f.Peer != "" {
		s += " " + f.Peer
	}
	if f.For > 0 {
		s += fmt.Sprintf(" for %.1fs", f.For.Seconds())
	}
	switch {
	case f.Kind == Full:
		s += fmt.Sprintf(" leaving %d bytes", f.Amount)
	case f.Kind == Clock:
		s += fmt.Sprintf(" by %v", time.Duration(f.Amount)*time.Second)
	case f.Pick != 0:
		s += fmt.Sprintf(" pick %d", f.Pick)
	}
	return s
}

// Plan is what a seed stands for.
type Plan struct {
	Seed   uint64
	Length time.Duration // of the traffic
	Rot    string        // the only replica whose stored bytes are damaged: the others' copies must do
	Faults []Fault       // by time
}

func (p Plan) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "seed %d: %v of traffic, bytes rot in replica %s\n", p.Seed, p.Length, p.Rot)
	for _, f := range p.Faults {
		fmt.Fprintf(&out, "  %v\n", f)
	}
	return out.String()
}

// Nodes are the nodes of every trial. The name's first word is the replica; third is the checksum replica.
func Nodes() []string { return []string{"north-1", "north-2", "south-1", "third-1"} }

// The damage that a plan draws from, in the order of the deck before it is shuffled.
var (
	interrupts = []Kind{Kill, Kill, Stop, Pause, Pause, Cut, OneWay, Isolate, Full, Clock, LoseState}
	damage     = []Kind{FlipFile, FlipFile, FlipLine, FlipOut, Vanish, Truncate, Unread}
	moves      = []Kind{Lose, Drain}
)

// MakePlan returns the plan of a seed for so much traffic. The same arguments give the same plan.
func MakePlan(seed uint64, length time.Duration) Plan {
	random := rand.New(rand.NewPCG(seed, 0x6e656d65736973))
	p := Plan{Seed: seed, Length: length, Rot: "north"}
	if random.IntN(3) == 0 {
		p.Rot = "south"
	}
	add := func(deck []Kind, n int) {
		deck = slices.Clone(deck)
		random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		for _, kind := range deck[:n] {
			p.Faults = append(p.Faults, p.draw(random, kind))
		}
	}
	add(interrupts, 5)
	add(damage, 4)
	if p.Rot == "north" {
		add(moves, random.IntN(2))
	}
	slices.SortStableFunc(p.Faults, func(a, b Fault) int { return int(a.At - b.At) })
	return p
}

// draw draws the particulars of a fault.
func (p Plan) draw(random *rand.Rand, kind Kind) Fault {
	nodes := Nodes()
	tenth := p.Length / 10
	f := Fault{Kind: kind, Node: nodes[random.IntN(len(nodes))], At: tenth +
		time.Duration(random.Int64N(int64(7*tenth))),
		For: time.Second + time.Duration(random.Int64N(int64(p.Length/4)))}
	f.At, f.For = f.At.Truncate(100*time.Millisecond), f.For.Truncate(100*time.Millisecond)
	switch kind {
	case Cut, OneWay:
		others := slices.DeleteFunc(nodes, func(n string) bool { return n == f.Node })
		f.Peer = others[random.IntN(len(others))]
	case Full:
		f.Amount = []int64{0, 64 << 10, 8 << 20}[random.IntN(3)]
	case Clock:
		f.Amount = []int64{20, -20, 3600, -3600, -86_400, 10 * 365 * 86_400}[random.IntN(6)]
	case FlipFile, FlipLine, FlipOut, Vanish, Truncate, Unread:
		f.For, f.Pick = 0, random.Uint64()
		f.At += tenth // there should be something to damage
		f.Node = p.Rot + "-1"
		if p.Rot == "north" && random.IntN(2) == 0 {
			f.Node = "north-2"
		}
	case LoseState:
		if f.Node = "third-1"; p.Rot == "north" && random.IntN(2) == 0 {
			f.Node = "north-2"
		}
	case Lose, Drain:
		f.Node = "north-2"
		f.For = max(f.For, p.Length/6)
	}
	return f
}

// damages reports whether a fault changes stored bytes.
func damages(k Kind) bool { return slices.Contains(damage, k) }
