package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
)

const (
	checkTime     = 15 * time.Second // for one address
	echoTime      = time.Second
	echoTries     = 3
	maxEchoes     = 64
	clockMost     = 30 * time.Second // a node further off does not lead
	probeSize     = 1200             // the least that QUIC asks of a path
	gossipPacket  = MaxPacket
	unknownQUIC   = 0x1a2a3a4a // a version that is reserved, so that every server lists its own
	probeAttempts = 3
)

// Report is what Check found, one entry per address.
type Report struct {
	Paths []PathReport
}

// OK reports whether nothing is wrong with any path.
func (r Report) OK() bool {
	for _, p := range r.Paths {
		if p.Problem != "" {
			return false
		}
	}
	return true
}

// PathReport describes the path to one address of one node.
type PathReport struct {
	Node      ID
	Name      string
	Address   string
	Answers   bool          // something that speaks QUIC answers there
	Trusted   bool          // it has the right key, and takes ours
	Handshake time.Duration // until both keys were checked
	RTT       time.Duration
	Clock     time.Duration // its clock less ours
	Packet    int           // largest packet that came back, of the sizes that gossip sends; 0 if none
	Problem   string        // in plain words; empty if all is well
	Advice    string        // what to do about it
}

// Check tests the path to every address of the members, from a port of its own, as the node id of the cluster: it may
// be used beside a running Peer. It works out what is wrong; it never returns an error, the faults are in the report.
func Check(ctx context.Context, cfg Config, id Identity, members []Member) Report {
	var report Report
	v, err := newVisitor(id)
	for _, m := range members {
		if m.Removed || m.ID == id.ID() {
			continue
		}
		if m.OutOnly || len(m.Addresses) == 0 {
			report.Paths = append(report.Paths, PathReport{Node: m.ID, Name: m.Name,
				Advice: "this node dials out only: look for its connection in the status of the others"})
			continue
		}
		for _, address := range m.Addresses {
			path := PathReport{Node: m.ID, Name: m.Name, Address: address}
			if err != nil {
				path.Problem, path.Advice = err.Error(), "check that this machine may open UDP ports"
			} else {
				v.check(ctx, cfg, &path)
			}
			report.Paths = append(report.Paths, path)
		}
	}
	if err == nil {
		v.close()
	}
	return report
}

func (v *visitor) check(ctx context.Context, cfg Config, path *PathReport) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if path.Problem, path.Advice = probe(ctx, path.Address); path.Problem != "" {
		return
	}
	path.Answers = true
	began := time.Now()
	conn, err := v.dial(ctx, target{address: path.Address, id: path.Node})
	if err != nil {
		path.Problem, path.Advice = explainDial(err)
		return
	}
	defer closeConn(conn, Welcome, "")
	path.Handshake = time.Since(began)
	h := hello{version: protocolVersion, class: checkClass, epoch: cfg.Epoch, cluster: cfg.Cluster}
	_, _, clock, err := introduce(ctx, conn, h, path.Node)
	if err != nil {
		path.Problem, path.Advice = explainRefusal(err)
		return
	}
	path.Trusted, path.Clock = true, clock
	path.Packet = echo(ctx, conn)
	path.RTT = conn.ConnectionStats().SmoothedRTT
	switch {
	case path.Packet < gossipPacket:
		path.Problem = fmt.Sprintf("packets of %d bytes do not come back (largest that did: %d)", gossipPacket,
			path.Packet)
		path.Advice = "a tunnel or VPN on the way has too small an MTU: raise it to 1280 bytes or more"
	case clock.Abs() > clockMost:
		path.Problem = fmt.Sprintf("clocks differ by %s", clock.Round(time.Second))
		path.Advice = "set up NTP on both machines; a node that is more than 30 s off does not lead"
	}
}

// probe asks whether anything that speaks QUIC answers at the address, whichever node it is.
func probe(ctx context.Context, address string) (problem, advice string) {
	addresses, err := resolve(ctx, address)
	if err != nil {
		return err.Error(), "correct the address in the configuration, or the name service"
	}
	for _, a := range addresses {
		err = probeOne(ctx, net.UDPAddrFromAddrPort(a))
		if err == nil {
			return "", ""
		}
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "port is closed: the machine answers, but nothing listens on that UDP port",
			"start holdfast there, or correct the port"
	case errors.Is(err, syscall.EMSGSIZE):
		return "packets of 1200 bytes do not fit on the way",
			"raise the MTU of the interface or tunnel to 1280 bytes or more"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "there is no route to that address", "check the address and this machine's network"
	}
	return "nothing answers: " + clip(err.Error()),
		"open that UDP port, in both directions, in the firewalls on the way, or check that the machine is up"
}

func probeOne(ctx context.Context, to *net.UDPAddr) error {
	conn, err := net.DialUDP("udp", nil, to)
	if err != nil {
		return err
	}
	defer conn.Close()
	packet := make([]byte, probeSize)
	packet[0] = 0xc0 // long header
	packet[1], packet[2] = unknownQUIC>>24, unknownQUIC>>16&0xff
	packet[3], packet[4] = unknownQUIC>>8&0xff, unknownQUIC&0xff
	packet[5], packet[14] = 8, 8 // lengths of the two connection IDs
	reply := make([]byte, 2048)
	for range probeAttempts {
		if err = conn.SetDeadline(earlier(ctx, time.Now().Add(echoTime))); err != nil {
			return err
		}
		if _, err = conn.Write(packet); err != nil {
			return err
		}
		if _, err = conn.Read(reply); err == nil {
			return nil
		}
		if timeout := net.Error(nil); !errors.As(err, &timeout) || !timeout.Timeout() || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func earlier(ctx context.Context, t time.Time) time.Time {
	if limit, ok := ctx.Deadline(); ok && limit.Before(t) {
		return limit
	}
	return t
}

func explainDial(err error) (problem, advice string) {
	if text := err.Error(); strings.Contains(text, "has key") {
		return "another node answers there: " + clip(text), "correct the addresses of the two nodes"
	}
	return "port answers, but the handshake fails: " + clip(err.Error()),
		"check what listens on that port, and that the path carries packets of 1280 bytes"
}

func explainRefusal(err error) (problem, advice string) {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		return "no answer to hello: " + clip(err.Error()), "look into that node's log"
	}
	problem = "it refuses this node: " + clip(refused.Reason)
	switch refused.Refusal {
	case Stranger:
		return problem, "join the cluster with a token first; if that was done, that node has not heard of it yet"
	case Removed:
		return problem, "this node was removed; to come back it needs a new key and a new token"
	case OtherCluster:
		return problem, "compare the cluster's name in both configurations"
	case OlderEpoch:
		return problem, "the cluster was recovered without this node: join it again"
	case OldProtocol:
		return problem, "upgrade this node"
	}
	return problem, "try again in a minute"
}

// echo sends packets of growing size and returns the largest that came back.
func echo(ctx context.Context, conn *quic.Conn) int {
	best := 0
	for _, size := range []int{256, 512, 1024, gossipPacket} {
		if !echoOne(ctx, conn, size) {
			break
		}
		best = size
	}
	return best
}

func echoOne(ctx context.Context, conn *quic.Conn, size int) bool {
	for range echoTries {
		if conn.SendDatagram(make([]byte, size)) != nil {
			return false
		}
		wait, cancel := context.WithTimeout(ctx, echoTime)
		for {
			back, err := conn.ReceiveDatagram(wait)
			if err != nil {
				break
			}
			if len(back) == size {
				cancel()
				return true
			}
		}
		cancel()
	}
	return false
}

// serveCheck answers a member that measures the path: it sends back the packets it gets.
func (p *Peer) serveCheck(conn *quic.Conn, meta *quic.Stream, a answer) {
	ctx, cancel := context.WithTimeout(conn.Context(), visitTime)
	defer cancel()
	defer closeConn(conn, Welcome, "")
	if sendAnswer(meta, a) != nil {
		return
	}
	for range maxEchoes {
		packet, err := conn.ReceiveDatagram(ctx)
		if err != nil || len(packet) > MaxPacket || conn.SendDatagram(packet) != nil {
			return
		}
	}
}
